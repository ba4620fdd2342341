// How Elasticsearch says no, and how a search body is taken apart without trusting it.

export class SearchError extends Error {
  readonly type: string;
  readonly status: number;

  constructor(type: string, reason: string, status = 400) {
    super(reason);
    this.type = type;
    this.status = status;
  }

  body(): Record<string, unknown> {
    const cause = { type: this.type, reason: this.message };
    return { error: { root_cause: [cause], ...cause }, status: this.status };
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function record(value: unknown, where: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new SearchError('parsing_exception', `[${where}] query malformed, no start_object after query name`);
}

/** An object with one key, as every query and `{field: condition}` has to be. */
export function only(value: unknown, where: string): [string, unknown] {
  const entries = Object.entries(record(value, where));
  const [first, second] = entries;
  if (!first) throw new SearchError('illegal_argument_exception', 'query malformed, empty clause found');
  if (second) {
    const reason = `[${where}] malformed query, expected [END_OBJECT] but found [FIELD_NAME]`;
    throw new SearchError('parsing_exception', reason);
  }
  return first;
}

export function list(value: unknown): unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

export function allow(parameters: Record<string, unknown>, known: readonly string[], where: string): void {
  for (const key of Object.keys(parameters)) {
    if (known.includes(key)) continue;
    throw new SearchError(
      'x_content_parse_exception',
      `[1:1] [${where}] unknown field [${key}], parser not found`,
    );
  }
}

export function text(value: unknown, where: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return String(value);
  throw new SearchError('parsing_exception', `[${where}] expected a value but found none`);
}
