// Takes a usage question apart: four filters and aggregations, checked before anything is computed.
import { compileAggregations, type UsageDocument } from './aggregations.ts';
import { demand, fieldsOf, instant, type Json, NESTED_PATH, onlyField, READ_AT } from './body.ts';

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

/** Throws a `Refusal`. `intervalKeys`: how the age of the engine calls the interval of a histogram. */
export function parseUsageRequest(body: unknown, intervalKeys: readonly string[]): UsageRequest {
  const { size, query, aggs } = fieldsOf('body', body, 'size', 'query', 'aggs');
  // Any other size would bring documents along.
  demand(size === 0, '[size] must be 0');
  const [, bool] = onlyField('query', query, 'bool');
  const { filter = [], must = [] } = fieldsOf('bool', bool, 'filter', 'must');
  const clauses = [filter, must].flat();
  const filters: Filters = Object.assign({}, ...clauses.map(parseClause));
  const isWhole = clauses.length === 4 && Object.keys(filters).length === 5;
  demand(isWhole, '[bool] must filter by service, customer, resource and time');
  return { ...filters, compute: compileAggregations(aggs, intervalKeys) };
}

function parseClause(clause: unknown): Partial<Filters> {
  const [kind, options] = onlyField('bool', clause, 'query_string', 'terms', 'nested');
  if (kind === 'nested') return parseTime(options);
  if (kind === 'query_string') return parseTerm(options);
  const { resource_name } = fieldsOf(kind, options, 'resource_name');
  demand(Array.isArray(resource_name), '[terms] needs a list of names');
  return { resourceNames: resource_name };
}

/** One word or phrase, also in brackets: operators, wildcards and fields are not evaluated here. */
function parseTerm(options: unknown): Partial<Filters> {
  const { query, fields } = fieldsOf('query_string', options, 'query', 'fields', 'analyze_wildcard');
  const text = String(query).replace(/^\((.*)\)$/, '$1');
  const [, word, phrase] = /^(?:(?!(?:AND|OR|NOT)$)(\w+)|"((?:\\.|[^"\\])+)")$/.exec(text) ?? [];
  const term = word ?? phrase?.replace(/\\(.)/g, '$1');
  demand(term !== undefined, `Failed to parse query [${query}]`);
  const [field, ...more] = Array.isArray(fields) ? fields : [];
  demand(
    more.length === 0 && ['service_type', 'customer_id'].includes(field),
    '[query_string] needs one field',
  );
  if (field === 'service_type') return { serviceType: term };
  // The id is mapped as a number.
  demand(/^-?\d+$/.test(term), `failed to create query: For input string: "${term}"`);
  return { customerId: term };
}

/** The time is in a nested document: without the wrapper the engine finds nothing. */
function parseTime(options: unknown): Partial<Filters> {
  const { path, query } = fieldsOf('nested', options, 'path', 'query');
  demand(path === NESTED_PATH, `[nested] failed to find nested object under path [${path}]`);
  const [, range] = onlyField('nested', query, 'range');
  const [, limits] = onlyField('range', range, READ_AT);
  const { gte, lte, format } = fieldsOf('range', limits, 'gte', 'lte', 'format');
  return { from: instant(gte, format), to: instant(lte, format) };
}
