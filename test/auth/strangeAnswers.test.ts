// Answers of issuers that write JSON in ways of their own: what can be used is used, by every grant.
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
      oneTimeCode: null,
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
