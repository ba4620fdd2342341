// One request and its reply, as the rooms of the simulator pass them around.

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** As sent. */
  readonly text: string;
  /** Parsed JSON, or the fields of a form; undefined when it is neither. */
  readonly body: unknown;
  readonly at: number;
}

export interface Reply {
  readonly status: number;
  /** A string goes out as it is, anything else as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  readonly method: string;
  /** Segments starting with a colon take any value. */
  readonly template: string;
  readonly reply: (exchange: Exchange, values: Readonly<Record<string, string>>) => Reply;
}

export function json(body: unknown, status = 200): Reply {
  return { status, body };
}

export function refused(status: number, message: string): Reply {
  return { status, body: { code: status, message } };
}

/** The values of a template's placeholders, or undefined when the path is another one. */
export function valuesIn(template: string, path: string): Record<string, string> | undefined {
  const wanted = template.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const actual = given[index] ?? '';
    if (segment.startsWith(':')) values[segment.slice(1)] = decodeURIComponent(actual);
    else if (segment !== actual) return undefined;
  }
  return values;
}
