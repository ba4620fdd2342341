// Shared by the endpoints of the realm: passwords and their lock, scopes, PKCE, errors in the words of OAuth, and sessions with their
// signed tokens as Keycloak keeps them (rotation, reuse detection, idle and longest life).
import { createHash, generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto';
import type { Clock } from '../../foundation/clock.ts';
import type { Account } from '../accounts.ts';
import { type Counters, type Exchange, json, Refusal } from '../exchange.ts';
import type { Switches } from '../switches.ts';

export const REALM_PATH = '/auth/realms/energy';
const LOCK_MS = 900_000;

export type Form = Readonly<Record<string, string | undefined>>;

export interface Realm {
  readonly issuer: string;
  readonly clock: Clock;
  readonly switches: Switches;
  readonly counters: Counters;
  readonly sessions: ReturnType<typeof openSessions>;
  readonly credentials: ReturnType<typeof openCredentials>;
}

/** The basis of a token: a session, and the nonce that its id token repeats. */
export interface Grant {
  readonly session: Session;
  readonly nonce?: string | undefined;
}

/** OAuth's words. */
export const failed = (status: number, error: string, error_description: string): Refusal =>
  new Refusal(json({ error, error_description }, status));

/** Keycloak's answer to one session too many: the text is that of its configuration, and no code of OAuth. */
export const TOO_MANY_SESSIONS = 'There are too many sessions';

export const noGrant = (words: string): Refusal => failed(400, 'invalid_grant', words);

export function checkClient({ client_id }: Form, { token }: Switches): void {
  if (token.tlsRequired) throw failed(403, 'invalid_request', 'HTTPS required');
  if (!token.realmEnabled) throw failed(403, 'access_denied', 'Realm not enabled');
  if (client_id !== token.clientId || !token.clientEnabled)
    throw failed(401, 'invalid_client', 'Invalid client or Invalid client credentials');
}

/** The scopes asked for that are for this client. */
function scopesIn(scope: string, { token }: Switches): string[] {
  const isRefused = (name: string) => name === 'offline_access' && token.offlineAccess === 'scope_refused';
  return scope.split(' ').filter((name) => token.scopes.includes(name) && !isRefused(name));
}

export function checkScopes(scope: string, switches: Switches): void {
  if (scopesIn(scope, switches).length < scope.split(' ').filter(Boolean).length)
    throw failed(400, 'invalid_scope', `Invalid scopes: ${scope}`);
}

/** `hasConsent`: the user is asked, and agrees. */
export function grantedScopes(scope: string, switches: Switches, hasConsent = false): string[] {
  const isIgnored = switches.token.offlineAccess === 'with_consent' && !hasConsent;
  return scopesIn(scope, switches).filter((name) => !isIgnored || name !== 'offline_access');
}

/** The challenge of an authorization or device request. */
export function checkChallenge(form: Form, { token }: Switches): void {
  const { code_challenge: challenge, code_challenge_method: method } = form;
  const bad = (words: string) => failed(400, 'invalid_request', words);
  if (challenge === undefined && !token.pkceRequired) return;
  if (method === undefined) throw bad('Missing parameter: code_challenge_method');
  if (method !== 'S256')
    throw bad('Invalid parameter: code challenge method is not matching the configured one');
  if (challenge === undefined) throw bad('Missing parameter: code_challenge');
}

export function checkVerifier({ code_challenge }: Form, verifier: string | undefined): void {
  if (code_challenge === undefined) return;
  if (verifier === undefined) throw noGrant('PKCE code verifier not specified');
  const hashed = createHash('sha256').update(verifier).digest('base64url');
  if (hashed !== code_challenge) throw noGrant('PKCE verification failed: Code mismatch');
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
    accounts.find((account) => account.username.toLowerCase() === username.toLowerCase());

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
    if (!isRight) count(username);
    return isRight;
  }

  function count(username: string): void {
    const most = token.lockAfterWrongPasswords;
    const tries = wrong.get(username) ?? { count: 0, lockedUntil: 0 };
    const count = tries.count + 1;
    const next = count >= most ? { count: 0, lockedUntil: clock.now() + LOCK_MS } : { ...tries, count };
    wrong.set(username, next);
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
    /** A right password that is refused for another reason counts as if it were wrong. */
    refused: ({ username }: Account): void => count(username),
    /** The login is complete: wrong tries before it no longer count. */
    succeeded: ({ username }: Account) => void wrong.delete(username),
  };
}

export interface Session {
  readonly id: string;
  readonly account: Account;
  readonly scopes: readonly string[];
  /** Times in seconds, as Keycloak compares them. */
  readonly startedAt: number;
  refreshedAt: number;
  /** The id of the refresh token used last. */
  used: unknown;
  clientDetached: boolean;
}

type Claims = Record<string, unknown>;

export function openSessions({ token: switches }: Switches, issuer: string, accounts: readonly Account[]) {
  const sessions = new Map<string, Session>();

  /** An offline session has no longest life. */
  const secondsLeft = ({ startedAt, scopes }: Session, now: number): number =>
    scopes.includes('offline_access')
      ? Number.POSITIVE_INFINITY
      : startedAt + switches.sessionMaxSeconds - Math.floor(now / 1000);

  /** Another simulator gave this refresh token: the session is taken from it. */
  function takeOver({ sub, sid, iat, scope }: Claims): Session | undefined {
    const account = accounts.find(({ userId }) => userId === sub);
    if (!switches.trustsOthers || !account) return undefined;
    const at = Number(iat);
    const unused = { used: undefined, clientDetached: false };
    const scopes = String(scope).split(' ');
    const session = { id: String(sid), account, scopes, startedAt: at, refreshedAt: at, ...unused };
    sessions.set(session.id, session);
    return session;
  }

  return {
    start(account: Account, scopes: readonly string[], now: number): Session {
      const at = Math.floor(now / 1000);
      const unused = { used: undefined, clientDetached: false };
      const session = { id: randomUUID(), account, scopes, startedAt: at, refreshedAt: at, ...unused };
      sessions.set(session.id, session);
      return session;
    },
    /** The user may not have one more. */
    isFull: (account: Account, now: number): boolean => {
      const lives = (session: Session) => session.account === account && secondsLeft(session, now) > 0;
      return [...sessions.values()].filter(lives).length >= switches.mostSessions;
    },
    /** An administrator signs all users out. */
    endAll: () => sessions.clear(),
    /** The session of a refresh token is over; false when it was before, undefined when it is no such token. */
    end(token: string): boolean | undefined {
      const claims = verified(token, switches);
      return isRefreshToken(claims) ? sessions.delete(String(claims?.sid)) : undefined;
    },
    /** The order of the checks is Keycloak's, so that each situation gets its own words. */
    refresh(token: string, now: number): Session {
      const { notBefore, accountStates, rotation } = switches;
      const claims = verified(token, switches);
      if (!claims || !isRefreshToken(claims)) throw noGrant('Invalid refresh token');
      if (claims.iss !== issuer) throw noGrant('Invalid token issuer');
      // An offline token has no end.
      if (Number(claims.exp ?? Number.POSITIVE_INFINITY) <= now / 1000) throw noGrant('Token is not active');
      const session = sessions.get(String(claims.sid)) ?? takeOver(claims);
      if (!session && claims.typ === 'Offline') throw noGrant('Offline user session not found');
      if (!session || secondsLeft(session, now) <= 0) throw noGrant('Session not active');
      if (accountStates.get(session.account.username) === 'disabled') throw noGrant('User disabled');
      if (session.clientDetached) throw noGrant("Session doesn't have required client");
      if (Number(claims.iat) < notBefore) throw noGrant('Stale token');
      if (rotation) use(session, claims);
      session.refreshedAt = Math.floor(now / 1000);
      return session;
    },
  };
}

const isRefreshToken = (claims: Claims | undefined): boolean =>
  claims?.typ === 'Refresh' || claims?.typ === 'Offline';

/** A refresh token serves once. */
function use(session: Session, { jti, iat }: Claims): void {
  if (session.used === jti) {
    session.clientDetached = true;
    throw noGrant('Maximum allowed refresh token reuse exceeded');
  }
  if (session.used && Number(iat) < session.refreshedAt) throw noGrant('Stale token');
  session.used = jti;
}

let pair: ReturnType<typeof generatePair> | undefined;
const generatePair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
function keys() {
  pair ??= generatePair();
  return pair;
}

/** JSON Web Tokens write a signature so. */
const IN_TOKENS = { dsaEncoding: 'ieee-p1363' } as const;

/** ES256, which takes a hundredth of the time of RS256, with one pair for the life of the process, known by whatever id the realm gives it at the time. */
export function signed(claims: Claims, kid: string): string {
  const content = `${encoded({ alg: 'ES256', typ: 'JWT', kid })}.${encoded(claims)}`;
  const signature = sign('sha256', Buffer.from(content), { key: keys().privateKey, ...IN_TOKENS });
  return `${content}.${signature.toString('base64url')}`;
}

/** The claims, when they were signed with the key of now; expiry is for the caller to judge. */
export function verified(
  token: string,
  { keyId, trustsOthers }: Pick<Switches['token'], 'keyId' | 'trustsOthers'>,
): Claims | undefined {
  const [header = '', payload = '', signature = '', ...rest] = token.split('.');
  if (rest.length > 0 || signature === '') return undefined;
  if (trustsOthers) return decoded(payload);
  if (newest.token !== token) newest = { token, isOurs: isSignature(signature, `${header}.${payload}`) };
  return newest.isOurs && decoded(header).kid === keyId ? decoded(payload) : undefined;
}

/** The last token whose signature was computed: requests come with the same one for minutes. */
let newest = { token: '', isOurs: false };

function isSignature(signature: string, content: string): boolean {
  const key = { key: keys().publicKey, ...IN_TOKENS };
  return verify('sha256', Buffer.from(content), key, Buffer.from(signature, 'base64url'));
}

export function publicKeys(kid: string): Record<string, unknown> {
  return { keys: [{ kid, alg: 'ES256', use: 'sig', ...keys().publicKey.export({ format: 'jwk' }) }] };
}

const encoded = (part: Claims): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const decoded = (part: string): Claims => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
