// One request and its reply, and what the provider counts and remembers of them.

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The body that was sent. */
  readonly text: string;
  /** Parsed JSON, or the fields of a form; undefined when it is neither. */
  readonly body: unknown;
  readonly at: number;
}

export interface Reply {
  readonly status: number;
  /** Text and bytes go out as they are, anything else as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

export interface Route {
  readonly method: string;
  /** Segments starting with a colon take any value. */
  readonly template: string;
  readonly reply: (exchange: Exchange, values: Readonly<Record<string, string>>) => Reply;
}

export const json = (body: unknown, status = 200): Reply => ({ status, body });

/** Thrown in place of a reply. */
export class Refusal extends Error {
  readonly reply: Reply;

  constructor(reply: Reply) {
    super();
    this.reply = reply;
  }
}

/** The monetization API refuses in this shape. */
export const refusal = (status: number, message: string): Refusal =>
  new Refusal(json({ code: status, message }, status));

export interface SeenRequest extends Pick<Exchange, 'method' | 'path' | 'at'> {
  readonly route: string;
  readonly query: Readonly<Record<string, string>>;
  /** Passwords, codes and tokens are blanked out. */
  readonly body: unknown;
  readonly authorized: boolean;
  readonly userAgent: string | undefined;
}

const KEPT_REQUESTS = 1000;
const BLANKED = new Set(
  (
    'password refresh_token access_token token client_secret totp otp credentialId code code_verifier ' +
    'device_code user_code session_code'
  ).split(' '),
);
const TOKEN_PATH = /\/protocol\/openid-connect\/token(-moved)?$/;

export class Counters {
  /** Keys are method and route template, such as `POST /api/v1/reports/usage`. */
  readonly requests: Record<string, number> = {};
  /** Keys are the same, and `grant password` and the like. */
  readonly maxInFlight: Record<string, number> = {};
  readonly log: SeenRequest[] = [];
  readonly passwordGrants = { asked: 0, ok: 0 };
  readonly refreshGrants = { asked: 0, ok: 0, maxInFlight: 0 };
  /** Posted at the login page. */
  postedPasswords = 0;
  /** Sessions ended by the client itself, by revocation. */
  revocations = 0;
  /** The names under which each request is counted; the oldest first. */
  readonly #inFlight = new Map<Exchange, readonly string[]>();

  /** Counts a request in; the returned function counts it out. */
  enter(exchange: Exchange, route: string): () => void {
    const { method, path, query, at, headers, body } = exchange;
    this.requests[route] = (this.requests[route] ?? 0) + 1;
    this.log.push({
      method,
      path,
      route,
      query: blanked(Object.fromEntries(query)) as Record<string, string>,
      body: blanked(body),
      authorized: headers.authorization !== undefined,
      userAgent: headers['user-agent'],
      at,
    });
    if (this.log.length > KEPT_REQUESTS) this.log.shift();
    const grant = TOKEN_PATH.test(path) ? fieldOf(exchange, 'grant_type') : undefined;
    if (grant === 'password') this.passwordGrants.asked += 1;
    if (grant === 'refresh_token') this.refreshGrants.asked += 1;
    const isLoginPage = path.endsWith('/login-actions/authenticate');
    if (isLoginPage && fieldOf(exchange, 'password')) this.postedPasswords += 1;
    const names = grant ? [route, `grant ${grant}`] : [route];
    this.#inFlight.set(exchange, names);
    for (const name of names) {
      const now = [...this.#inFlight.values()].filter((others) => others.includes(name)).length;
      this.maxInFlight[name] = Math.max(this.maxInFlight[name] ?? 0, now);
    }
    this.refreshGrants.maxInFlight = this.maxInFlight['grant refresh_token'] ?? 0;
    return () => void this.#inFlight.delete(exchange);
  }

  /** An earlier login of the same user is still being answered. */
  isSecondLogin(exchange: Exchange): boolean {
    const user = fieldOf(exchange, 'username');
    const earlier = [...this.#inFlight.keys()];
    return earlier
      .slice(0, earlier.indexOf(exchange))
      .some((other) => fieldOf(other, 'username') === user && fieldOf(other, 'password'));
  }
}

const fieldOf = ({ body }: Exchange, name: string): unknown => Object(body)[name];

function blanked(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const entries = Object.entries(body).map(([key, value]) => [key, BLANKED.has(key) ? '***' : value]);
  return Object.fromEntries(entries);
}
