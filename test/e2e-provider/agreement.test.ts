// The simulator answers the password and refresh grants as the real Keycloak does, in every situation.
import { test } from 'vitest';
import type { Simulator } from '../../src/simulator/provider.ts';
import {
  asItIs,
  expectSame,
  type Form,
  NO_CLIENT,
  NOT_ACTIVE,
  NOT_SET_UP,
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
import { ME } from './realm.ts';

const state = (is: 'disabled' | 'not_fully_set_up') => (simulator: Simulator) =>
  simulator.switches.token.accountStates.set(ME.username, is);

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
  ['the right password', asItIs, {}, OK],
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
  const { askBoth, realm } = await openBoth();
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    expectSame(await askBoth({ ...PASSWORD, password: 'no' }), WRONG);
    await realm.untilCounted(attempt);
  }
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
  ['direct access grants off', DIRECT_GRANTS_OFF, OK, 'good'],
  [
    'a session ended by an administrator',
    {
      async at({ admin, at, sessions }) {
        for (const { id } of await sessions()) await admin.ask('DELETE', `${at}/sessions/${id}`);
      },
      simulated: (simulator) => simulator.endSessions(),
    },
    NOT_ACTIVE,
    NOT_ACTIVE,
  ],
  [
    'everybody signed out by an administrator',
    {
      at: ({ admin, at }) => nextSecond().then(() => admin.ask('POST', `${at}/logout-all`)),
      simulated: token({ notBefore: Math.floor(Date.now() / 1000) + 1_000 }),
    },
    STALE,
    STALE,
  ],
  [
    'tokens of before now declared stale',
    {
      at: ({ set }) => set({ notBefore: Math.floor(Date.now() / 1000) + 1 }),
      simulated: token({ notBefore: Math.floor(Date.now() / 1000) + 1_000 }),
    },
    STALE,
    STALE,
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
    OK,
    'good',
  ],
  [
    'a changed password',
    {
      at: ({ setPassword }) => setPassword('another one'),
      simulated: (simulator) => simulator.changePassword(ME.username, 'another one'),
    },
    OK,
    'good',
  ],
  [
    'a required action',
    {
      at: ({ setUser }) => setUser({ requiredActions: ['UPDATE_PASSWORD'] }),
      simulated: state('not_fully_set_up'),
    },
    OK,
    'good',
  ],
])('refresh: %s', async (_, situation, expected, afterwards) => {
  const { arrange, askBoth, refreshBoth } = await openBoth();
  const before = await askBoth(PASSWORD);
  const tokens = refreshTokens(before);
  await arrange(situation);
  const answers = await refreshBoth(tokens);
  expectSame(answers, expected);
  await arrange(ALL_WELL);
  const next = answers.map(({ body }, at) => String(body.refresh_token ?? tokens[at]));
  expectSame(await refreshBoth(next), afterwards === 'good' ? OK : afterwards);
});

test('refresh: a token used twice ends the session for its successor too', async () => {
  const { askBoth, refreshBoth } = await openBoth();
  const first = refreshTokens(await askBoth(PASSWORD));
  const second = refreshTokens(await refreshBoth(first));
  expectSame(await refreshBoth(first), [
    400,
    'invalid_grant',
    'Maximum allowed refresh token reuse exceeded',
  ]);
  expectSame(await refreshBoth(second), [400, 'invalid_grant', "Session doesn't have required client"]);
});
