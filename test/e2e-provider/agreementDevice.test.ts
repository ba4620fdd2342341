// The simulator answers the device grant as the real Keycloak does.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { VERIFIER } from '../simulator/browser.ts';
import { expectSame, OK, openBoth, token } from './both.ts';
import { signIn } from './person.ts';
import { type Answer, ME } from './realm.ts';

const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
const CHALLENGE = {
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
};
const ON = 'oauth2.device.authorization.grant.enabled';

async function openDevices(attributes: Record<string, string> = { [ON]: 'true' }) {
  const both = await openBoth({ client: { attributes } });
  const start = (form: Record<string, string> = CHALLENGE) =>
    both.postBoth('/auth/device', () => ({ scope: 'openid service-energy', ...form }));
  const poll = (begun: readonly Answer[], form: Record<string, string> = { code_verifier: VERIFIER }) =>
    both.postBoth('/token', (at) => ({
      grant_type,
      device_code: String(begun[at]?.body.device_code),
      ...form,
    }));
  const answer = async ([real, simulated]: readonly Answer[], button: 'accept' | 'cancel') => {
    await signIn(String(real?.body.verification_uri_complete), button);
    const userCode = String(simulated?.body.user_code);
    if (button === 'accept') both.simulator.device.approve(userCode, ME.username);
    else both.simulator.device.deny(userCode);
  };
  return { ...both, start, poll, answer };
}

test('codes of the same kind, and patience until a person agrees', async () => {
  const { start, poll, answer } = await openDevices();
  const begun = await start();
  expectSame(begun, OK);
  const [real, simulated] = begun.map(({ body }) => body);
  expect(Object.keys(simulated ?? {}).sort()).toEqual(Object.keys(real ?? {}).sort());
  expect([real?.expires_in, real?.interval]).toEqual([simulated?.expires_in, simulated?.interval]);
  expect(real?.user_code).toMatch(/^[A-Z]{4}-[A-Z]{4}$/);
  expect(simulated?.user_code).toMatch(/^[A-Z]{4}-[A-Z]{4}$/);
  expectSame(await poll(begun), [400, 'authorization_pending', 'The authorization request is still pending']);
  expectSame(await poll(begun), [400, 'slow_down', 'Slow down']);

  const second = await start();
  await answer(second, 'accept');
  expectSame(await poll(second), OK);

  const third = await start();
  await answer(third, 'cancel');
  expectSame(await poll(third), [400, 'access_denied', 'The end user denied the authorization request']);
});

test('a wrong verifier, a code that nobody has given', async () => {
  const { start, poll, answer } = await openDevices();
  const begun = await start();
  await answer(begun, 'accept');
  const wrong = VERIFIER.replace('invented', 'mistaken');
  const [real, simulated] = await poll(begun, { code_verifier: wrong });
  expect(real).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect(simulated).toEqual(real);
  const [unknown, likewise] = await poll([], {});
  expect(unknown).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect(likewise).toEqual(unknown);
});

test('a client that may not', async () => {
  const { start, simulator } = await openDevices({});
  token({ deviceAllowed: false })(simulator);
  const [real, simulated] = await start();
  expect(real).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } });
  expect(simulated).toEqual(real);
});

test('PKCE that is demanded is demanded here too', async () => {
  const { start, simulator } = await openDevices({ [ON]: 'true', 'pkce.code.challenge.method': 'S256' });
  token({ pkceRequired: true })(simulator);
  const [real, simulated] = await start({});
  expect(real).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect(simulated).toEqual(real);
  expectSame(await start(), OK);
});
