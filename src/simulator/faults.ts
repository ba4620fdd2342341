// What can go wrong on the way: the kinds of faults, ready-made ones, and how each spoils a reply on the wire.
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import type { Reply } from './exchange.ts';

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
  /** The request is carried out at once, also when the client leaves; the reply comes so much later. */
  | { readonly kind: 'late'; readonly ms: number }
  /** JSON of more than 16 MiB. */
  | { readonly kind: 'oversized'; readonly megabytes?: number }
  /** Half a megabyte on the wire, 512 MiB unpacked. */
  | { readonly kind: 'gzip_bomb' };

const HTML = { 'content-type': 'text/html; charset=utf-8' };

/** Ready-made replies in place of the real one. */
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
  methodDisabled: oauth(400, 'unauthorized_client', 'Client not allowed for direct access grants'),
  clientRefused: oauth(401, 'invalid_client', 'Invalid client or Invalid client credentials'),
  scopeRefused: oauth(400, 'invalid_scope', 'Invalid scopes: openid service-energy'),
  realmDisabled: oauth(403, 'access_denied', 'Realm not enabled'),
  tlsRequired: oauth(403, 'invalid_request', 'HTTPS required'),
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

type Bucket = Record<string, unknown>;

/** Shuffle, drop, double or rewrite the innermost and outer lists of buckets. */
export function inBuckets(change: (buckets: Bucket[]) => unknown): Fault {
  return {
    kind: 'change',
    change: (body) => walked(body, 'buckets', (value) => (Array.isArray(value) ? change(value) : value)),
  };
}

/** Rewrite every `{value: …}`: negative, huge, text in place of a number. */
export function inSums(change: (value: unknown) => unknown): Fault {
  return { kind: 'change', change: (body) => walked(body, 'value', change, 'hits') };
}

function walked(part: unknown, key: string, change: (value: unknown) => unknown, except?: string): unknown {
  if (Array.isArray(part)) return part.map((one) => walked(one, key, change, except));
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).map(([name, value]) => {
    if (name === except) return [name, value];
    const inner = walked(value, key, change, except);
    return [name, name === key ? change(inner) : inner];
  });
  return Object.fromEntries(entries);
}

const MEGABYTE = 1024 * 1024;
const BOMB_MEMBERS = 32;
const JSON_TYPE = 'application/json;charset=UTF-8';

export async function send(response: ServerResponse, reply: Reply, fault: Fault | undefined): Promise<void> {
  const { status, headers = {} } = reply;
  const text = written(fault?.kind === 'change' ? fault.change(structuredClone(reply.body)) : reply.body);
  const bytes = Buffer.from(text, 'utf8');
  const head = { 'content-type': JSON_TYPE, 'cache-control': 'no-store', ...headers };
  const half = bytes.subarray(0, Math.floor(bytes.length / 2));
  switch (fault?.kind) {
    case 'reply_lost':
      response.destroy();
      return;
    case 'truncated':
      response.writeHead(status, head).end(half);
      return;
    case 'reset_mid_body':
      response.writeHead(status, { ...head, 'content-length': bytes.length });
      response.write(half, () => response.destroy());
      return;
    case 'oversized':
      await pipeline(oversized(fault.megabytes ?? 17), response.writeHead(status, head));
      return;
    case 'gzip_bomb':
      sendBomb(response.writeHead(status, { ...head, 'content-encoding': 'gzip' }));
      return;
    default:
      response.writeHead(status, { ...head, 'content-length': bytes.length }).end(bytes);
  }
}

function written(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function* oversized(megabytes: number): Generator<Buffer> {
  const padding = Buffer.alloc(MEGABYTE, 'x');
  yield Buffer.from('{"padding":"');
  for (let sent = 0; sent < megabytes; sent++) yield padding;
  yield Buffer.from('"}');
}

/** Many members one after the other are one valid stream. */
function sendBomb(response: ServerResponse): void {
  const member = gzipSync(Buffer.alloc(16 * MEGABYTE, ' '));
  response.end(Buffer.concat(Array.from({ length: BOMB_MEMBERS }, () => member)));
}
