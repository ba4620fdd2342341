// Answers of issuers that write them in ways of their own: what can be used is used, and what refuses is a refusal.
import { beforeEach, describe, expect, test } from 'vitest';
import { signInByForm } from '../../src/auth/form.ts';
import { createHttpClient } from '../../src/http/client.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import { type Account, DISCOVERY_PATH, openAccount, refusalOf, TOKEN_PATH } from './account.ts';

let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

const USERNAME = 'me@example.org';
const PASSWORD = 'demo';
const TOKEN_ENDPOINT = `${TOKEN_PATH}/openid-connect/token`;
const changed = (over: Record<string, unknown>): Fault => ({
  kind: 'change',
  change: (body) => ({ ...Object(body), ...over }),
});

/** One grant each, of which only the last request gets the answer. */
const GRANTS = {
  password: async (fault: Fault) => {
    account.simulator.switches.fault(TOKEN_ENDPOINT, fault);
    return account.issuer().login(USERNAME, PASSWORD);
  },
  refresh: async (fault: Fault) => {
    const issuer = account.issuer();
    const { refreshToken } = await issuer.login(USERNAME, PASSWORD);
    account.simulator.switches.fault(TOKEN_ENDPOINT, fault);
    return issuer.refresh(refreshToken ?? '');
  },
  code: async (fault: Fault) => {
    const { clock, simulator } = account;
    const [redirectUri = ''] = simulator.switches.token.redirectUris;
    const flow = await account.issuer().beginCodeFlow(redirectUri, 'service-energy');
    simulator.switches.fault(TOKEN_ENDPOINT, fault);
    const callback = await signInByForm({
      authorizationUrl: flow.url,
      redirectUri,
      username: USERNAME,
      password: PASSWORD,
      code: null,
      mayConsent: false,
      send: createHttpClient(clock).send,
      timeoutSeconds: 30,
      clock,
    });
    return flow.finish(callback);
  },
  device: async (fault: Fault) => {
    const flow = await account.issuer().beginDevice();
    account.simulator.device.approve(flow.userCode, USERNAME);
    account.simulator.switches.fault(TOKEN_ENDPOINT, fault);
    const granted = flow.wait(new AbortController().signal);
    await account.pass(5000);
    return granted;
  },
};

const STRANGE: readonly Record<string, unknown>[] = [
  { refresh_token: null },
  { refresh_token: '' },
  { id_token: null },
  { id_token: '' },
  { scope: ['openid', 'service-energy'] },
  { scope: null },
  { scope: { granted: 'openid' } },
  { scope: '' },
  { token_type: undefined },
  { token_type: null },
  { token_type: '' },
  { token_type: 'bearer' },
  { token_type: 'BEARER' },
  { expires_in: null },
  { expires_in: '' },
  { refresh_expires_in: null },
  { refresh_expires_in: 0 },
  { 'not-before-policy': null },
  { 'not-before-policy': 1_600_000_000 },
  { session_state: null },
  { error: null },
  { error: '', error_description: '' },
  { access_token_expires_at: [null] },
];

describe.each(Object.entries(GRANTS))('a grant by %s', (_, grant) => {
  test.each(STRANGE.map((over) => [over]))('is used when its answer has %j', async (over) => {
    const granted = await grant(changed(over));
    expect(granted.accessToken).toMatch(/^eyJ/);
    if ('refresh_token' in over) expect(granted.refreshToken).toBeNull();
    else expect(granted.refreshToken).toMatch(/^eyJ/);
  });
});

test.each([[null], ['']])(
  'offers no device sign-in and no revocation when the metadata has %j for their addresses',
  async (none) => {
    const { switches } = account.simulator;
    const over = { device_authorization_endpoint: none, revocation_endpoint: none, scopes_supported: none };
    switches.fault(DISCOVERY_PATH, changed(over));
    const issuer = account.issuer();
    expect(await issuer.offersDevice()).toBe(false);
    expect(await refusalOf(issuer.beginDevice())).toMatchObject({ code: 'method_unusable' });
    expect(await refusalOf(issuer.endSession('any'))).toMatchObject({ code: 'no_revocation' });
    await issuer.login(USERNAME, PASSWORD);
  },
);

test.each([[null], ['']])('begins a device sign-in when the address with the code is %j', async (none) => {
  const fault = changed({ verification_uri_complete: none, interval: none });
  account.simulator.switches.fault(`${TOKEN_PATH}/openid-connect/auth/device`, fault);
  expect(await account.issuer().beginDevice()).toMatchObject({ completeUri: null });
});

const REFUSAL = { error: 'invalid_grant' };
const typed = (type: string) => ({ 'content-type': type });
const HTML = typed('text/html;charset=utf-8');

test.each<[string, Omit<Extract<Fault, { kind: 'reply' }>, 'kind'>]>([
  ['as HTML', { status: 401, body: REFUSAL, headers: HTML }],
  ['as text', { status: 400, body: REFUSAL, headers: typed('text/plain') }],
  ['as JSON in capitals', { status: 400, body: REFUSAL, headers: typed('Application/JSON') }],
  ['with a status of success', { status: 200, body: REFUSAL }],
  ['with a status of success, as HTML', { status: 200, body: REFUSAL, headers: HTML }],
  ['with a description that is a number', { status: 400, body: { ...REFUSAL, error_description: 5 } }],
  ['with a description that is a list', { status: 401, body: { ...REFUSAL, error_description: ['no'] } }],
])('counts a refused password, and takes a session for ended, when that is said %s', async (_, answer) => {
  account.simulator.switches.fault(TOKEN_ENDPOINT, { kind: 'reply', ...answer });
  const issuer = account.issuer();
  const refused = await refusalOf(issuer.login(USERNAME, PASSWORD));
  expect(refused).toMatchObject({ code: 'bad_credentials_or_locked', about: 'password' });
  expect(await refusalOf(issuer.refresh('any'))).toMatchObject({ code: 'session_ended' });
});

test.each([
  [201, 'application/json'],
  [203, 'application/json'],
  [200, 'text/html'],
  [201, 'text/plain'],
])('uses tokens when they come with HTTP %d as %s', async (status, type) => {
  const body = { access_token: 'opaque', token_type: 'Bearer', refresh_token: 'next' };
  const answer: Fault = { kind: 'reply', status, body, headers: typed(type) };
  account.simulator.switches.fault(TOKEN_ENDPOINT, answer);
  const granted = { accessToken: 'opaque', refreshToken: 'next' };
  expect(await account.issuer().login(USERNAME, PASSWORD)).toMatchObject(granted);
  expect(await account.issuer().refresh('any')).toMatchObject(granted);
});

test('waits on for a sign-in on another device when "not yet" comes with a status of success', async () => {
  const flow = await account.issuer().beginDevice();
  const body = { error: 'authorization_pending' };
  account.simulator.switches.fault(TOKEN_ENDPOINT, { kind: 'reply', status: 200, body }, { times: 1 });
  account.simulator.device.approve(flow.userCode, USERNAME);
  const granted = flow.wait(new AbortController().signal);
  await account.pass(10_000);
  expect(await granted).toMatchObject({ expiresInSeconds: 1800 });
});

test('has ended a session when the issuer says so with HTTP 204 and nothing', async () => {
  const answer: Fault = { kind: 'reply', status: 204, body: '' };
  account.simulator.switches.fault(`${TOKEN_PATH}/openid-connect/revoke`, answer);
  await expect(account.issuer().endSession('any')).resolves.toBeUndefined();
});

test('has ended a session when the issuer does not know it any more', async () => {
  await expect(account.issuer().endSession('ended long ago')).resolves.toBeUndefined();
});
