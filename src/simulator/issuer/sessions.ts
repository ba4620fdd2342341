// Sessions and their signed tokens as Keycloak keeps them: rotation, reuse detection, idle and longest life.
import { createPublicKey, createSign, createVerify, generateKeyPairSync, randomUUID } from 'node:crypto';
import type { Account } from '../accounts.ts';
import type { Switches } from '../switches.ts';

export interface Session {
  readonly id: string;
  readonly account: Account;
  readonly scopes: readonly string[];
  /** Times in seconds, as Keycloak compares them. */
  readonly startedAt: number;
  refreshedAt: number;
  /** The refresh token used last, and how often. */
  used: { readonly id: string; times: number } | undefined;
  clientDetached: boolean;
}

type Claims = Record<string, unknown>;
export type Sessions = ReturnType<typeof openSessions>;

export function openSessions({ token: switches }: Switches, issuer: string) {
  const sessions = new Map<string, Session>();

  /** An offline session has no longest life. */
  const secondsLeft = ({ startedAt, scopes }: Session, now: number): number =>
    scopes.includes('offline_access')
      ? Number.POSITIVE_INFINITY
      : startedAt + switches.sessionMaxSeconds - Math.floor(now / 1000);

  return {
    secondsLeft,
    start(account: Account, scopes: readonly string[], now: number): Session {
      const at = Math.floor(now / 1000);
      const unused = { used: undefined, clientDetached: false };
      const session = { id: randomUUID(), account, scopes, startedAt: at, refreshedAt: at, ...unused };
      sessions.set(session.id, session);
      return session;
    },
    /** An administrator signs all users out. */
    endAll: () => sessions.clear(),
    /** The session of a refresh token is over; false when it was before, undefined when it is no such token. */
    end(token: string): boolean | undefined {
      const claims = verified(token, switches.keyId);
      return isRefreshToken(claims) ? sessions.delete(String(claims?.sid)) : undefined;
    },
    /** The session, or why not. The order of the checks is Keycloak's, so that each situation gets its own words. */
    refresh(token: string, now: number): Session | { readonly refusal: string } {
      const { notBefore, accountStates, keyId, rotation } = switches;
      const claims = verified(token, keyId);
      if (!claims || !isRefreshToken(claims)) return { refusal: 'Invalid refresh token' };
      if (claims.iss !== issuer) return { refusal: 'Invalid token issuer' };
      // An offline token has no end.
      if (Number(claims.exp ?? Number.POSITIVE_INFINITY) <= now / 1000)
        return { refusal: 'Token is not active' };
      const session = sessions.get(String(claims.sid));
      if (!session && claims.typ === 'Offline') return { refusal: 'Offline user session not found' };
      if (!session || secondsLeft(session, now) <= 0) return { refusal: 'Session not active' };
      if (accountStates.get(session.account.username) === 'disabled') return { refusal: 'User disabled' };
      if (session.clientDetached) return { refusal: "Session doesn't have required client" };
      if (Number(claims.iat) < notBefore) return { refusal: 'Stale token' };
      const refusal = rotation ? reused(session, claims) : undefined;
      if (refusal) return { refusal };
      session.refreshedAt = Math.floor(now / 1000);
      return session;
    },
  };
}

const isRefreshToken = (claims: Claims | undefined): boolean =>
  claims?.typ === 'Refresh' || claims?.typ === 'Offline';

function reused(session: Session, claims: Claims): string | undefined {
  const id = String(claims.jti);
  if (session.used?.id !== id) {
    if (session.used && Number(claims.iat) < session.refreshedAt) return 'Stale token';
    session.used = { id, times: 0 };
  }
  session.used.times += 1;
  if (session.used.times <= 1) return undefined;
  session.clientDetached = true;
  return 'Maximum allowed refresh token reuse exceeded';
}

let pair: ReturnType<typeof generatePair> | undefined;
const generatePair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
function keys() {
  pair ??= generatePair();
  return pair;
}

/** RS256 with one pair for the life of the process, known by whatever id the realm gives it at the time. */
export function signed(claims: Claims, kid: string): string {
  const content = `${encoded({ alg: 'RS256', typ: 'JWT', kid })}.${encoded(claims)}`;
  return `${content}.${createSign('RSA-SHA256').update(content).sign(keys().privateKey, 'base64url')}`;
}

/** The claims, when they were signed with this key; expiry is for the caller to judge. */
export function verified(token: string, kid: string): Claims | undefined {
  const [header = '', payload = '', signature = '', ...rest] = token.split('.');
  if (rest.length > 0 || signature === '') return undefined;
  const check = createVerify('RSA-SHA256').update(`${header}.${payload}`);
  if (!check.verify(keys().publicKey, signature, 'base64url')) return undefined;
  return decoded(header).kid === kid ? decoded(payload) : undefined;
}

export function publicKeys(kid: string): Record<string, unknown> {
  const jwk = createPublicKey(keys().privateKey).export({ format: 'jwk' });
  return { keys: [{ kid, alg: 'RS256', use: 'sig', ...jwk }] };
}

const encoded = (part: Claims): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const decoded = (part: string): Claims => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
