// What the endpoints of the realm share: errors in the words of OAuth, scopes, PKCE, the client, passwords and their lock.
import { createHash } from 'node:crypto';
import type { Clock } from '../../foundation/clock.ts';
import type { Account } from '../accounts.ts';
import { type Counters, type Exchange, json, type Reply } from '../exchange.ts';
import type { Switches } from '../switches.ts';
import type { Session, Sessions } from './sessions.ts';

export const REALM_PATH = '/auth/realms/energy';
const LOCK_MS = 900_000;

export type Form = Readonly<Record<string, string | undefined>>;

export interface Realm {
  readonly issuer: string;
  readonly clock: Clock;
  readonly switches: Switches;
  readonly counters: Counters;
  readonly sessions: Sessions;
  readonly credentials: ReturnType<typeof openCredentials>;
}

/** What a token is given for: a session, and the nonce that its id token repeats. */
export interface Grant {
  readonly session: Session;
  readonly nonce: string | undefined;
}

export const failed = (status: number, error: string, error_description: string): Reply =>
  json({ error, error_description }, status);

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
  const isOffline = (one: string) => one === 'offline_access';
  const isRefused = (one: string) => isOffline(one) && token.offlineAccess === 'scope_refused';
  const allowed = asked.filter((one) => token.scopes.includes(one) && !isRefused(one));
  const isIgnored = token.offlineAccess === 'with_consent' && !hasConsent;
  const granted = allowed.filter((one) => !isIgnored || !isOffline(one));
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

export function verifierFault({ code_challenge }: Form, verifier: string | undefined): string | undefined {
  if (code_challenge === undefined) return undefined;
  if (verifier === undefined) return 'PKCE code verifier not specified';
  const hashed = createHash('sha256').update(verifier).digest('base64url');
  return hashed === code_challenge ? undefined : 'PKCE verification failed: Code mismatch';
}

/** Passwords and one-time codes, and the lock that counts the wrong ones however they came in. */
export function openCredentials(
  clock: Clock,
  accounts: readonly Account[],
  { token }: Switches,
  counters: Counters,
) {
  const usedCodes = new Map<string, string>();
  const wrong = new Map<string, { count: number; lockedUntil: number }>();

  const accountOf = (username = ''): Account | undefined =>
    accounts.find((one) => one.username.toLowerCase() === username.toLowerCase());

  /** A code that follows the time serves once. */
  function isCode({ username }: Account, given: string | undefined): boolean {
    const code = token.oneTimeCodes.get(username);
    if (code === undefined || typeof code === 'string') return code === undefined || given === code;
    if (given !== code() || given === usedCodes.get(username)) return false;
    usedCodes.set(username, given);
    return true;
  }

  /** While the lock holds, and for the later of two logins at a time, what is right is refused as if it were wrong. */
  function passes(exchange: Exchange, { username }: Account, isRight: boolean): boolean {
    const most = token.lockAfterWrongPasswords;
    if (most < Number.POSITIVE_INFINITY && counters.isSecondLogin(exchange)) return false;
    const now = clock.now();
    const tries = wrong.get(username) ?? { count: 0, lockedUntil: 0 };
    if (now < tries.lockedUntil) return false;
    if (isRight) return true;
    const isLocked = tries.count + 1 >= most;
    wrong.set(
      username,
      isLocked ? { count: 0, lockedUntil: now + LOCK_MS } : { ...tries, count: tries.count + 1 },
    );
    return false;
  }

  return {
    account: accountOf,
    /** The account, when its password is right and, for a grant that brings everything at once, its one-time code too. */
    login(exchange: Exchange, username = '', password = '', code?: { readonly totp: string | undefined }) {
      const account = accountOf(username);
      if (!account) return undefined;
      const isRight = password === account.password && (!code || isCode(account, code.totp));
      return passes(exchange, account, isRight) ? account : undefined;
    },
    oneTimeCodePasses: (exchange: Exchange, account: Account, code: string | undefined): boolean =>
      passes(exchange, account, isCode(account, code)),
    wantsOneTimeCode: ({ username }: Account): boolean => token.oneTimeCodes.has(username),
    /** The login is complete: wrong tries before it no longer count. */
    succeeded: ({ username }: Account) => void wrong.delete(username),
  };
}
