// The token endpoint row by row: each situation has its own error and words.
import { createPublicKey, createVerify, type JsonWebKey } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import type { AccountState } from '../../src/simulator/switches.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { claimsOf, login, look, refresh, said, visit } from './visitor.ts';

let clock: HandClock;
let provider: Simulator;

beforeEach(async () => {
  clock = handClock('2026-03-10T12:00:00Z');
  provider = await startSimulator({ clock });
});
afterEach(() => provider.stop());

const GRANT = 'invalid_grant';
const WRONG = 'Invalid user credentials';
const GRANT_OFF = 'Client not allowed for direct access grants';
const state = (is: AccountState) => ({ accountStates: new Map([['me@example.org', is]]) });

test('discovery leads to the token endpoint and to the keys that sign', async () => {
  const { body } = await visit(`${provider.urls.issuer}/.well-known/openid-configuration`);
  expect(look(body, 'issuer')).toBe(provider.urls.issuer);
  expect(look(body, 'token_endpoint')).toBe(`${provider.urls.issuer}/protocol/openid-connect/token`);
  const keys = await visit(String(look(body, 'jwks_uri')));
  const key = createPublicKey({ key: look(keys.body, 'keys.0') as JsonWebKey, format: 'jwk' });
  const token = String(look((await login(provider)).body, 'access_token'));
  const [header, payload, signature = ''] = token.split('.');
  const check = createVerify('RSA-SHA256').update(`${header}.${payload}`);
  expect(check.verify(key, signature, 'base64url')).toBe(true);
  const mistyped = `${provider.urls.issuer.replace('energy', 'enrgy')}/.well-known/openid-configuration`;
  expect(await visit(mistyped)).toMatchObject({ status: 404, body: { error: 'Realm does not exist' } });
});

test('a login brings both tokens, their lives and the claims of the customer', async () => {
  const seen = await login(provider);
  expect(seen.status).toBe(200);
  expect(seen.body).toMatchObject({ expires_in: 1800, refresh_expires_in: 2100, token_type: 'Bearer' });
  const claims = claimsOf(seen);
  expect(claims.customer_code).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-a[\da-f]{3}-[\da-f]{12}$/);
  expect(claims).toMatchObject({ iat: clock.now() / 1000, exp: clock.now() / 1000 + 1800, typ: 'Bearer' });
  expect(claims.sub).not.toBe(claims.customer_code);
  expect(claimsOf(seen, 'refresh_token').exp).toBe(clock.now() / 1000 + 2100);
  expect(claimsOf(seen, 'id_token').aud).toBe('self-care');
  expect(provider.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
  expect(JSON.stringify(provider.requests)).not.toContain('"demo"');
});

test('claims of the access token added or left out', async () => {
  provider.switches.token.claims = { customer_code: undefined, customer: 'x' };
  const claims = claimsOf(await login(provider));
  expect([claims.customer, 'customer_code' in claims]).toEqual(['x', false]);
});

const CLIENT = 'Invalid client or Invalid client credentials';
test.each<[string, Record<string, string>, object, number, string, string]>([
  ['wrong password', { password: 'no' }, {}, 401, GRANT, WRONG],
  ['wrong password from 26.6 on', { password: 'no' }, { wrongPasswordStatus: 400 }, 400, GRANT, WRONG],
  ['wrong user', { username: 'nobody@example.org' }, {}, 401, GRANT, WRONG],
  ['another client', { client_id: 'other' }, {}, 401, 'invalid_client', CLIENT],
  ['another scope', { scope: 'openid heat' }, {}, 400, 'invalid_scope', 'Invalid scopes: openid heat'],
  ['consent wanted', {}, { consentRequired: true }, 400, 'invalid_client', 'Client requires user consent'],
  ['another grant', { grant_type: 'magic' }, {}, 400, 'unsupported_grant_type', 'Unsupported grant_type'],
  ['grant switched off', {}, { passwordGrantAllowed: false }, 400, 'unauthorized_client', GRANT_OFF],
  ['disabled', {}, state('disabled'), 400, GRANT, 'Account disabled'],
  ['to be set up', {}, state('not_fully_set_up'), 400, GRANT, 'Account is not fully set up'],
])('no login: %s', async (_, form, switched, ...words) => {
  Object.assign(provider.switches.token, switched);
  expect(said(await login(provider, form))).toEqual(words);
  expect(provider.counters.passwordGrants.ok).toBe(0);
});

test('a lock, or a missing one-time code, refuses the right password in the words for a wrong one', async () => {
  const { token } = provider.switches;
  token.lockAfterWrongPasswords = 2;
  for (const password of ['no', 'no', 'demo'])
    expect(said(await login(provider, { password }))).toEqual([401, GRANT, WRONG]);
  clock.advance(900_000);
  expect((await login(provider)).status).toBe(200);
  token.oneTimeCodes.set('me@example.org', '123456');
  expect(said(await login(provider))).toEqual([401, GRANT, WRONG]);
  expect(said(await login(provider, { totp: '654321' }))).toEqual([401, GRANT, WRONG]);
  clock.advance(900_000);
  expect((await login(provider, { totp: '123456' })).status).toBe(200);
  expect(JSON.stringify(provider.requests)).not.toContain('123456');
});

test.each([
  ['client disabled', { clientEnabled: false }, 401, 'invalid_client'],
  ['realm disabled', { realmEnabled: false }, 403, 'access_denied', 'Realm not enabled'],
  ['TLS demanded', { tlsRequired: true }, 403, 'invalid_request', 'HTTPS required'],
])('%s for a while: no login and no refresh, but the session lives on', async (_, off, ...words) => {
  const { token } = provider.switches;
  const seen = await login(provider);
  const before = { ...token };
  Object.assign(token, off);
  expect(said(await login(provider)).slice(0, words.length)).toEqual(words);
  expect(said(await refresh(provider, seen)).slice(0, words.length)).toEqual(words);
  Object.assign(token, before);
  expect((await refresh(provider, seen)).status).toBe(200);
});

test('what stops a login and no refresh: grant switched off, required action, lock, another password', async () => {
  const { token } = provider.switches;
  const seen = await login(provider);
  Object.assign(token, { rotation: false, passwordGrantAllowed: false });
  expect((await refresh(provider, seen)).status).toBe(200);
  token.accountStates.set('me@example.org', 'not_fully_set_up');
  token.lockAfterWrongPasswords = 1;
  await login(provider, { password: 'no' });
  provider.changePassword('me@example.org', 'another');
  expect((await refresh(provider, seen)).status).toBe(200);
});

test('an offline session has no longest life, and ends when everybody is signed out', async () => {
  provider.switches.token.sessionMaxSeconds = 1000;
  const seen = await login(provider, { scope: 'openid service-energy offline_access' });
  expect(seen.body).toMatchObject({ expires_in: 1800, refresh_expires_in: 0 });
  clock.advance(90 * 86_400_000);
  const later = await refresh(provider, seen);
  expect(later.status).toBe(200);
  provider.endSessions();
  expect(said(await refresh(provider, later))).toEqual([400, GRANT, 'Offline user session not found']);
});

test.each<[string, number, object, string]>([
  ['a token past its life', 2_100, {}, 'Token is not active'],
  ['a user disabled meanwhile', 0, state('disabled'), 'User disabled'],
  ['a token from before', 0, { notBefore: Date.parse('2026-03-10T12:00:01Z') / 1000 }, 'Stale token'],
  ['a session past its longest life', 1_000, { sessionMaxSeconds: 1000 }, 'Session not active'],
  ['signing keys replaced', 0, { keyId: 'replaced' }, 'Invalid refresh token'],
])('no refresh: %s', async (_, seconds, switched, words) => {
  const seen = await login(provider);
  Object.assign(provider.switches.token, switched);
  clock.advance(seconds * 1000);
  expect(said(await refresh(provider, seen))).toEqual([400, GRANT, words]);
});

test('rotation: the second use of a token kills the session, the good token included', async () => {
  const first = await login(provider);
  clock.advance(60_000);
  const second = await refresh(provider, first);
  expect(second.status).toBe(200);
  const reused = 'Maximum allowed refresh token reuse exceeded';
  expect(said(await refresh(provider, first))).toEqual([400, GRANT, reused]);
  const orphaned = "Session doesn't have required client";
  expect(said(await refresh(provider, second))).toEqual([400, GRANT, orphaned]);
  expect((await login(provider)).status).toBe(200);
});

test('rotation: a token older than the one used last is stale; without rotation all serve', async () => {
  const first = await login(provider);
  clock.advance(60_000);
  const second = await refresh(provider, first);
  clock.advance(60_000);
  const third = await refresh(provider, second);
  expect(said(await refresh(provider, first))).toEqual([400, GRANT, 'Stale token']);
  provider.switches.token.rotation = false;
  expect((await refresh(provider, first)).status).toBe(200);
  expect((await refresh(provider, third)).status).toBe(200);
});

test('the end of the session may be announced in the lifetimes', async () => {
  Object.assign(provider.switches.token, { sessionMaxSeconds: 600, sessionMaxAnnounced: true });
  expect((await login(provider)).body).toMatchObject({ expires_in: 600, refresh_expires_in: 600 });
});

test('two refreshes at a time are counted as two in flight', async () => {
  const seen = await login(provider);
  provider.switches.fault('/auth/', { kind: 'slow', ms: 1000 });
  const both = Promise.all([refresh(provider, seen), refresh(provider, seen)]);
  while (provider.counters.refreshGrants.asked < 2) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(1000);
  expect((await both).map(({ status }) => status).sort()).toEqual([200, 400]);
  expect(provider.counters.refreshGrants.maxInFlight).toBe(2);
});
