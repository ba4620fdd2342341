// Takes a search body apart without trusting it, and refuses it as Elasticsearch words it.

export type Json = Record<string, unknown>;

export interface SearchEngine {
  /** `interval` is known before Elasticsearch 8, `calendar_interval` from 7.2 on. */
  readonly intervalKeys: readonly ('interval' | 'calendar_interval')[];
  /** How the index maps the time of a reading. */
  readonly dateFormat: string;
}

export const NESTED_PATH = 'event_fields';
export const READ_AT = 'event_fields.time_of_read.date';
const DATE_FORMAT = 'strict_date_optional_time';
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface RefusalOptions {
  readonly status?: number;
  /** The body was understood; carrying it out failed in every shard. */
  readonly inShards?: boolean;
  readonly caused_by?: { readonly type: string; readonly reason: string };
}

export class Refusal extends Error {
  readonly status: number;
  readonly body: Json;

  constructor(type: string, reason: string, { status = 400, inShards, caused_by }: RefusalOptions = {}) {
    super(reason);
    this.status = status;
    const cause = { type, reason };
    const whole = inShards
      ? {
          type: 'search_phase_execution_exception',
          reason: 'all shards failed',
          phase: 'query',
          grouped: true,
          failed_shards: [{ shard: 0, index: 'events', node: 'simulated', reason: cause }],
        }
      : cause;
    this.body = { error: { root_cause: [cause], ...whole, ...(caused_by && { caused_by }) }, status };
  }
}

export function malformed(reason: string): Refusal {
  return new Refusal('parsing_exception', reason);
}

export function inShards(type: string, reason: string): Refusal {
  return new Refusal(type, reason, { inShards: true });
}

export interface Aggregation {
  readonly name: string;
  readonly kind: string;
  readonly options: unknown;
  readonly aggs: unknown;
}

export function onlyQuery(query: unknown, ...kinds: readonly string[]): [string, unknown] {
  if (!isObject(query)) throw malformed('query malformed, no start_object after query name');
  const [first, second] = Object.entries(query);
  if (!first) throw new Refusal('illegal_argument_exception', 'query malformed, empty clause found at [1:1]');
  if (!kinds.includes(first[0])) throw malformed(`no [query] registered for [${first[0]}]`);
  if (second) {
    throw malformed(`[${first[0]}] malformed query, expected [END_OBJECT] but found [FIELD_NAME]`);
  }
  return first;
}

export function queryOptions([kind, options]: [string, unknown], known: readonly string[]): Json {
  if (!isObject(options)) throw malformed(`[${kind}] query malformed, no start_object after query name`);
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown !== undefined) throw malformed(`[${kind}] query does not support [${unknown}]`);
  return options;
}

const KINDS = ['terms', 'nested', 'date_histogram', 'reverse_nested', 'sum', 'max'];

export function aggregations(parent: string, aggs: unknown): Aggregation[] {
  if (!isObject(aggs)) throw malformed(`Missing definition for aggregation [${parent}]`);
  return Object.entries(aggs).map(([name, given]) => {
    if (!isObject(given)) throw malformed(`Missing definition for aggregation [${name}]`);
    const { aggs: inner, ...types } = given;
    const [first, second] = Object.entries(types);
    if (!first) throw malformed(`Missing definition for aggregation [${name}]`);
    if (second) {
      const both = `[${first[0]}] and [${second[0]}]`;
      throw malformed(`Found two aggregation type definitions in [${name}]: ${both}`);
    }
    const [kind, options] = first;
    if (!KINDS.includes(kind)) {
      const reason = `[1:1] unable to parse BaseAggregationBuilder with name [${kind}]: parser not found`;
      throw new Refusal('named_object_not_found_exception', reason);
    }
    if (inner !== undefined && ['sum', 'max'].includes(kind)) {
      const reason = `Aggregator [${name}] of type [${kind}] cannot accept sub-aggregations`;
      throw new Refusal('aggregation_initialization_exception', reason, { status: 500 });
    }
    return { name, kind, options, aggs: inner };
  });
}

export function aggregationOptions(kind: string, options: unknown, known: readonly string[]): Json {
  if (!isObject(options)) {
    throw malformed(`Expected [START_OBJECT] under [${kind}], but got a [${tokenOf(options)}]`);
  }
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown === undefined) return options;
  // Elasticsearch 8 guesses at this one; before 7.2 it said that no parser was found.
  const hint = unknown === 'interval' ? ' did you mean [fixed_interval]?' : ', parser not found';
  throw new Refusal('x_content_parse_exception', `[1:1] [${kind}] unknown field [${unknown}]${hint}`);
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function tokenOf(value: unknown): string {
  if (Array.isArray(value)) return 'START_ARRAY';
  if (typeof value === 'object' && value !== null) return 'START_OBJECT';
  return value === null || value === undefined ? 'VALUE_NULL' : `VALUE_${(typeof value).toUpperCase()}`;
}

/** Text is read in the format that the question names, or else in the one of the mapping. */
export function instant(asked: unknown, format: unknown, { dateFormat }: SearchEngine): number {
  const formats = String(format ?? dateFormat);
  const isRead =
    formats.split('||').includes(DATE_FORMAT) && typeof asked === 'string' && INSTANT.test(asked);
  const at = isRead ? Date.parse(asked) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  const reason = `failed to parse date field [${String(asked)}] with format [${formats}]`;
  throw inShards('parse_exception', `${reason}: [${reason}]`);
}
