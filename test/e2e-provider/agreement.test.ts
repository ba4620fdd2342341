// The simulator answers as the real Keycloak does: the same request in the same situation, status and words compared.
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { home } from '../support/homes.ts';
import { ME, MY_CODE, openRealm, type Realm, tokenRequest } from './realm.ts';

type Form = Record<string, string>;

interface Situation {
  readonly at: (realm: Realm) => Promise<unknown>;
  readonly simulated: (simulator: Simulator) => unknown;
}

async function openBoth() {
  const realm = await openRealm();
  const person = { ...ME, customerCode: MY_CODE, groups: [{ properties: [home()] }] };
  const simulator = await startSimulator({ clock: systemClock, accounts: [person] });
  onTestFinished(() => simulator.stop());
  // Since Keycloak 26.6.
  simulator.switches.token.wrongPasswordStatus = 400;
  simulator.switches.token.lockAfterWrongPasswords = 3;
  const both = [realm.issuer, simulator.urls.issuer] as const;
  return {
    arrange: async ({ at, simulated }: Situation) => {
      await at(realm);
      await simulated(simulator);
    },
    askBoth: (form: Form) => Promise.all(both.map((issuer) => tokenRequest(issuer, form))),
    /** Each is asked with the refresh token that it gave. */
    refreshBoth: (tokens: readonly string[]) =>
      Promise.all(
        both.map((issuer, at) =>
          tokenRequest(issuer, { grant_type: 'refresh_token', refresh_token: tokens[at] ?? '' }),
        ),
      ),
  };
}

type Answers = Awaited<ReturnType<typeof tokenRequest>>[];

const PASSWORD = { grant_type: 'password', ...ME, scope: 'openid service-energy' };
const inShort = (answers: Answers) =>
  answers.map(({ status, body }) => [status, body.error, body.error_description]);

function expectSame(answers: Answers, expected: readonly unknown[]): void {
  const [real, simulated] = inShort(answers);
  expect(real).toEqual(expected);
  expect(simulated).toEqual(real);
}

const asItIs = { at: async () => undefined, simulated: () => undefined };
const state = (is: 'disabled' | 'not_fully_set_up') => (simulator: Simulator) =>
  simulator.switches.token.accountStates.set(ME.username, is);
const token =
  (fields: Partial<Simulator['switches']['token']>) =>
  ({ switches }: Simulator) =>
    Object.assign(switches.token, fields);

const WRONG = [400, 'invalid_grant', 'Invalid user credentials'];
const NOT_SET_UP = [400, 'invalid_grant', 'Account is not fully set up'];
const NO_CLIENT = [401, 'invalid_client', 'Invalid client or Invalid client credentials'];

const DIRECT_GRANTS_OFF: Situation = {
  at: ({ setClient }) => setClient({ directAccessGrantsEnabled: false }),
  simulated: token({ passwordGrantAllowed: false }),
};
const CLIENT_DISABLED: Situation = {
  at: ({ setClient }) => setClient({ enabled: false }),
  simulated: token({ clientEnabled: false }),
};
const REALM_DISABLED: Situation = {
  at: ({ set }) => set({ enabled: false }),
  simulated: token({ realmEnabled: false }),
};
const USER_DISABLED: Situation = {
  at: ({ setUser }) => setUser({ enabled: false }),
  simulated: state('disabled'),
};
const ALL_WELL: Situation = {
  async at({ set, setClient, setUser }) {
    await set({ enabled: true, sslRequired: 'none' });
    await setClient({ enabled: true, directAccessGrantsEnabled: true });
    await setUser({ enabled: true });
  },
  simulated(simulator) {
    token({ passwordGrantAllowed: true, clientEnabled: true, realmEnabled: true })(simulator);
    simulator.switches.token.tlsRequired = false;
    simulator.switches.token.accountStates.clear();
  },
};

test.each<[string, Situation, Form, readonly unknown[]]>([
  ['the right password', asItIs, {}, [200, undefined, undefined]],
  ['a wrong password', asItIs, { password: 'no' }, WRONG],
  ['an unknown user', asItIs, { username: 'nobody@example.org' }, WRONG],
  ['an unknown client', asItIs, { client_id: 'unknown' }, NO_CLIENT],
  [
    'an unknown scope',
    asItIs,
    { scope: 'openid service-mistyped' },
    [400, 'invalid_scope', 'Invalid scopes: openid service-mistyped'],
  ],
  [
    'an unknown scope and a wrong password',
    asItIs,
    { scope: 'openid service-mistyped', password: 'no' },
    [400, 'invalid_scope', 'Invalid scopes: openid service-mistyped'],
  ],
  [
    'another grant',
    asItIs,
    { grant_type: 'bread' },
    [400, 'unsupported_grant_type', 'Unsupported grant_type'],
  ],
  ['a disabled user', USER_DISABLED, {}, [400, 'invalid_grant', 'Account disabled']],
  ['a disabled user and a wrong password', USER_DISABLED, { password: 'no' }, WRONG],
  ['a disabled client', CLIENT_DISABLED, {}, NO_CLIENT],
  ['a disabled realm', REALM_DISABLED, {}, [403, 'access_denied', 'Realm not enabled']],
  [
    'a realm that demands TLS',
    { at: ({ set }) => set({ sslRequired: 'all' }), simulated: token({ tlsRequired: true }) },
    {},
    [403, 'invalid_request', 'HTTPS required'],
  ],
  [
    'direct access grants off',
    DIRECT_GRANTS_OFF,
    {},
    [400, 'unauthorized_client', 'Client not allowed for direct access grants'],
  ],
  ...['UPDATE_PASSWORD', 'CONFIGURE_TOTP', 'VERIFY_EMAIL', 'UPDATE_PROFILE', 'TERMS_AND_CONDITIONS'].map(
    (action): [string, Situation, Form, readonly unknown[]] => [
      `required action ${action}`,
      {
        at: ({ setUser, allow }) => allow(action).then(() => setUser({ requiredActions: [action] })),
        simulated: state('not_fully_set_up'),
      },
      {},
      NOT_SET_UP,
    ],
  ),
  [
    'a required action and a wrong password',
    {
      at: ({ setUser }) => setUser({ requiredActions: ['UPDATE_PASSWORD'] }),
      simulated: state('not_fully_set_up'),
    },
    { password: 'no' },
    WRONG,
  ],
])('password grant: %s', async (_, situation, form, expected) => {
  const { arrange, askBoth } = await openBoth();
  await arrange(situation);
  expectSame(await askBoth({ ...PASSWORD, ...form }), expected);
});

test('password grant: after three wrong passwords the right one is refused in the same words', async () => {
  const { askBoth } = await openBoth();
  for (let attempt = 0; attempt < 3; attempt += 1)
    expectSame(await askBoth({ ...PASSWORD, password: 'no' }), WRONG);
  expectSame(await askBoth(PASSWORD), WRONG);
});

test.each<[string, Situation, readonly unknown[], 'good' | readonly unknown[]]>([
  ['a disabled client', CLIENT_DISABLED, NO_CLIENT, 'good'],
  ['a disabled realm', REALM_DISABLED, [403, 'access_denied', 'Realm not enabled'], 'good'],
  [
    'a realm that demands TLS',
    { at: ({ set }) => set({ sslRequired: 'all' }), simulated: token({ tlsRequired: true }) },
    [403, 'invalid_request', 'HTTPS required'],
    'good',
  ],
  ['a disabled user', USER_DISABLED, [400, 'invalid_grant', 'User disabled'], 'good'],
  ['direct access grants off', DIRECT_GRANTS_OFF, [200, undefined, undefined], 'good'],
  [
    'a session ended by an administrator',
    {
      at: ({ admin, at }) => admin.ask('POST', `${at}/logout-all`),
      simulated: (simulator) => simulator.endSessions(),
    },
    [400, 'invalid_grant', 'Session not active'],
    [400, 'invalid_grant', 'Session not active'],
  ],
  [
    'tokens of before now declared stale',
    {
      at: ({ set }) => set({ notBefore: Math.floor(Date.now() / 1000) + 1 }),
      simulated: token({ notBefore: Math.floor(Date.now() / 1000) + 1_000 }),
    },
    [400, 'invalid_grant', 'Stale token'],
    [400, 'invalid_grant', 'Stale token'],
  ],
  [
    'keys replaced at once',
    { at: ({ renewKeys }) => renewKeys({ keepOld: false }), simulated: token({ keyId: 'another' }) },
    [400, 'invalid_grant', 'Invalid refresh token'],
    [400, 'invalid_grant', 'Invalid refresh token'],
  ],
  [
    'keys rotated',
    { at: ({ renewKeys }) => renewKeys({ keepOld: true }), simulated: () => undefined },
    [200, undefined, undefined],
    'good',
  ],
  [
    'a changed password',
    {
      at: ({ setPassword }) => setPassword('another one'),
      simulated: (simulator) => simulator.changePassword(ME.username, 'another one'),
    },
    [200, undefined, undefined],
    'good',
  ],
  [
    'a required action',
    {
      at: ({ setUser }) => setUser({ requiredActions: ['UPDATE_PASSWORD'] }),
      simulated: state('not_fully_set_up'),
    },
    [200, undefined, undefined],
    'good',
  ],
])('refresh: %s', async (_, situation, expected, afterwards) => {
  const { arrange, askBoth, refreshBoth } = await openBoth();
  const before = await askBoth(PASSWORD);
  const tokens = before.map(({ body }) => String(body.refresh_token));
  await arrange(situation);
  const answers = await refreshBoth(tokens);
  expectSame(answers, expected);
  await arrange(ALL_WELL);
  const next = answers.map(({ body }, at) => String(body.refresh_token ?? tokens[at]));
  expectSame(await refreshBoth(next), afterwards === 'good' ? [200, undefined, undefined] : afterwards);
});

test('refresh: a token used twice ends the session for its successor too', async () => {
  const { askBoth, refreshBoth } = await openBoth();
  const first = (await askBoth(PASSWORD)).map(({ body }) => String(body.refresh_token));
  const second = (await refreshBoth(first)).map(({ body }) => String(body.refresh_token));
  expectSame(await refreshBoth(first), [
    400,
    'invalid_grant',
    'Maximum allowed refresh token reuse exceeded',
  ]);
  expectSame(await refreshBoth(second), [400, 'invalid_grant', "Session doesn't have required client"]);
});
