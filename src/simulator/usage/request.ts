// Recognises a usage question: four filters and aggregations. Any other is refused as Elasticsearch words it.
import { compileAggregations, type UsageDocument } from './aggregations.ts';
import {
  inShards,
  instant,
  isObject,
  type Json,
  malformed,
  NESTED_PATH,
  onlyQuery,
  queryOptions,
  READ_AT,
  type Refusal,
  type SearchEngine,
  tokenOf,
} from './body.ts';

/** Instants in epoch milliseconds. */
interface Filters {
  readonly serviceType: string;
  readonly customerId: string;
  readonly resourceNames: readonly string[];
  readonly from: number;
  readonly to: number;
}

export interface UsageRequest extends Filters {
  /** Throws a `Refusal`. */
  readonly compute: (documents: readonly UsageDocument[]) => Json;
}

/** Throws a `Refusal`. */
export function parseUsageRequest(body: unknown, engine: SearchEngine): UsageRequest {
  if (!isObject(body)) throw malformed(`Expected [START_OBJECT] but found [${tokenOf(body)}]`);
  for (const [key, value] of Object.entries(body)) {
    // Any other size would bring documents along.
    const isKnown = key === 'size' ? value === 0 : ['query', 'aggs'].includes(key) && isObject(value);
    if (!isKnown) throw malformed(`Unknown key for a ${tokenOf(value)} in [${key}].`);
  }
  if (body.size !== 0) throw malformed('Missing [size], expected [0]');
  return { ...parseQuery(body.query, engine), compute: compileAggregations(body.aggs, engine) };
}

/** The four filters, in any order. */
function parseQuery(query: unknown, engine: SearchEngine): Filters {
  const { filter = [], must = [] } = queryOptions(onlyQuery(query, 'bool'), ['filter', 'must']);
  const clauses = [filter, must].flat();
  const found = Object.assign({}, ...clauses.map((clause) => parseClause(clause, engine)));
  if (clauses.length !== 4 || Object.keys(found).length !== 5) throw missingFilters();
  return found;
}

function parseClause(clause: unknown, engine: SearchEngine): Partial<Filters> {
  const [kind, options] = onlyQuery(clause, 'query_string', 'terms', 'nested');
  if (kind === 'terms') return parseTerms(options);
  return kind === 'nested' ? parseRange(options, engine) : parseTerm(options);
}

function missingFilters(): Refusal {
  return malformed('[bool] malformed query, expected filters on service, customer, resource and time');
}

/** One word or phrase: operators, wildcards, fields and groups of `query_string` are not evaluated here. */
function parseTerm(options: unknown): Partial<Filters> {
  const known = ['query', 'fields', 'analyze_wildcard'];
  const { query, fields } = queryOptions(['query_string', options], known);
  if (typeof query !== 'string') throw malformed('[query_string] must be provided with a [query]');
  const term = termIn(query.replace(/^\((.*)\)$/, '$1'));
  if (term === null) throw inShards('query_shard_exception', `Failed to parse query [${query}]`);
  const field = Array.isArray(fields) ? fields.join() : '';
  if (field === 'service_type') return { serviceType: term };
  if (field !== 'customer_id') throw missingFilters();
  // The id is mapped as a number.
  if (!/^-?\d+$/.test(term)) throw failedQuery(`For input string: "${term}"`);
  return { customerId: term };
}

function termIn(query: string): string | null {
  const [, word, phrase] = /^(?:(\w+)|"((?:\\.|[^"\\])+)")$/.exec(query) ?? [];
  if (phrase !== undefined) return phrase.replace(/\\(.)/g, '$1');
  return word !== undefined && !['AND', 'OR', 'NOT'].includes(word) ? word : null;
}

function parseTerms(options: unknown): Partial<Filters> {
  const names = queryOptions(['terms', options], ['resource_name']).resource_name;
  if (Array.isArray(names) && names.every((name) => typeof name === 'string'))
    return { resourceNames: names };
  throw malformed('[terms] query does not support [resource_name]');
}

/** The time is in a nested document: without the wrapper the engine finds nothing. */
function parseRange(options: unknown, engine: SearchEngine): Partial<Filters> {
  const { path, query } = queryOptions(['nested', options], ['path', 'query']);
  if (path !== NESTED_PATH) {
    throw failedQuery(`[nested] failed to find nested object under path [${String(path)}]`);
  }
  const range = queryOptions(onlyQuery(query, 'range'), [READ_AT]);
  const { gte, lte, format } = queryOptions(['range', range[READ_AT]], ['gte', 'lte', 'format']);
  return { from: instant(gte, format, engine), to: instant(lte, format, engine) };
}

function failedQuery(reason: string): Refusal {
  return inShards('query_shard_exception', `failed to create query: ${reason}`);
}
