// Takes a search body apart without trusting it; what is wrong with it is told where Elasticsearch tells it.

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
