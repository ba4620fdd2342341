// The sign-in on the login page against the simulated issuer, which judges it: cookies, execution, PKCE and state.
import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { signInByForm } from '../../src/auth/form.ts';
import { Failure } from '../../src/foundation/failure.ts';
import { HttpClient } from '../../src/http/client.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import type { Switches } from '../../src/simulator/switches.ts';
import { handClock } from '../support/clock.ts';

const USER = 'me@example.org';
const REDIRECT_URI = 'https://portal.example.org/signed-in';
const VERIFIER = 'v'.repeat(43);

type Token = Switches['token'];
interface Given {
  readonly password?: string;
  readonly mayConsent?: boolean;
}
/** Name, what is switched, how it ends, how often the password was posted, and what is not as usual. */
type Row = readonly [string, (token: Token) => unknown, string, number, Given?];

const ROWS: readonly Row[] = [
  ['a good day', () => undefined, 'code', 1],
  ['a code in the fragment', (token) => Object.assign(token, { codeInFragment: true }), 'code', 1],
  ['the user name first', (token) => Object.assign(token, { identityFirst: true }), 'code', 1],
  ['a relative action', (token) => Object.assign(token, { loginPage: 'relative_action' }), 'code', 1],
  ['another theme', (token) => Object.assign(token, { loginPage: 'other_theme' }), 'code', 1],
  ['a one-time code', (token) => token.oneTimeCodes.set(USER, '123456'), 'code', 1],
  ['another one-time code', (token) => token.oneTimeCodes.set(USER, '654321'), 'second_factor_refused', 1],
  ['a wrong password', () => undefined, 'bad_credentials_or_locked', 1, { password: 'wrong' }],
  [
    'a wrong password in another theme',
    (token) => Object.assign(token, { loginPage: 'other_theme' }),
    'bad_credentials_or_locked',
    1,
    { password: 'wrong' },
  ],
  [
    'a wrong password after the user name',
    (token) => Object.assign(token, { identityFirst: true }),
    'bad_credentials_or_locked',
    1,
    { password: 'wrong' },
  ],
  ['a disabled account', (token) => token.accountStates.set(USER, 'disabled'), 'account_disabled', 1],
  [
    'a new password',
    (token) => token.requiredActions.set(USER, ['UPDATE_PASSWORD']),
    'account_not_set_up',
    1,
  ],
  ['a letter', (token) => token.requiredActions.set(USER, ['VERIFY_EMAIL']), 'account_not_set_up', 1],
  ['terms', (token) => token.requiredActions.set(USER, ['TERMS_AND_CONDITIONS']), 'account_not_set_up', 1],
  ['consent', (token) => Object.assign(token, { consentRequired: true }), 'account_not_set_up', 1],
  [
    'consent that may be given',
    (token) => Object.assign(token, { consentRequired: true }),
    'code',
    1,
    { mayConsent: true },
  ],
  [
    'terms where consent may be given',
    (token) => token.requiredActions.set(USER, ['TERMS_AND_CONDITIONS']),
    'account_not_set_up',
    1,
    { mayConsent: true },
  ],
  ['a captcha', (token) => Object.assign(token, { loginPage: 'captcha' }), 'unsupported_step', 0],
  ['a passkey', (token) => Object.assign(token, { loginPage: 'passkey' }), 'unsupported_step', 0],
  [
    'a second passkey',
    (token) => Object.assign(token, { loginPage: 'passkey_second' }),
    'unsupported_step',
    1,
  ],
  [
    'another issuer',
    (token) => Object.assign(token, { loginPage: 'foreign_provider' }),
    'unsupported_step',
    0,
  ],
  [
    'a foreign action',
    (token) => Object.assign(token, { loginPage: 'foreign_action' }),
    'unsupported_step',
    0,
  ],
  ['no code flow', (token) => Object.assign(token, { codeFlowAllowed: false }), 'client_refused', 0],
  ['another redirect address', (token) => Object.assign(token, { redirectUris: [] }), 'client_refused', 0],
  ['a wrong scope', (token) => Object.assign(token, { scopes: ['openid'] }), 'scope_refused', 0],
];

const cases = ROWS.map(([name, change, ending, passwords, given]) => {
  return { name, change, ending, passwords, password: 'demo', mayConsent: false, ...given };
});

test.each(cases)('$name', async ({ change, ending, passwords, password, mayConsent }) => {
  const clock = handClock('2026-03-10T12:00:00Z');
  const simulator = await startSimulator({ clock });
  onTestFinished(() => simulator.stop());
  change(simulator.switches.token);
  const authorizationUrl = new URL(`${simulator.urls.issuer}/protocol/openid-connect/auth`);
  authorizationUrl.search = String(
    new URLSearchParams({
      client_id: 'self-care',
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'openid service-energy',
      state: 's1',
      code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
      code_challenge_method: 'S256',
    }),
  );
  let posted = 0;
  const { send } = new HttpClient(clock);
  const outcome = await signInByForm({
    authorizationUrl,
    redirectUri: REDIRECT_URI,
    username: USER,
    password,
    oneTimeCode: async () => '123456',
    mayConsent,
    send: (url, request) => {
      if (new URLSearchParams(request.body ?? '').get('password') === password) posted += 1;
      return send(url, request);
    },
    timeoutSeconds: 60,
    clock,
  }).then(
    ({ searchParams }) => {
      expect(searchParams.get('state')).toBe('s1');
      return searchParams.get('code') ? 'code' : 'nothing';
    },
    (err) => (err instanceof Failure ? err.code : Promise.reject(err)),
  );
  expect([outcome, posted]).toEqual([ending, passwords]);
  expect(clock.sleepers).toBe(0);
});
