// One request and its reply, and what the provider counts and remembers of them.

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
  readonly headers?: Readonly<Record<string, string | string[]>>;
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

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly route: string;
  readonly query: Readonly<Record<string, string>>;
  /** Passwords, codes and tokens are blanked out. */
  readonly body: unknown;
  readonly authorized: boolean;
  readonly userAgent: string | undefined;
  readonly at: number;
}

const KEPT_REQUESTS = 1000;
const BLANKED = new Set(
  (
    'password refresh_token access_token token client_secret totp otp credentialId code code_verifier ' +
    'device_code user_code session_code'
  ).split(' '),
);

export class Counters {
  /** By method and route template, such as `POST /api/v1/reports/usage`. */
  readonly requests: Record<string, number> = {};
  readonly maxInFlight: Record<string, number> = {};
  readonly log: SeenRequest[] = [];
  passwordGrants = { asked: 0, ok: 0 };
  refreshGrants = { asked: 0, ok: 0, maxInFlight: 0 };
  /** Posted at the login page. */
  postedPasswords = 0;
  /** Sessions ended by the client itself, by revocation or logout. */
  revocations = 0;
  /** Requests to the public list that carried credentials, which none should. */
  credentialsToConstituencies = 0;
  readonly #inFlightByName = new Map<string, number>();
  readonly #loginsInFlight = new Set<Exchange>();
  readonly #secondLogins = new WeakSet<Exchange>();

  /** Counts a request in; the returned function counts it out. */
  enter(exchange: Exchange, route: string): () => void {
    const { method, path, query, at, headers } = exchange;
    this.requests[route] = (this.requests[route] ?? 0) + 1;
    const authorized = headers.authorization !== undefined;
    this.log.push({
      method,
      path,
      route,
      query: Object.fromEntries([...query].map(([key, value]) => [key, BLANKED.has(key) ? '***' : value])),
      body: blanked(exchange.body),
      authorized,
      userAgent: headers['user-agent'],
      at,
    });
    if (this.log.length > KEPT_REQUESTS) this.log.shift();
    if (authorized && path.endsWith('/constituencies')) this.credentialsToConstituencies += 1;
    const grant = grantOf(exchange);
    if (grant === 'password') this.passwordGrants.asked += 1;
    if (grant === 'refresh_token') this.refreshGrants.asked += 1;
    if (path.endsWith('/login-actions/authenticate') && fieldOf(exchange, 'password'))
      this.postedPasswords += 1;
    const user = fieldOf(exchange, 'password') && fieldOf(exchange, 'username');
    if (user) {
      const isSame = (other: Exchange) => fieldOf(other, 'username') === user;
      if ([...this.#loginsInFlight].some(isSame)) this.#secondLogins.add(exchange);
      this.#loginsInFlight.add(exchange);
    }
    const names = [route, ...(grant ? [`grant ${grant}`] : [])];
    for (const name of names) this.#shift(name, 1);
    this.refreshGrants.maxInFlight = this.maxInFlight['grant refresh_token'] ?? 0;
    return () => {
      for (const name of names) this.#shift(name, -1);
      this.#loginsInFlight.delete(exchange);
    };
  }

  /** Whether another login of the same user was still being answered when this one came in. */
  isSecondLogin(exchange: Exchange): boolean {
    return this.#secondLogins.has(exchange);
  }

  granted(grant: 'password' | 'refresh_token'): void {
    if (grant === 'password') this.passwordGrants.ok += 1;
    else this.refreshGrants.ok += 1;
  }

  #shift(name: string, by: number): void {
    const now = (this.#inFlightByName.get(name) ?? 0) + by;
    this.#inFlightByName.set(name, now);
    this.maxInFlight[name] = Math.max(this.maxInFlight[name] ?? 0, now);
  }
}

function grantOf(exchange: Exchange): unknown {
  return /\/protocol\/openid-connect\/token(-moved)?$/.test(exchange.path)
    ? fieldOf(exchange, 'grant_type')
    : undefined;
}

function fieldOf({ body }: Exchange, name: string): unknown {
  return Object(body)[name];
}

function blanked(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [key, BLANKED.has(key) ? '***' : value]),
  );
}
