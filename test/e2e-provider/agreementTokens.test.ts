// The simulator answers as the real Keycloak does about one-time codes, sessions without an end, and sessions that a client ends.
import { expect, test } from 'vitest';
import {
  expectSame,
  NO_CLIENT,
  NOT_ACTIVE,
  nextSecond,
  OK,
  openBoth,
  PASSWORD,
  refreshTokens,
  type Situation,
  STALE,
  token,
  WRONG,
} from './both.ts';
import { oneTimeCode } from './person.ts';
import { CLIENT, ME, otpCredential, passwordCredential } from './realm.ts';

const OFFLINE = { ...PASSWORD, scope: 'openid service-energy offline_access' };

const NOT_A_SCOPE_OF_THE_CLIENT: Situation = {
  async at({ admin, at, client }) {
    const all = await admin.ask<{ id: string; name: string }[]>('GET', `${at}/client-scopes`);
    const scope = all.find(({ name }) => name === 'offline_access')?.id;
    await admin.ask('DELETE', `${await client(CLIENT)}/optional-client-scopes/${scope}`);
  },
  simulated: token({ offlineAccess: 'scope_refused' }),
};
const NOT_A_ROLE_OF_THE_USER: Situation = {
  async at({ admin, at, name }) {
    const role = await admin.ask('GET', `${at}/roles/offline_access`);
    await admin.ask('DELETE', `${at}/roles/default-roles-${name}/composites`, [role]);
  },
  simulated: token({ offlineAccess: 'user_may_not' }),
};

test('offline_access: no end is announced, and a sign-out by an administrator makes it stale', async () => {
  const { arrange, askBoth, realm, refreshBoth } = await openBoth();
  const answers = await askBoth(OFFLINE);
  expectSame(answers, OK);
  expect(answers.map(({ body }) => body.refresh_expires_in)).toEqual([0, 0]);
  const refreshed = await refreshBoth(refreshTokens(answers));
  expectSame(refreshed, OK);
  expect(await realm.sessions()).toEqual([]);
  await nextSecond();
  await arrange({
    at: async ({ admin, user }) => admin.ask('POST', `${await user(ME.username)}/logout`),
    simulated: token({ notBefore: Math.floor(Date.now() / 1000) + 1_000 }),
  });
  expectSame(await refreshBoth(refreshTokens(refreshed)), STALE);
});

test.each<[string, Situation, object, readonly unknown[]]>([
  [
    'a client that may not',
    NOT_A_SCOPE_OF_THE_CLIENT,
    {},
    [400, 'invalid_scope', 'Invalid scopes: openid service-energy offline_access'],
  ],
  [
    'a client that may not, and a wrong password',
    NOT_A_SCOPE_OF_THE_CLIENT,
    { password: 'no' },
    [400, 'invalid_scope', 'Invalid scopes: openid service-energy offline_access'],
  ],
  [
    'a user who may not',
    NOT_A_ROLE_OF_THE_USER,
    {},
    [400, 'not_allowed', 'Offline tokens not allowed for the user or client'],
  ],
  ['a user who may not, and a wrong password', NOT_A_ROLE_OF_THE_USER, { password: 'no' }, WRONG],
])('offline_access: %s', async (_, situation, changes, expected) => {
  const { arrange, askBoth, realm } = await openBoth();
  await arrange(situation);
  expectSame(await askBoth({ ...OFFLINE, ...changes }), expected);
  if ('password' in changes && expected === WRONG) await realm.untilCounted(1);
  else expect(await realm.failuresCounted()).toBe(0);
});

test('one-time code: without it and with a wrong one in the same words; the right one serves once', async () => {
  const credentials = [passwordCredential(ME.password), otpCredential()];
  const { arrange, askBoth } = await openBoth({ user: { credentials } });
  await arrange({
    at: async () => undefined,
    simulated: token({ oneTimeCodes: new Map([[ME.username, () => oneTimeCode()]]) }),
  });
  expectSame(await askBoth(PASSWORD), WRONG);
  const totp = oneTimeCode();
  expectSame(await askBoth({ ...PASSWORD, totp: totp === '000000' ? '000001' : '000000' }), WRONG);
  expectSame(await askBoth({ ...PASSWORD, totp }), OK);
  expectSame(await askBoth({ ...PASSWORD, totp }), WRONG);
});

test('revocation ends the session; once more is no error', async () => {
  const { askBoth, postBoth, refreshBoth, realm } = await openBoth();
  const tokens = refreshTokens(await askBoth(PASSWORD));
  const end = () => postBoth('/revoke', (at) => ({ token: tokens[at] ?? '' }));
  expectSame(await end(), OK);
  expectSame(await refreshBoth(tokens), NOT_ACTIVE);
  expect(await realm.sessions()).toEqual([]);
  const [real, simulated] = await end();
  expect(simulated).toEqual(real);
});

test('revocation of a session without an end', async () => {
  const { askBoth, postBoth, refreshBoth } = await openBoth();
  const tokens = refreshTokens(await askBoth(OFFLINE));
  expectSame(await postBoth('/revoke', (at) => ({ token: tokens[at] ?? '' })), OK);
  const [real, simulated] = await refreshBoth(tokens);
  expect(real).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect(simulated).toEqual(real);
});

test('revocation by an unknown client, and of a token that is none', async () => {
  const { postBoth } = await openBoth();
  expectSame(await postBoth('/revoke', () => ({ client_id: 'unknown', token: 'x' })), NO_CLIENT);
  const [real, simulated] = await postBoth('/revoke', () => ({ token: 'x' }));
  expect(simulated).toEqual(real);
});
