// Sessions and their signed tokens as Keycloak keeps them: rotation, reuse detection, idle and longest life.
import { createPublicKey, createSign, createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Account } from '../accounts.ts';
import type { Switches } from '../switches.ts';

export interface Session {
  readonly id: string;
  readonly account: Account;
  readonly scopes: readonly string[];
  readonly startedAt: number;
  /** The refresh token used last, how often, and when (seconds, as Keycloak compares them). */
  usedTokenId: string | undefined;
  usedTimes: number;
  refreshedAt: number;
  clientDetached: boolean;
}

type Refusal = { readonly refusal: string };

export class Sessions {
  readonly #switches: Switches;
  readonly #issuer: string;
  readonly #sessions = new Map<string, Session>();

  constructor(switches: Switches, issuer: string) {
    this.#switches = switches;
    this.#issuer = issuer;
  }

  start(id: string, account: Account, scopes: readonly string[], now: number): Session {
    const seconds = Math.floor(now / 1000);
    const session: Session = {
      id,
      account,
      scopes,
      startedAt: seconds,
      usedTokenId: undefined,
      usedTimes: 0,
      refreshedAt: seconds,
      clientDetached: false,
    };
    this.#sessions.set(id, session);
    return session;
  }

  /** As after a logout, or a restart of the identity provider. */
  endAll(): void {
    this.#sessions.clear();
  }

  secondsLeft({ startedAt }: Session, now: number): number {
    return startedAt + this.#switches.token.sessionMaxSeconds - Math.floor(now / 1000);
  }

  /** The order of the checks is Keycloak's, so that each situation gets its own words. */
  refresh(token: string, now: number): Session | Refusal {
    const { notBefore, accountStates } = this.#switches.token;
    const claims = verified(token);
    if (claims?.typ !== 'Refresh') return { refusal: 'Invalid refresh token' };
    if (claims.iss !== this.#issuer) return { refusal: 'Invalid token issuer' };
    if (Number(claims.exp) <= now / 1000) return { refusal: 'Token is not active' };
    const session = this.#sessions.get(String(claims.sid));
    if (!session || this.secondsLeft(session, now) <= 0) return { refusal: 'Session not active' };
    if ((accountStates.get(session.account.username) ?? 'active') === 'disabled')
      return { refusal: 'User disabled' };
    if (session.clientDetached) return { refusal: "Session doesn't have required client" };
    if (Number(claims.iat) < notBefore) return { refusal: 'Stale token' };
    const refusal = this.#switches.token.rotation ? this.#reuse(session, claims) : undefined;
    if (refusal) return { refusal };
    session.refreshedAt = Math.floor(now / 1000);
    return session;
  }

  #reuse(session: Session, claims: Claims): string | undefined {
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
}

export type Claims = Record<string, unknown>;

const KEY_ID = 'kQ3vVnWqk0-simulated';
let pair: { privateKey: KeyObject; publicKey: KeyObject } | undefined;

export function signed(claims: Claims): string {
  const content = `${encoded({ alg: 'RS256', typ: 'JWT', kid: KEY_ID })}.${encoded(claims)}`;
  return `${content}.${createSign('RSA-SHA256').update(content).sign(keys().privateKey, 'base64url')}`;
}

/** The claims, when we signed them; expiry is for the caller to judge. */
export function verified(token: string): Claims | undefined {
  const [header = '', payload = '', signature = '', ...rest] = token.split('.');
  if (rest.length > 0 || signature === '') return undefined;
  const check = createVerify('RSA-SHA256').update(`${header}.${payload}`);
  if (!check.verify(keys().publicKey, signature, 'base64url')) return undefined;
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  return typeof claims === 'object' && claims !== null ? (claims as Claims) : undefined;
}

export function publicKeys(): Record<string, unknown> {
  const jwk = createPublicKey(keys().privateKey).export({ format: 'jwk' });
  return { keys: [{ kid: KEY_ID, alg: 'RS256', use: 'sig', ...jwk }] };
}

function keys() {
  pair ??= generateKeyPairSync('rsa', { modulusLength: 2048 });
  return pair;
}

function encoded(part: Claims): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
