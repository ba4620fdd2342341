// What can go wrong on the way: the kinds of faults, ready-made ones, and the list of those waiting to happen.
import type { Exchange } from './exchange.ts';

export type Fault =
  /** This reply in place of the real one; a string goes out as it is. */
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Record<string, string>;
    }
  /** The real reply, its JSON changed. */
  | { readonly kind: 'change'; readonly change: (body: unknown) => unknown }
  /** Half of the real reply, as if that were all. */
  | { readonly kind: 'truncated' }
  /** Half of the real reply, then the connection breaks. */
  | { readonly kind: 'reset_mid_body' }
  /** The connection breaks before anything is done. */
  | { readonly kind: 'reset' }
  /** The request is carried out, its reply never arrives. */
  | { readonly kind: 'reply_lost' }
  /** Nothing ever comes. */
  | { readonly kind: 'hang' }
  /** The real reply, after that long on the simulator's clock. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** JSON of more than 16 MiB. */
  | { readonly kind: 'oversized'; readonly megabytes?: number }
  /** Half a megabyte on the wire, 512 MiB unpacked. */
  | { readonly kind: 'gzip_bomb' };

export interface FaultRule {
  readonly prefix: string;
  readonly fault: Fault;
  readonly times: number;
  readonly method?: string;
  readonly when?: (exchange: Exchange) => boolean;
}

const HTML = { 'content-type': 'text/html; charset=utf-8' };

/** The rows of the fact sheet that are replies of their own. */
export const FAULTS = {
  serverError: { kind: 'reply', status: 500, body: { code: 500, message: 'Internal error' } },
  htmlUnavailable: {
    kind: 'reply',
    status: 503,
    body: '<html><body><h1>503 Service Unavailable</h1></body></html>',
    headers: HTML,
  },
  captivePage: {
    kind: 'reply',
    status: 200,
    body: '<!doctype html><title>Welcome</title><p>Please accept the terms of this network.</p>',
    headers: HTML,
  },
  empty: { kind: 'reply', status: 200, body: '' },
  forbidden: { kind: 'reply', status: 403, body: { code: 403, message: 'Forbidden' } },
  notFound: { kind: 'reply', status: 404, body: { code: 404, message: 'Not found' } },
  unauthorized: { kind: 'reply', status: 401, body: { code: 401, message: 'Unauthorized' } },
  wrongPassword: oauth(401, 'invalid_grant', 'Invalid user credentials'),
  accountDisabled: oauth(400, 'invalid_grant', 'Account disabled'),
  notFullySetUp: oauth(400, 'invalid_grant', 'Account is not fully set up'),
  methodDisabled: oauth(400, 'unauthorized_client', 'Client not allowed for direct access grants'),
  clientRefused: oauth(401, 'invalid_client', 'Invalid client or Invalid client credentials'),
  scopeRefused: oauth(400, 'invalid_scope', 'Invalid scopes: openid service-energy'),
  tokenNotActive: oauth(400, 'invalid_grant', 'Token is not active'),
  sessionNotActive: oauth(400, 'invalid_grant', 'Session not active'),
  reuseExceeded: oauth(400, 'invalid_grant', 'Maximum allowed refresh token reuse exceeded'),
  noRequiredClient: oauth(400, 'invalid_grant', "Session doesn't have required client"),
  staleToken: oauth(400, 'invalid_grant', 'Stale token'),
  userDisabled: oauth(400, 'invalid_grant', 'User disabled'),
} as const satisfies Record<string, Fault>;

export function oauth(status: number, error: string, error_description: string) {
  return { kind: 'reply', status, body: { error, error_description } } as const;
}

/** `retryAfter`: seconds, or an HTTP date. */
export function tooMany(retryAfter: number | string, status = 429) {
  const headers = { 'retry-after': String(retryAfter) };
  return { kind: 'reply', status, body: { code: status, message: 'Too many requests' }, headers } as const;
}

export class FaultRules {
  #waiting: { readonly rule: FaultRule; left: number }[] = [];

  add(rule: FaultRule): { remove(): void } {
    const entry = { rule, left: rule.times };
    this.#waiting.push(entry);
    return {
      remove: () => {
        this.#waiting = this.#waiting.filter((other) => other !== entry);
      },
    };
  }

  clear(): void {
    this.#waiting = [];
  }

  /** The oldest rule that fits. */
  take(exchange: Exchange): Fault | undefined {
    const entry = this.#waiting.find(
      ({ left, rule: { prefix, method, when } }) =>
        left > 0 &&
        exchange.path.startsWith(prefix) &&
        (method === undefined || method === exchange.method) &&
        (when === undefined || when(exchange)),
    );
    if (!entry) return undefined;
    entry.left -= 1;
    return entry.rule.fault;
  }
}
