// Sessions and their signed tokens as Keycloak keeps them: rotation, reuse detection, idle and longest life.
import { createPublicKey, createSign, createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto';
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
  usedTokenId: string | undefined;
  usedTimes: number;
  clientDetached: boolean;
}

export type Claims = Record<string, unknown>;

export class Sessions {
  readonly #switches: Switches;
  readonly #issuer: string;
  readonly #sessions = new Map<string, Session>();

  constructor(switches: Switches, issuer: string) {
    this.#switches = switches;
    this.#issuer = issuer;
  }

  start(id: string, account: Account, scopes: readonly string[], now: number): Session {
    const startedAt = Math.floor(now / 1000);
    const unused = { refreshedAt: startedAt, usedTokenId: undefined, usedTimes: 0, clientDetached: false };
    const session = { id, account, scopes, startedAt, ...unused };
    this.#sessions.set(id, session);
    return session;
  }

  /** As when an administrator signs everybody out. */
  endAll(): void {
    this.#sessions.clear();
  }

  /** The session of a refresh token is over; false when it was before, undefined when it is no such token. */
  end(token: string): boolean | undefined {
    const claims = verified(token, this.#switches.token.keyId);
    return isRefreshToken(claims) ? this.#sessions.delete(String(claims?.sid)) : undefined;
  }

  /** An offline session has no longest life. */
  secondsLeft({ startedAt, scopes }: Session, now: number): number {
    if (scopes.includes('offline_access')) return Number.POSITIVE_INFINITY;
    return startedAt + this.#switches.token.sessionMaxSeconds - Math.floor(now / 1000);
  }

  /** The session, or why not. The order of the checks is Keycloak's, so that each situation gets its own words. */
  refresh(token: string, now: number): Session | { readonly refusal: string } {
    const { notBefore, accountStates, keyId, rotation, issuer } = this.#switches.token;
    const claims = verified(token, keyId);
    if (!claims || !isRefreshToken(claims)) return { refusal: 'Invalid refresh token' };
    if (claims.iss !== (issuer ?? this.#issuer)) return { refusal: 'Invalid token issuer' };
    // An offline token has no end.
    if (Number(claims.exp ?? Number.POSITIVE_INFINITY) <= now / 1000)
      return { refusal: 'Token is not active' };
    const session = this.#sessions.get(String(claims.sid));
    if (!session && claims.typ === 'Offline') return { refusal: 'Offline user session not found' };
    if (!session || this.secondsLeft(session, now) <= 0) return { refusal: 'Session not active' };
    if (accountStates.get(session.account.username) === 'disabled') return { refusal: 'User disabled' };
    if (session.clientDetached) return { refusal: "Session doesn't have required client" };
    if (Number(claims.iat) < notBefore) return { refusal: 'Stale token' };
    const refusal = rotation ? reused(session, claims) : undefined;
    if (refusal) return { refusal };
    session.refreshedAt = Math.floor(now / 1000);
    return session;
  }
}

function isRefreshToken(claims: Claims | undefined): boolean {
  return claims?.typ === 'Refresh' || claims?.typ === 'Offline';
}

function reused(session: Session, claims: Claims): string | undefined {
  const id = String(claims.jti);
  if (session.usedTokenId !== id) {
    if (session.usedTokenId !== undefined && Number(claims.iat) < session.refreshedAt) return 'Stale token';
    session.usedTokenId = id;
    session.usedTimes = 0;
  }
  session.usedTimes += 1;
  if (session.usedTimes <= 1) return undefined;
  session.clientDetached = true;
  return 'Maximum allowed refresh token reuse exceeded';
}

let pair: { privateKey: KeyObject; publicKey: KeyObject } | undefined;

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

function keys() {
  pair ??= generateKeyPairSync('rsa', { modulusLength: 2048 });
  return pair;
}

function encoded(part: Claims): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function decoded(part: string): Claims {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
}
