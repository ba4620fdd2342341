// Recognises the one usage question that the provider answers; any other body is refused as Elasticsearch words it.
import { CALENDAR_UNITS, type CalendarUnit, Zone } from '../localTime.ts';
import {
  type Aggregation,
  aggregationOptions,
  aggregations,
  inShards,
  isObject,
  type Json,
  malformed,
  onlyQuery,
  queryOptions,
  Refusal,
  tokenOf,
} from './body.ts';

export interface SearchEngine {
  /** `interval` is known before Elasticsearch 8, `calendar_interval` from 7.2 on. */
  readonly intervalKeys: readonly ('interval' | 'calendar_interval')[];
  /** How the index maps the time of a reading. */
  readonly dateFormat: string;
}

/** Instants in epoch milliseconds; an aggregation is known by the name that the question gave it. */
export interface UsageRequest {
  readonly serviceType: string;
  readonly customerId: string;
  readonly resourceNames: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly resources: string;
  readonly readings: string;
  readonly intervals: string;
  readonly histogram: Histogram;
  /** The time of the last reading of each interval. */
  readonly newest: string;
  readonly documents: string;
  readonly sums: readonly { readonly name: string; readonly field: 'amount' | 'quantity' }[];
}

export interface Histogram {
  readonly interval: CalendarUnit;
  readonly zone: Zone;
  /** First and last instant that get a bucket even without a reading. */
  readonly bounds: readonly [number, number];
}

const NESTED_PATH = 'event_fields';
const READ_AT = 'event_fields.time_of_read.date';
const DATE_FORMAT = 'strict_date_optional_time';
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Throws a `Refusal`. */
export function parseUsageRequest(body: unknown, engine: SearchEngine): UsageRequest {
  if (!isObject(body)) throw malformed(`Expected [START_OBJECT] but found [${tokenOf(body)}]`);
  for (const [key, value] of Object.entries(body)) {
    // Any other size would bring documents along.
    const isKnown = key === 'size' ? value === 0 : ['query', 'aggs'].includes(key) && isObject(value);
    if (!isKnown) throw malformed(`Unknown key for a ${tokenOf(value)} in [${key}].`);
  }
  if (body.size !== 0) throw malformed('Missing [size], expected [0]');
  return { ...parseQuery(body.query, engine), ...parseAggregations(body.aggs, engine) };
}

/** The four filters, in the order in which they are asked. */
function parseQuery(query: unknown, engine: SearchEngine) {
  const { filter } = queryOptions(onlyQuery(query, 'bool'), ['filter']);
  const [service, customer, resource, time, ...others]: unknown[] = Array.isArray(filter) ? filter : [];
  if (time === undefined || others.length > 0) throw missingFilters();
  const serviceType = parseTerm(service, 'service_type');
  const customerId = parseTerm(customer, 'customer_id');
  // The id is mapped as a number.
  if (!/^-?\d+$/.test(customerId)) throw failedQuery(`For input string: "${customerId}"`);
  return { serviceType, customerId, resourceNames: parseTerms(resource), ...parseRange(time, engine) };
}

function missingFilters(): Refusal {
  return malformed('[bool] malformed query, expected filters on service, customer, resource and time');
}

/** One word or phrase: operators, wildcards, fields and groups of `query_string` are not evaluated here. */
function parseTerm(clause: unknown, field: string): string {
  const { query, fields } = queryOptions(onlyQuery(clause, 'query_string'), ['query', 'fields']);
  if (typeof query !== 'string') throw malformed('[query_string] must be provided with a [query]');
  if (!Array.isArray(fields) || fields.join() !== field) throw missingFilters();
  const [, word, phrase] = /^(?:(\w+)|"((?:\\.|[^"\\])+)")$/.exec(query) ?? [];
  if (word !== undefined && !['AND', 'OR', 'NOT'].includes(word)) return word;
  if (phrase !== undefined) return phrase.replace(/\\(.)/g, '$1');
  throw inShards('query_shard_exception', `Failed to parse query [${query}]`);
}

function parseTerms(clause: unknown): readonly string[] {
  const names = queryOptions(onlyQuery(clause, 'terms'), ['resource_name']).resource_name;
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  throw malformed('[terms] query does not support [resource_name]');
}

/** The time is in a nested document: without the wrapper the engine finds nothing. */
function parseRange(clause: unknown, engine: SearchEngine) {
  const { path, query } = queryOptions(onlyQuery(clause, 'nested'), ['path', 'query']);
  if (path !== NESTED_PATH) {
    throw failedQuery(`[nested] failed to find nested object under path [${String(path)}]`);
  }
  const range = queryOptions(onlyQuery(query, 'range'), [READ_AT]);
  const { gte, lte, format } = queryOptions(['range', range[READ_AT]], ['gte', 'lte', 'format']);
  return { from: instant(gte, format, engine), to: instant(lte, format, engine) };
}

function parseAggregations(aggs: unknown, engine: SearchEngine) {
  const resources = onlyAggregation('aggs', aggs, 'terms');
  demand(resources, { field: 'resource_name' });
  const readings = onlyAggregation(resources.name, resources.aggs, 'nested');
  demand(readings, { path: NESTED_PATH });
  const intervals = onlyAggregation(readings.name, readings.aggs, 'date_histogram');
  const [newest, documents, ...others] = aggregations(
    intervals.name,
    intervals.aggs,
    'max',
    'reverse_nested',
  );
  if (newest?.kind !== 'max' || documents?.kind !== 'reverse_nested' || others.length > 0) {
    throw malformed(`Missing definition for aggregation [${intervals.name}]`);
  }
  demand(newest, { field: READ_AT });
  demand(documents, {});
  const sums = aggregations(documents.name, documents.aggs, 'sum').map((sum) => {
    const { field } = aggregationOptions(sum.kind, sum.options, ['field']);
    if (field === 'amount' || field === 'quantity') return { name: sum.name, field } as const;
    throw unsuited(sum, field);
  });
  return {
    resources: resources.name,
    readings: readings.name,
    intervals: intervals.name,
    histogram: parseHistogram(intervals, engine),
    newest: newest.name,
    documents: documents.name,
    sums,
  };
}

function parseHistogram({ name, kind, options }: Aggregation, engine: SearchEngine): Histogram {
  const known = ['field', 'time_zone', 'min_doc_count', 'extended_bounds', 'format', ...engine.intervalKeys];
  const given = aggregationOptions(kind, options, known);
  if (given.field !== READ_AT) throw unsuited({ name, kind }, given.field);
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
    return new Zone(String(name ?? 'UTC'));
  } catch (err) {
    if (!(err instanceof RangeError)) throw err;
    const reason = `Unknown time-zone ID: ${String(name)}`;
    throw unparsable('time_zone', { type: 'zone_rules_exception', reason });
  }
}

/** Text is read in the format that the question names, or else in the one of the mapping. */
function instant(asked: unknown, format: unknown, { dateFormat }: SearchEngine): number {
  const formats = String(format ?? dateFormat);
  const isRead =
    formats.split('||').includes(DATE_FORMAT) && typeof asked === 'string' && INSTANT.test(asked);
  const at = isRead ? Date.parse(asked) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  const reason = `failed to parse date field [${String(asked)}] with format [${formats}]`;
  throw inShards('parse_exception', `${reason}: [${reason}]`);
}

function onlyAggregation(parent: string, aggs: unknown, kind: string): Aggregation {
  const [only, another] = aggregations(parent, aggs, kind);
  if (!only || another) throw malformed(`Missing definition for aggregation [${parent}]`);
  return only;
}

/** Exactly these options. */
function demand(aggregation: Aggregation, wanted: Readonly<Record<string, string>>): void {
  const given = aggregationOptions(aggregation.kind, aggregation.options, Object.keys(wanted));
  for (const [key, value] of Object.entries(wanted)) {
    if (given[key] !== value) throw unsuited(aggregation, given[key]);
  }
}

function failedQuery(reason: string): Refusal {
  return inShards('query_shard_exception', `failed to create query: ${reason}`);
}

function unsuited({ name, kind }: { name: string; kind: string }, field: unknown): Refusal {
  const reason = `Field [${String(field)}] is not supported for aggregation [${name}] of type [${kind}]`;
  return inShards('illegal_argument_exception', reason);
}

function unparsable(field: string, caused_by: { type: string; reason: string }): Refusal {
  const reason = `[1:1] [date_histogram] failed to parse field [${field}]`;
  return new Refusal('x_content_parse_exception', reason, { caused_by });
}
