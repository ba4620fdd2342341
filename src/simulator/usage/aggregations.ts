// Aggregations over the documents of one property, compiled as a whole before any is computed. A search body is taken apart without
// trusting it; what is wrong with it is told where Elasticsearch tells it.
import { CALENDAR_UNITS, type CalendarUnit, Zone } from '../localTime.ts';

export type Json = Record<string, unknown>;

export const NESTED_PATH = 'event_fields';
export const READ_AT = 'event_fields.time_of_read.date';
const FORMAT = 'strict_date_optional_time';
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export class Refusal extends Error {
  readonly status: number;
  readonly body: Json;

  constructor(reason: string, status = 400) {
    super(reason);
    this.status = status;
    const cause = { type: 'search_exception', reason };
    this.body = { error: { root_cause: [cause], ...cause }, status };
  }
}

export function demand(holds: boolean, reason: string): asserts holds {
  if (!holds) throw new Refusal(reason);
}

/** An object with no other fields than these. */
export function fieldsOf(where: string, value: unknown, ...known: readonly string[]): Json {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  demand(isObject, `[${where}] must be an object`);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  demand(unknown === undefined, `[${where}] unknown field [${unknown}]`);
  return value as Json;
}

/** An object with one of these fields, and nothing else. */
export function onlyField(where: string, value: unknown, ...known: readonly string[]): [string, unknown] {
  const [first, second] = Object.entries(fieldsOf(where, value, ...known));
  demand(first !== undefined && second === undefined, `[${where}] must have one of [${known.join(', ')}]`);
  return first;
}

/** In the format of the mapping, which a question may name. */
export function instant(asked: unknown, format: unknown = FORMAT): number {
  const isRead = format === FORMAT && typeof asked === 'string' && INSTANT.test(asked);
  const at = isRead ? Date.parse(asked) : Number.NaN;
  demand(!Number.isNaN(at), `failed to parse date field [${asked}] with format [${format}]`);
  return at;
}

/** A document of the search index; each has one nested event, the reading. */
export interface UsageDocument {
  readonly resource: 'Heat - Meter Value' | 'Euro';
  readonly at: number;
  readonly amount: number;
  readonly quantity: number;
}

interface Histogram {
  readonly unit: CalendarUnit;
  readonly zone: Zone;
  /** First and last instant that get a bucket even without a reading. */
  readonly bounds: readonly [number, number];
}

type Compute = (documents: readonly UsageDocument[]) => Json;

/** `search.max_buckets` of Elasticsearch 7. */
const MAX_BUCKETS = 10_000;

/** Each kind: whether its place is in the nested event, its one option, and what that may be. */
const KINDS: Readonly<Record<string, readonly [isNested: boolean, option?: string, ...values: string[]]>> = {
  terms: [false, 'field', 'resource_name'],
  nested: [false, 'path', NESTED_PATH],
  date_histogram: [true],
  reverse_nested: [true],
  sum: [false, 'field', 'amount', 'quantity'],
  max: [true, 'field', READ_AT],
};

/** The aggregations of one request. Throws a `Refusal`, and so does what it returns. */
export function compileAggregations(aggs: unknown, intervalKeys: readonly string[]): Compute {
  let bucketCount = 0;
  const count = (more: number) => {
    bucketCount += more;
    if (bucketCount > MAX_BUCKETS) throw new Refusal('Trying to create too many buckets', 503);
  };

  /** The time of a reading is in its event, everything else in the document. */
  function all(where: string, given: unknown, isNested: boolean): Compute {
    const entries = Object.entries(Object(given));
    demand(entries.length > 0, `Missing definition for aggregation [${where}]`);
    const parts = entries.map(([name, one]) => [name, each(name, one, isNested)] as const);
    return (documents) => Object.fromEntries(parts.map(([name, compute]) => [name, compute(documents)]));
  }

  function each(name: string, given: unknown, isNested: boolean): Compute {
    const { aggs: inner, ...rest } = Object(given);
    const [kind, options] = onlyField(name, rest, ...Object.keys(KINDS));
    const [wantsNested, option, ...values] = KINDS[kind] ?? [];
    demand(isNested === wantsNested, `[${kind}] is not supported at [${name}]`);
    if (kind === 'date_histogram') {
      return intervals(parseHistogram(name, options, intervalKeys), all(name, inner, true));
    }
    const value = fieldsOf(kind, options, ...(option ? [option] : []))[option ?? ''];
    demand(!option || values.some((one) => one === value), `Field [${value}] is not supported for [${name}]`);
    const isMetric = kind === 'sum' || kind === 'max';
    demand(!isMetric || inner === undefined, `[${name}] cannot accept sub-aggregations`);
    if (kind === 'max') {
      return (documents) => ({
        value: documents.length > 0 ? Math.max(...documents.map(({ at }) => at)) : null,
      });
    }
    if (isMetric) return (documents) => ({ value: sumOf(documents, value as 'amount' | 'quantity') });
    const below = all(name, inner, kind === 'nested');
    return kind === 'terms'
      ? resources(below)
      : (documents) => ({ doc_count: documents.length, ...below(documents) });
  }

  const resources =
    (below: Compute): Compute =>
    (documents) => {
      const buckets = [...grouped(documents, ({ resource }) => resource)]
        .sort(([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1))
        .map(([key, inside]) => ({ key, doc_count: inside.length, ...below(inside) }));
      count(buckets.length);
      return { doc_count_error_upper_bound: 0, sum_other_doc_count: 0, buckets };
    };

  const intervals =
    ({ zone, unit, bounds }: Histogram, below: Compute): Compute =>
    (documents) => {
      const byStart = grouped(documents, ({ at }) => zone.floor(at, unit));
      const edges = [...byStart.keys(), ...bounds.map((at) => zone.floor(at, unit))];
      const last = Math.max(...edges);
      const buckets: Json[] = [];
      for (let key = Math.min(...edges); key <= last; key = zone.next(key, unit)) {
        count(1);
        const inside = byStart.get(key) ?? [];
        // Unhelpful like the real one: the day in UTC, which in summer is not the day of the bucket.
        const key_as_string = new Date(key).toISOString().slice(0, 10);
        buckets.push({ key_as_string, key, doc_count: inside.length, ...below(inside) });
      }
      return { buckets };
    };

  return all('aggs', aggs, false);
}

function parseHistogram(name: string, options: unknown, intervalKeys: readonly string[]): Histogram {
  const known = ['field', 'time_zone', 'min_doc_count', 'extended_bounds', 'format', ...intervalKeys];
  const given = fieldsOf('date_histogram', options, ...known);
  demand(given.field === READ_AT, `Field [${given.field}] is not supported for [${name}]`);
  demand(given.min_doc_count === 0, '[min_doc_count] must be 0');
  const asked = intervalKeys.map((key) => given[key]).find(Boolean);
  const unit = CALENDAR_UNITS.find((one) => one === asked);
  demand(unit !== undefined, `[date_histogram] does not know the interval [${asked}]`);
  const { min, max } = fieldsOf('extended_bounds', given.extended_bounds, 'min', 'max');
  const bounds = [instant(min, given.format), instant(max, given.format)] as const;
  demand(bounds[0] <= bounds[1], '[extended_bounds] must not end before they begin');
  return { unit, zone: zoneOf(given.time_zone), bounds };
}

function zoneOf(name: unknown = 'UTC'): Zone {
  try {
    // Node 20 knows no zone by its offset.
    return new Zone(name === '+00:00' ? 'UTC' : String(name));
  } catch (err) {
    if (err instanceof RangeError) throw new Refusal(`Unknown time-zone ID: ${name}`);
    throw err;
  }
}

/** Added up as floating point numbers, with their noise. */
function sumOf(documents: readonly UsageDocument[], field: 'amount' | 'quantity'): number {
  return documents.reduce((sum, document) => sum + document[field], 0);
}

function grouped<T, K>(list: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of list) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
