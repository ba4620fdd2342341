// The token endpoint row by row: each situation has its own error and words.
import { createPublicKey, createVerify, type JsonWebKey } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FAULTS } from '../../src/simulator/faults.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import type { AccountState } from '../../src/simulator/switches.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { ask, claimsOf, login, look, refresh, type Seen, visit } from './visitor.ts';

let clock: HandClock;
let provider: Simulator;

beforeEach(async () => {
  clock = handClock('2026-03-10T12:00:00Z');
  provider = await startSimulator({ clock });
});
afterEach(() => provider.stop());

const GRANT_OFF = 'Client not allowed for direct access grants';
const NOT_SET_UP = 'Account is not fully set up';
const state = (is: AccountState) => new Map([['me@example.org', is]]);
const said = ({ status, body }: Seen) => [status, look(body, 'error'), look(body, 'error_description')];

test('discovery leads to the token endpoint and to the keys that sign', async () => {
  const { body } = await visit(`${provider.urls.issuer}/.well-known/openid-configuration`);
  expect(look(body, 'issuer')).toBe(provider.urls.issuer);
  expect(look(body, 'token_endpoint')).toBe(`${provider.urls.issuer}/protocol/openid-connect/token`);
  const keys = await visit(String(look(body, 'jwks_uri')));
  const key = createPublicKey({ key: look(keys.body, 'keys.0') as JsonWebKey, format: 'jwk' });
  const [header, payload, signature = ''] = String(look((await login(provider)).body, 'access_token')).split(
    '.',
  );
  const check = createVerify('RSA-SHA256').update(`${header}.${payload}`);
  expect(check.verify(key, signature, 'base64url')).toBe(true);
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

test('wrong user and wrong password sound alike, with the status of either version', async () => {
  const words = ['invalid_grant', 'Invalid user credentials'];
  expect(said(await login(provider, { password: 'no' }))).toEqual([401, ...words]);
  expect(said(await login(provider, { username: 'nobody@example.org' }))).toEqual([401, ...words]);
  provider.switches.token.wrongPasswordStatus = 400;
  expect(said(await login(provider, { password: 'no' }))).toEqual([400, ...words]);
  expect(provider.counters.passwordGrants).toEqual({ asked: 3, ok: 0 });
});

test('a locked account refuses the right password in the same words, until the lock ends', async () => {
  provider.switches.token.lockAfterWrongPasswords = 2;
  await login(provider, { password: 'no' });
  await login(provider, { password: 'no' });
  expect(said(await login(provider))).toEqual([401, 'invalid_grant', 'Invalid user credentials']);
  clock.advance(900_000);
  expect((await login(provider)).status).toBe(200);
});

test.each<[string, Record<string, string>, Record<string, unknown>, ...unknown[]]>([
  ['another client', { client_id: 'other' }, {}, 401, 'invalid_client'],
  ['another scope', { scope: 'openid heat' }, {}, 400, 'invalid_scope'],
  ['another grant', { grant_type: 'magic' }, {}, 400, 'unsupported_grant_type'],
  ['grant switched off', {}, { passwordGrantAllowed: false }, 400, 'unauthorized_client', GRANT_OFF],
  ['disabled', {}, { accountStates: state('disabled') }, 400, 'invalid_grant', 'Account disabled'],
  ['to be set up', {}, { accountStates: state('not_fully_set_up') }, 400, 'invalid_grant', NOT_SET_UP],
])('no login: %s', async (_, form, switched, ...words) => {
  Object.assign(provider.switches.token, switched);
  expect(said(await login(provider, form)).slice(0, words.length)).toEqual(words);
});

test('a second factor: the right password alone is as wrong as any, with the code it passes', async () => {
  provider.switches.token.oneTimeCodes.set('me@example.org', '123456');
  const refused = [401, 'invalid_grant', 'Invalid user credentials'];
  expect(said(await login(provider))).toEqual(refused);
  expect(said(await login(provider, { totp: '654321' }))).toEqual(refused);
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

test('signing keys replaced at once: neither token is worth anything', async () => {
  const seen = await login(provider);
  provider.switches.token.keyId = 'replaced';
  expect(said(await refresh(provider, seen))).toEqual([400, 'invalid_grant', 'Invalid refresh token']);
  expect((await ask(provider, seen, '/site')).status).toBe(401);
  expect((await ask(provider, await login(provider), '/site')).status).toBe(200);
});

test('a mistyped realm', async () => {
  const mistyped = provider.urls.issuer.replace('energy', 'enrgy');
  const { status, body } = await visit(`${mistyped}/.well-known/openid-configuration`);
  expect([status, body]).toEqual([404, { error: 'Realm does not exist' }]);
});

test('an offline session has no longest life, and ends when everybody is signed out', async () => {
  provider.switches.token.sessionMaxSeconds = 1000;
  const seen = await login(provider, { scope: 'openid service-energy offline_access' });
  expect(seen.body).toMatchObject({ expires_in: 1800, refresh_expires_in: 0 });
  clock.advance(90 * 86_400_000);
  const later = await refresh(provider, seen);
  expect(later.status).toBe(200);
  provider.endSessions();
  expect(said(await refresh(provider, later))).toEqual([400, 'invalid_grant', 'Session not active']);
});

test('refreshing keeps a session alive beyond the life of any of its tokens', async () => {
  let seen = await login(provider);
  for (let i = 0; i < 5; i++) {
    clock.advance(1_700_000);
    seen = await refresh(provider, seen);
    expect(seen.status).toBe(200);
  }
  expect((await ask(provider, seen, '/site')).status).toBe(200);
  expect(provider.counters.refreshGrants).toEqual({ asked: 5, ok: 5, maxInFlight: 1 });
});

test('a refresh token past its life', async () => {
  const seen = await login(provider);
  clock.advance(2_100_000);
  expect(said(await refresh(provider, seen))).toEqual([400, 'invalid_grant', 'Token is not active']);
});

test('rotation: the second use of a token kills the session, the good token included', async () => {
  const first = await login(provider);
  clock.advance(60_000);
  const second = await refresh(provider, first);
  expect(second.status).toBe(200);
  const reused = 'Maximum allowed refresh token reuse exceeded';
  expect(said(await refresh(provider, first))).toEqual([400, 'invalid_grant', reused]);
  const orphaned = "Session doesn't have required client";
  expect(said(await refresh(provider, second))).toEqual([400, 'invalid_grant', orphaned]);
  expect((await login(provider)).status).toBe(200);
});

test('rotation: a token older than the one used last is stale; without rotation all serve', async () => {
  const first = await login(provider);
  clock.advance(60_000);
  const second = await refresh(provider, first);
  clock.advance(60_000);
  const third = await refresh(provider, second);
  expect(said(await refresh(provider, first))).toEqual([400, 'invalid_grant', 'Stale token']);
  provider.switches.token.rotation = false;
  expect((await refresh(provider, first)).status).toBe(200);
  expect((await refresh(provider, third)).status).toBe(200);
});

test('ended sessions, their longest life, not-before and a user disabled meanwhile', async () => {
  const seen = await login(provider);
  provider.switches.token.accountStates.set('me@example.org', 'disabled');
  expect(said(await refresh(provider, seen))).toEqual([400, 'invalid_grant', 'User disabled']);
  provider.switches.token.accountStates.clear();
  provider.switches.token.notBefore = clock.now() / 1000 + 1;
  expect(said(await refresh(provider, seen))).toEqual([400, 'invalid_grant', 'Stale token']);
  provider.switches.token.notBefore = 0;
  provider.switches.token.sessionMaxSeconds = 1000;
  clock.advance(1_000_000);
  expect(said(await refresh(provider, seen))).toEqual([400, 'invalid_grant', 'Session not active']);
  const again = await login(provider);
  provider.endSessions();
  expect(said(await refresh(provider, again))).toEqual([400, 'invalid_grant', 'Session not active']);
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

test.each([
  ['htmlUnavailable', 503, 'text/html'],
  ['captivePage', 200, 'text/html'],
  ['serverError', 500, 'application/json'],
  ['empty', 200, 'application/json'],
] as const)('no OAuth at all: %s', async (name, status, type) => {
  provider.switches.fault('/auth/realms/energy/protocol', FAULTS[name], { times: 1 });
  const seen = await login(provider);
  expect(seen.status).toBe(status);
  expect(seen.headers.get('content-type')).toContain(type);
  expect(look(seen.body, 'error')).toBeUndefined();
  expect((await login(provider)).status).toBe(200);
});
