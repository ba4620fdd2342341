// An answer of the issuer as openid-client is to see it: what can be used is not refused for its spelling, and its numbers of seconds are
// within reason.
import { retryAfterMs } from '../foundation/retry.ts';

interface Bounds {
  readonly least: number;
  readonly most: number;
  /** It replaces what is no number of seconds. */
  readonly usual: number;
}

const DAY = 86_400;
/** A device sign-in is asked about so often. RFC 8628 has five seconds if nothing is said. */
const POLL_INTERVAL: Bounds = { least: 1, most: 60, usual: 5 };
/** The life of a code that a person is to type. */
const CODE_LIFE: Bounds = { least: 60, most: DAY, usual: 600 };
/** A token that is always due would be refreshed without a pause. Keycloak's usually live longer than what is assumed. */
const ACCESS_LIFE: Bounds = { least: 5, most: 366 * DAY, usual: 60 };

function bounded(given: unknown, { least, most, usual }: Bounds): number {
  const seconds = typeof given === 'string' ? Number.parseFloat(given) : given;
  return typeof seconds === 'number' && seconds > 0 ? Math.min(Math.max(seconds, least), most) : usual;
}

/**
 * openid-client prefers a WWW-Authenticate header, the status and the media type to the body, but only the body says what was refused;
 * and it takes every number of seconds for meant. `onReply` gets the JSON.
 */
export async function soundReply(
  pending: Promise<Response>,
  onReply: (json: unknown) => void,
  now: number,
): Promise<Response> {
  const response = await pending;
  const { statusText } = response;
  const headers = new Headers(response.headers);
  headers.delete('www-authenticate');
  const later = soundRetryAfter(headers.get('retry-after'), now);
  if (later !== null) headers.set('retry-after', later);
  const text = await response.text();
  const json = soundJson(jsonIn(text));
  onReply(json);
  if (typeof json === 'object') headers.set('content-type', 'application/json');
  const status = statusOf(json, response.status);
  return new Response(JSON.stringify(json) ?? (text || null), { status, statusText, headers });
}

/** Some refuse with a status of success, or grant with another one than 200. A refused password must not be sent again and again. */
function statusOf(json: unknown, status: number): number {
  if (status < 200 || status > 299) return status;
  const { error, access_token } = Object(json) as Record<string, unknown>;
  // Keycloak says so of a token to be revoked that is none any more, which is as well (RFC 7009 2.2).
  if (error === 'invalid_token') return 200;
  return typeof error === 'string' && access_token === undefined ? 400 : 200;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text, withoutEmpty);
  } catch {
    return undefined;
  }
}

/** Some issuers write a key that has no value, where others leave it out. */
const withoutEmpty = (_: string, value: unknown): unknown =>
  value === null || value === '' ? undefined : value;

/** JSON of a token or device authorization endpoint; anything else stays as it is. */
function soundJson(json: unknown): unknown {
  const reply = Object(json) as Record<string, unknown>;
  if (typeof reply.device_code === 'string') {
    const expires_in = bounded(reply.expires_in, CODE_LIFE);
    return { ...reply, expires_in, interval: bounded(reply.interval, POLL_INTERVAL) };
  }
  if (typeof reply.access_token !== 'string') return json;
  const expires_in = bounded(reply.expires_in, ACCESS_LIFE);
  // Keycloak writes 0 for a refresh token without an end of its own. However soon it is said to end, one refresh is tried.
  const refresh_expires_in = bounded(reply.refresh_expires_in, {
    least: expires_in,
    most: Number.MAX_VALUE,
    usual: 0,
  });
  const { token_type = 'Bearer' } = reply;
  // Nothing depends on the granted scope, which some write as a list.
  return { ...reply, token_type, scope: undefined, expires_in, refresh_expires_in };
}

/** A header `Retry-After` of at most half an hour, in seconds; `null`: there is none that can be read. */
function soundRetryAfter(header: string | null, now: number): string | null {
  const ms = retryAfterMs(header, now);
  return ms === null ? null : String(Math.ceil(ms / 1000));
}
