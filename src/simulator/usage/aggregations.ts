// Aggregations over the documents of one property, checked as a whole before any is computed, as Elasticsearch does.
import { CALENDAR_UNITS, type CalendarUnit, Zone } from '../localTime.ts';
import {
  type Aggregation,
  aggregationOptions,
  aggregations,
  inShards,
  instant,
  type Json,
  malformed,
  NESTED_PATH,
  READ_AT,
  Refusal,
  type SearchEngine,
} from './body.ts';

/** A document of the search index; each has one nested event, the reading. */
export interface UsageDocument {
  readonly resource: 'Heat - Meter Value' | 'Euro';
  readonly at: number;
  readonly amount: number;
  readonly quantity: number;
}

interface Histogram {
  readonly interval: CalendarUnit;
  readonly zone: Zone;
  /** First and last instant that get a bucket even without a reading. */
  readonly bounds: readonly [number, number];
}

type Compute = (documents: readonly UsageDocument[]) => Json;

/** `search.max_buckets` of Elasticsearch 7. */
const MAX_BUCKETS = 10_000;

/** The aggregations of one request. Throws a `Refusal`, and so does what it returns. */
export function compileAggregations(aggs: unknown, engine: SearchEngine): Compute {
  let bucketCount = 0;
  const count = (more: number) => {
    bucketCount += more;
    if (bucketCount > MAX_BUCKETS) throw tooManyBuckets(bucketCount);
  };

  /** The time of a reading is in its event, everything else in the document. */
  function all(parent: string, given: unknown, isNested: boolean): Compute {
    const parts = aggregations(parent, given).map((one) => [one.name, each(one, isNested)] as const);
    if (parts.length === 0) throw malformed(`Missing definition for aggregation [${parent}]`);
    return (documents) => Object.fromEntries(parts.map(([name, compute]) => [name, compute(documents)]));
  }

  function each(one: Aggregation, isNested: boolean): Compute {
    const { name, kind, options, aggs: inner } = one;
    if (kind === 'date_histogram') {
      const histogram = parseHistogram(one, isNested, engine);
      return intervals(histogram, all(name, inner, isNested));
    }
    const [key, values] = OPTIONS[kind] ?? [];
    const asked = aggregationOptions(kind, options, key ? [key] : []);
    const value = key && asked[key];
    if (isNested !== NEEDS_NESTED.includes(kind) || (key && !values?.includes(String(value)))) {
      throw unsuited(one, value);
    }
    if (kind === 'sum') return (documents) => ({ value: sumOf(documents, value as 'amount' | 'quantity') });
    if (kind === 'max') {
      return (documents) => ({
        value: documents.length > 0 ? Math.max(...documents.map(({ at }) => at)) : null,
      });
    }
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
    ({ zone, interval, bounds }: Histogram, below: Compute): Compute =>
    (documents) => {
      const byStart = grouped(documents, ({ at }) => zone.floor(at, interval));
      const edges = [...byStart.keys(), ...bounds.map((at) => zone.floor(at, interval))];
      const last = Math.max(...edges);
      const buckets: Json[] = [];
      for (let key = Math.min(...edges); key <= last; key = zone.next(key, interval)) {
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

/** By kind: its one option, and what that may be. */
const OPTIONS: Readonly<Record<string, readonly [option: string, values: readonly string[]]>> = {
  terms: ['field', ['resource_name']],
  nested: ['path', [NESTED_PATH]],
  sum: ['field', ['amount', 'quantity']],
  max: ['field', [READ_AT]],
};
const NEEDS_NESTED = ['date_histogram', 'max', 'reverse_nested'];

function parseHistogram(
  { name, kind, options }: Aggregation,
  isNested: boolean,
  engine: SearchEngine,
): Histogram {
  const known = ['field', 'time_zone', 'min_doc_count', 'extended_bounds', 'format', ...engine.intervalKeys];
  const given = aggregationOptions(kind, options, known);
  if (given.field !== READ_AT || !isNested) throw unsuited({ name, kind }, given.field);
  if (given.min_doc_count !== 0) {
    const reason = `[minDocCount] must be 0 for this question. Found [${given.min_doc_count}] in [${name}]`;
    throw unparsable('min_doc_count', { type: 'illegal_argument_exception', reason });
  }
  const { min, max } = aggregationOptions('extended_bounds', given.extended_bounds, ['min', 'max']);
  const first = instant(min, given.format, engine);
  const last = instant(max, given.format, engine);
  if (first > last) {
    const reason = `[extended_bounds.min][${first}] cannot be greater than [extended_bounds.max][${last}] for histogram aggregation [${name}]`;
    throw inShards('search_parse_exception', reason);
  }
  return { interval: unitOf(given, engine), zone: zoneOf(given.time_zone), bounds: [first, last] };
}

function unitOf({ interval, calendar_interval }: Json, { intervalKeys }: SearchEngine): CalendarUnit {
  if (interval !== undefined && calendar_interval !== undefined) {
    throw unparsable('calendar_interval', {
      type: 'illegal_argument_exception',
      reason: 'Cannot use [calendar_interval] with [interval] configuration option.',
    });
  }
  const asked = interval ?? calendar_interval;
  const unit = CALENDAR_UNITS.find((one) => one === asked);
  if (unit) return unit;
  const type = 'illegal_argument_exception';
  if (asked === undefined) {
    const isOld = !intervalKeys.includes('calendar_interval');
    const newer = 'Invalid interval specified, must be non-null and non-empty';
    throw inShards(type, isOld ? 'Zero or negative time interval not supported' : newer);
  }
  if (calendar_interval === undefined) {
    const setting = 'DateHistogramAggregationBuilder.interval';
    const reason = `failed to parse setting [${setting}] with value [${asked}] as a time value: unit is missing or unrecognized`;
    throw inShards(type, reason);
  }
  const reason = `The supplied interval [${asked}] could not be parsed as a calendar interval.`;
  throw unparsable('calendar_interval', { type, reason });
}

function zoneOf(name: unknown): Zone {
  try {
    // Node 20 knows no zone by its offset.
    return new Zone(name === '+00:00' ? 'UTC' : String(name ?? 'UTC'));
  } catch (err) {
    if (!(err instanceof RangeError)) throw err;
    const reason = `Unknown time-zone ID: ${String(name)}`;
    throw unparsable('time_zone', { type: 'zone_rules_exception', reason });
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

function tooManyBuckets(count: number): Refusal {
  const reason = `Trying to create too many buckets. Must be less than or equal to: [${MAX_BUCKETS}] but was [${count}]. This limit can be set by changing the [search.max_buckets] cluster level setting.`;
  return new Refusal('too_many_buckets_exception', reason, { status: 503 });
}

function unsuited({ name, kind }: Pick<Aggregation, 'name' | 'kind'>, field: unknown): Refusal {
  const reason = `Field [${String(field)}] is not supported for aggregation [${name}] of type [${kind}]`;
  return inShards('illegal_argument_exception', reason);
}

function unparsable(field: string, caused_by: { type: string; reason: string }): Refusal {
  const reason = `[1:1] [date_histogram] failed to parse field [${field}]`;
  return new Refusal('x_content_parse_exception', reason, { caused_by });
}
