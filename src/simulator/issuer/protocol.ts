// What the endpoints of the realm share: parts, errors in the words of OAuth, scopes, PKCE and the checks of the client.
import { createHash } from 'node:crypto';
import type { Clock } from '../../foundation/clock.ts';
import { type Counters, json, type Reply } from '../exchange.ts';
import type { Switches } from '../switches.ts';
import type { Credentials } from './credentials.ts';
import type { Session, Sessions } from './sessions.ts';

export const REALM_PATH = '/auth/realms/energy';

export type Form = Readonly<Record<string, string | undefined>>;

export interface Realm {
  readonly issuer: string;
  readonly clock: Clock;
  readonly switches: Switches;
  readonly counters: Counters;
  readonly sessions: Sessions;
  readonly credentials: Credentials;
}

/** What a token is given for: a session, and the nonce that its id token repeats. */
export interface Grant {
  readonly session: Session;
  readonly nonce: string | undefined;
}

export function failed(status: number, error: string, error_description: string): Reply {
  return json({ error, error_description }, status);
}

export function clientRefusal(form: Form, { token }: Switches): Reply | undefined {
  if (token.tlsRequired) return failed(403, 'invalid_request', 'HTTPS required');
  if (!token.realmEnabled) return failed(403, 'access_denied', 'Realm not enabled');
  if (form.client_id === token.clientId && token.clientEnabled) return undefined;
  return failed(401, 'invalid_client', 'Invalid client or Invalid client credentials');
}

/** Those of the scopes asked for that are for this client. `hasConsent`: the user is asked, and agrees. */
export function scopesIn(
  scope: string,
  { token }: Switches,
  hasConsent = false,
): { allowed: string[]; areAll: boolean } {
  const asked = scope.split(' ').filter(Boolean);
  const refused = token.offlineAccess === 'scope_refused' ? ['offline_access'] : [];
  const allowed = asked.filter((one) => token.scopes.includes(one) && !refused.includes(one));
  const isIgnored = token.offlineAccess === 'with_consent' && !hasConsent;
  const granted = allowed.filter((one) => !isIgnored || one !== 'offline_access');
  return { allowed: granted, areAll: allowed.length === asked.length };
}

/** What is wrong with the challenge of an authorization or device request. */
export function challengeFault(form: Form, { token }: Switches): string | undefined {
  if (form.code_challenge === undefined && !token.pkceRequired) return undefined;
  if (form.code_challenge_method === undefined) return 'Missing parameter: code_challenge_method';
  if (form.code_challenge_method !== 'S256')
    return 'Invalid parameter: code challenge method is not matching the configured one';
  return form.code_challenge === undefined ? 'Missing parameter: code_challenge' : undefined;
}

export function verifierFault(
  challenge: string | undefined,
  verifier: string | undefined,
): string | undefined {
  if (challenge === undefined) return undefined;
  if (verifier === undefined) return 'PKCE code verifier not specified';
  const hashed = createHash('sha256').update(verifier).digest('base64url');
  return hashed === challenge ? undefined : 'PKCE verification failed: Code mismatch';
}
