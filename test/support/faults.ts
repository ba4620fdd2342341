// Ready-made faults of the simulated provider.
import type { Fault } from '../../src/simulator/switches.ts';

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
  notFound: { kind: 'reply', status: 404, body: { code: 404, message: 'Not found' } },
  unauthorized: { kind: 'reply', status: 401, body: { code: 401, message: 'Unauthorized' } },
  clientRefused: oauth(401, 'invalid_client', 'Invalid client or Invalid client credentials'),
  reuseExceeded: oauth(400, 'invalid_grant', 'Maximum allowed refresh token reuse exceeded'),
  oversized: { kind: 'change', change: () => ({ padding: 'x'.repeat(17 * 1024 * 1024) }) },
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
