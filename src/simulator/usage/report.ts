// A usage question, checked before anything is computed, and its answer as Elasticsearch computes it from the readings of one property.
import { HEAT_SERVICE, type Property } from '../accounts.ts';
import { Zone } from '../localTime.ts';
import type { VisibleReading } from '../meter.ts';
import type { Switches } from '../switches.ts';
import {
  compileAggregations,
  demand,
  fieldsOf,
  instant,
  NESTED_PATH,
  onlyField,
  READ_AT,
  type UsageDocument,
} from './aggregations.ts';

const SHARDS = 5;

/** Instants in epoch milliseconds. */
interface Filters {
  readonly serviceType: string;
  readonly customerId: string;
  readonly resourceNames: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** Throws a `Refusal`, and so does `compute`. `intervalKeys`: how the age of the engine calls the interval of a histogram. */
export function parseUsageRequest(body: unknown, intervalKeys: readonly string[]) {
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

/** Everything booked by `now`; no property has no document. Throws a `Refusal`. */
export function usageReport(
  property: Property | undefined,
  { from, to, resourceNames, serviceType, compute }: ReturnType<typeof parseUsageRequest>,
  now: number,
  { missingShards = 0, endsEarly = false }: Partial<Switches['api']> = {},
): Record<string, unknown> {
  const services = property?.services.filter((one) => one.serviceType === serviceType) ?? [];
  const found = services
    .flatMap(({ meter }) => (meter?.readingsAt(now) ?? []).flatMap(documentsOf))
    .filter((_, index) => index % SHARDS >= missingShards && !(endsEarly && index % 2 === 0))
    .filter(({ resource, at }) => at >= from && at <= to && resourceNames.includes(resource));
  return {
    took: 7,
    timed_out: false,
    ...(endsEarly ? { terminated_early: true } : {}),
    _shards: { total: SHARDS, successful: SHARDS - missingShards, skipped: 0, failed: 0 },
    hits: { total: { value: found.length, relation: 'eq' }, max_score: null, hits: [] },
    aggregations: compute(found),
  };
}

/** The first charge is for the heat; a standing charge carries none. */
function documentsOf({ at, kwh, register, charges }: VisibleReading): UsageDocument[] {
  const euro = charges.map((amount, index) => {
    return { resource: 'Euro', at, amount, quantity: index === 0 ? (kwh ?? 0) : 0 } as const;
  });
  // The `amount` of the heat resource is the meter's register, no money: a trap of the real service.
  return kwh === null
    ? euro
    : [{ resource: 'Heat - Meter Value', at, amount: register, quantity: kwh }, ...euro];
}

const ZONE = new Zone('Europe/Dublin');

/**
 * kWh and EUR of the heat meters per date: without `dateOf` the local one of the reading. A date without a reading is
 * not there.
 */
export function truthAt({ services }: Property, now: number, dateOf = (at: number) => ZONE.dateOf(at)) {
  const days = new Map<string, { kwh: number; eur: number; readings: number }>();
  const heat = services.filter(({ serviceType }) => serviceType === HEAT_SERVICE);
  for (const { at, kwh, charges } of heat.flatMap(({ meter }) => meter?.readingsAt(now) ?? [])) {
    const date = dateOf(at);
    const day = days.get(date) ?? { kwh: 0, eur: 0, readings: 0 };
    day.kwh = added(day.kwh, kwh ?? 0);
    day.eur = charges.reduce(added, day.eur);
    day.readings += kwh === null ? 0 : 1;
    days.set(date, day);
  }
  return new Map([...days].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const added = (a: number, b: number): number => Math.round((a + b) * 1_000_000) / 1_000_000;
