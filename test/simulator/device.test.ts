// The device grant, sessions without an end, and how a client ends its session itself.
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { authorizationUrl, Browser, REDIRECT, VERIFIER } from './browser.ts';
import { claimsOf, login, look, postForm, refresh, type Seen, said, tokenRequest, visit } from './visitor.ts';

const ME = 'me@example.org';
const SELF = { client_id: 'self-care' };
const OFFLINE = 'openid service-energy offline_access';
let clock: HandClock;
let provider: Simulator;

beforeEach(async () => {
  clock = handClock('2026-03-10T12:00:00Z');
  provider = await startSimulator({ clock });
});
afterEach(() => provider.stop());

function start(changes: Record<string, string> = {}): Promise<Seen> {
  const code_challenge = createHash('sha256').update(VERIFIER).digest('base64url');
  const pkce = { code_challenge, code_challenge_method: 'S256' };
  return postForm(provider, '/auth/device', { ...SELF, scope: OFFLINE, ...pkce, ...changes });
}

function poll(from: Seen, changes: Record<string, string> = {}, afterMs = 5000): Promise<Seen> {
  clock.advance(afterMs);
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  const device_code = String(look(from.body, 'device_code'));
  return tokenRequest(provider, { ...SELF, grant_type, device_code, code_verifier: VERIFIER, ...changes });
}

const userCodeOf = (from: Seen) => String(look(from.body, 'user_code'));

test('codes for the person and the device, good for ten minutes', async () => {
  const { status, body } = await start();
  const uri = `${provider.urls.issuer}/device`;
  expect([status, body]).toEqual([
    200,
    {
      device_code: expect.any(String),
      user_code: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/),
      verification_uri: uri,
      verification_uri_complete: `${uri}?user_code=${look(body, 'user_code')}`,
      expires_in: 600,
      interval: 5,
    },
  ]);
  expect(provider.device.pending()).toEqual([look(body, 'user_code')]);
  expect(provider.counters.deviceStarts).toBe(1);
});

test('pending, too fast, and approved: a session of whoever approved it, once', async () => {
  const started = await start();
  expect(said(await poll(started)).slice(0, 2)).toEqual([400, 'authorization_pending']);
  expect(said(await poll(started, {}, 4999))).toEqual([400, 'slow_down', 'Slow down']);
  provider.device.approve(userCodeOf(started), 'neighbour@example.org');
  const seen = await poll(started);
  expect(seen.body).toMatchObject({ refresh_expires_in: 0, token_type: 'Bearer' });
  expect(claimsOf(seen)).toMatchObject({ preferred_username: 'neighbour@example.org' });
  expect((await refresh(provider, seen)).status).toBe(200);
  expect(said(await poll(started))).toEqual([400, 'invalid_grant', 'Device code not valid']);
  expect(provider.counters.passwordGrants.asked).toBe(0);
  expect(JSON.stringify(provider.requests)).not.toContain(look(started.body, 'device_code'));
});

test('denied, expired, and another verifier', async () => {
  const denied = await start();
  provider.device.deny(userCodeOf(denied));
  expect(said(await poll(denied)).slice(0, 2)).toEqual([400, 'access_denied']);
  const stolen = await start();
  provider.device.approve(userCodeOf(stolen), ME);
  expect(said(await poll(stolen, { code_verifier: 'another' })).slice(0, 2)).toEqual([400, 'invalid_grant']);
  expect((await poll(stolen)).status).toBe(200);
  const late = await start();
  clock.advance(600_000);
  expect(said(await poll(late)).slice(0, 2)).toEqual([400, 'expired_token']);
});

test('scopes that are not allowed are left out, and a user may be disabled meanwhile', async () => {
  provider.switches.token.offlineAccess = 'scope_refused';
  const started = await start({ scope: `heat ${OFFLINE}` });
  provider.device.approve(userCodeOf(started), ME);
  expect((await poll(started)).body).toMatchObject({
    scope: 'email profile openid service-energy',
    refresh_expires_in: 2100,
  });
  const late = await start();
  provider.device.approve(userCodeOf(late), ME);
  provider.switches.token.accountStates.set(ME, 'disabled');
  expect(said(await poll(late))).toEqual([400, 'invalid_grant', 'User disabled']);
});

const OFF = 'Client is not allowed to initiate OAuth 2.0 Device Authorization Grant';
test.each<[string, object, Record<string, string>, number, string, RegExp]>([
  ['the flow is off', { deviceAllowed: false }, {}, 400, 'unauthorized_client', RegExp(`^${OFF}`)],
  ['no PKCE', {}, { code_challenge_method: 'plain' }, 400, 'invalid_request', /code challenge method/],
  ['another client', {}, { client_id: 'other' }, 401, 'invalid_client', /^Invalid client/],
  ['a realm switched off', { realmEnabled: false }, {}, 403, 'access_denied', /^Realm not enabled$/],
])('no code: %s', async (_, switched, changes, status, error, words) => {
  Object.assign(provider.switches.token, switched);
  expect(said(await start(changes))).toEqual([status, error, expect.stringMatching(words)]);
});

test('the metadata name the endpoints, whether the client may use them or not', async () => {
  const { token } = provider.switches;
  token.deviceAllowed = false;
  const metadata = async () => (await visit(`${provider.urls.issuer}/.well-known/openid-configuration`)).body;
  const endpoint = `${provider.urls.issuer}/protocol/openid-connect`;
  expect(await metadata()).toMatchObject({
    device_authorization_endpoint: `${endpoint}/auth/device`,
    revocation_endpoint: `${endpoint}/revoke`,
  });
  token.deviceAdvertised = false;
  expect(await metadata()).not.toHaveProperty('device_authorization_endpoint');
});

test.each<[string, string, (token: string) => Record<string, string>, number, unknown[]]>([
  ['revocation', '/revoke', (token) => ({ token }), 200, [200, 'invalid_token', 'Invalid token']],
  [
    'logout',
    '/logout',
    (refresh_token) => ({ refresh_token }),
    204,
    [400, 'invalid_grant', 'Invalid refresh token'],
  ],
])('%s ends the session of the token and no other', async (_, path, form, status, nonsense) => {
  const [seen, other] = [await login(provider, { scope: OFFLINE }), await login(provider)];
  const ended = await postForm(provider, path, {
    ...SELF,
    ...form(String(look(seen.body, 'refresh_token'))),
  });
  expect([ended.status, ended.text]).toEqual([status, '']);
  expect(said(await refresh(provider, seen))).toEqual([
    400,
    'invalid_grant',
    'Offline user session not found',
  ]);
  expect((await refresh(provider, other)).status).toBe(200);
  expect((await postForm(provider, path, { client_id: 'other', ...form('x') })).status).toBe(401);
  expect(said(await postForm(provider, path, { ...SELF, ...form('not.a.token') }))).toEqual(nonsense);
  expect(said(await postForm(provider, path, SELF)).slice(0, 2)).toEqual([400, 'invalid_request']);
  expect(provider.counters.revocations).toBe(1);
  expect(JSON.stringify(provider.requests)).not.toContain(look(seen.body, 'refresh_token'));
});

test('offline access is refused as a scope, or to the user in each of the grants', async () => {
  const { token } = provider.switches;
  token.offlineAccess = 'scope_refused';
  expect(said(await login(provider, { scope: OFFLINE }))).toEqual([
    400,
    'invalid_scope',
    `Invalid scopes: ${OFFLINE}`,
  ]);
  expect((await login(provider)).status).toBe(200);
  token.offlineAccess = 'user_may_not';
  const landed = await new Browser().signIn(authorizationUrl(provider, { scope: OFFLINE }));
  const code = landed.location?.searchParams.get('code') ?? '';
  const started = await start();
  provider.device.approve(userCodeOf(started), ME);
  const exchange = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
  };
  for (const seen of [
    await login(provider, { scope: OFFLINE }),
    await tokenRequest(provider, { ...SELF, ...exchange }),
    await poll(started),
  ])
    expect(said(seen)).toEqual([400, 'not_allowed', 'Offline tokens not allowed for the user or client']);
  expect((await login(provider)).status).toBe(200);
});
