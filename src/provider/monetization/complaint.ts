// A search engine's complaint about a query, in words of ours: its own text may quote whose readings are asked for.
import type { Complaint } from '../request.ts';

/** Elasticsearch and OpenSearch refuse a query with these. Any other might be a text of the other side. */
const TYPES: ReadonlySet<string> = new Set([
  'aggregation_execution_exception',
  'aggregation_initialization_exception',
  'array_index_out_of_bounds_exception',
  'circuit_breaking_exception',
  'class_cast_exception',
  'illegal_argument_exception',
  'illegal_state_exception',
  'index_closed_exception',
  'index_not_found_exception',
  'invalid_index_name_exception',
  'json_e_o_f_exception',
  'json_parse_exception',
  'mapper_parsing_exception',
  'named_object_not_found_exception',
  'null_pointer_exception',
  'number_format_exception',
  'parse_exception',
  'parsing_exception',
  'query_phase_execution_exception',
  'query_shard_exception',
  'script_exception',
  'search_exception',
  'search_parse_exception',
  'search_phase_execution_exception',
  'security_exception',
  'too_complex_to_determinize_exception',
  'too_many_buckets_exception',
  'too_many_clauses',
  'unsupported_operation_exception',
  'x_content_parse_exception',
]);

/** `names`: what it mentions of the query, such as `interval`. */
export function complaintWords({ type, reason }: Complaint, query: unknown) {
  return {
    type: TYPES.has(type) ? type : 'unknown',
    // Engines write names in brackets.
    names: [...new Set(keysIn(query))].filter((key) => reason.includes(`[${key}]`)).sort(),
  };
}

/** All keys, which are words of our own; no value. */
function keysIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  return [...keys, ...Object.values(value).flatMap(keysIn)];
}
