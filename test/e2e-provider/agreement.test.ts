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
const TLS_DEMANDED: Situation = {
  at: ({ set }) => set({ sslRequired: 'all' }),
  simulated: token({ tlsRequired: true }),
};
const USER_DISABLED: Situation = {
  at: ({ setUser }) => setUser({ enabled: false }),
  simulated: state('disabled'),
};
const actionRequired = (action: string): Situation => ({
  at: ({ setUser, allow }) => allow(action).then(() => setUser({ requiredActions: [action] })),
  simulated: state('not_fully_set_up'),
});
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
const SESSIONS_LIMITED: Situation = {
  // One is there: the next is one too many.
  at: async ({ limitSessions, grant }) => {
    await limitSessions(1);
    await grant(PASSWORD);
  },
  simulated: token({ mostSessions: 0 }),
};
const NOBODY = { username: 'nobody@example.org' };
const MISTYPED = { scope: 'openid service-mistyped' };
const NO_SCOPE = [400, 'invalid_scope', 'Invalid scopes: openid service-mistyped'];
const NO_GRANT = [400, 'unsupported_grant_type', 'Unsupported grant_type'];
const NO_USER = [400, 'invalid_grant', 'Account disabled'];
const NO_REALM = [403, 'access_denied', 'Realm not enabled'];
const ONE_TOO_MANY = [403, 'There are too many sessions', undefined];
const NO_TLS = [403, 'invalid_request', 'HTTPS required'];
const NO_DIRECT_GRANTS = [400, 'unauthorized_client', 'Client not allowed for direct access grants'];
const NO_TOKEN = [400, 'invalid_grant', 'Invalid refresh token'];

test.each<[string, Situation, Form, readonly unknown[]]>([
  ['the right password', asItIs, {}, OK],
  ['a wrong password', asItIs, { password: 'no' }, WRONG],
  ['an unknown user', asItIs, NOBODY, WRONG],
  ['an unknown client', asItIs, { client_id: 'unknown' }, NO_CLIENT],
  ['an unknown scope and a wrong password', asItIs, { ...MISTYPED, password: 'no' }, NO_SCOPE],
  ['another grant', asItIs, { grant_type: 'bread' }, NO_GRANT],
  ['a limit of sessions', SESSIONS_LIMITED, {}, ONE_TOO_MANY],
  ['a limit of sessions and a wrong password', SESSIONS_LIMITED, { password: 'no' }, WRONG],
  ['a disabled user', USER_DISABLED, {}, NO_USER],
  ['a disabled user and a wrong password', USER_DISABLED, { password: 'no' }, WRONG],
  ['a disabled client', CLIENT_DISABLED, {}, NO_CLIENT],
  ['a disabled realm', REALM_DISABLED, {}, NO_REALM],
  ['a realm that demands TLS', TLS_DEMANDED, {}, NO_TLS],
  ['direct access grants off', DIRECT_GRANTS_OFF, {}, NO_DIRECT_GRANTS],
  ['a new password', actionRequired('UPDATE_PASSWORD'), {}, NOT_SET_UP],
  ['a second factor to be set up', actionRequired('CONFIGURE_TOTP'), {}, NOT_SET_UP],
  ['terms to be accepted', actionRequired('TERMS_AND_CONDITIONS'), {}, NOT_SET_UP],
  ['a new password, and a wrong one', actionRequired('UPDATE_PASSWORD'), { password: 'no' }, WRONG],
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
  ['a disabled realm', REALM_DISABLED, NO_REALM, 'good'],
  ['a realm that demands TLS', TLS_DEMANDED, NO_TLS, 'good'],
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
      simulated: token({ notBefore: Math.floor(Date.now() / 1000) + 86_400 }),
    },
    STALE,
    STALE,
  ],
  [
    'keys replaced at once',
    { at: ({ renewKeys }) => renewKeys({ keepOld: false }), simulated: token({ keyId: 'another' }) },
    NO_TOKEN,
    NO_TOKEN,
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
  ['a required action', actionRequired('UPDATE_PASSWORD'), OK, 'good'],
  ['a locked user', { at: ({ lock }) => lock(), simulated: () => undefined }, OK, 'good'],
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
