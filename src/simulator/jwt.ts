// Signed tokens of the invented identity provider: RS256, one key for the life of the process.
import { createPublicKey, createSign, createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto';

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
