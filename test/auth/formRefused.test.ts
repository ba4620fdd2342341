// What the login page refuses, what the owner has to do first, and the one-time code.
import { describe, expect, test } from 'vitest';
import type { LoginRefused } from '../../src/auth/refusals.ts';
import {
  ALERT,
  type Answer,
  action,
  actionOf,
  done,
  ERROR,
  error,
  failsAsTold,
  html,
  login,
  loginForm,
  openLoginPages,
  otp,
  outcomeOf,
  PASSWORD,
  page,
  passwordPage,
  type Row,
  redirect,
  usernamePage,
  withIn,
} from './loginPages.ts';

const oneTimeCode = async () => '123456';
const REFUSED: readonly Row[] = [
  ['a wrong password', [login(), login('e1', ERROR)], 'bad_credentials_or_locked', 1],
  [
    'a wrong password, in another theme',
    [login(), login('e1', '<i id="input-error-username">')],
    'bad_credentials_or_locked',
    1,
  ],
  ['a wrong password, field and alert', [login(), login('e1', ERROR, ALERT)], 'bad_credentials_or_locked', 1],
  ['the same page without a word', [login(), login()], 'bad_credentials_or_locked', 1],
  ['the page again with another execution', [login(), login('e9')], 'bad_credentials_or_locked', 1],
  [
    'the page again with another execution and an alert',
    [login(), login('e9', '', ALERT)],
    'bad_credentials_or_locked',
    1,
  ],
  [
    'the page again by a redirect',
    [login(), redirect('/realms/energy/auth'), login()],
    'bad_credentials_or_locked',
    1,
  ],
  [
    'an alert of a theme that never marks a field',
    [passwordPage('e1'), passwordPage('e1', ALERT)],
    'bad_credentials_or_locked',
    1,
  ],
  [
    'a wrong password after the user name',
    [usernamePage(), passwordPage('p1'), passwordPage('p1', ERROR)],
    'bad_credentials_or_locked',
    1,
  ],
  ['an unknown user name', [usernamePage(), usernamePage(ERROR)], 'bad_credentials_or_locked', 0],
  ['the password again after the code', [login(), otp(), login('e1', ERROR)], 'bad_credentials_or_locked', 1],
  [
    'HTTP 401 for the password',
    [login(), html(loginForm(), { status: 401 })],
    'bad_credentials_or_locked',
    1,
  ],
  [
    'HTTP 403 for the password',
    [login(), html('<p>Blocked</p>', { status: 403 })],
    'bad_credentials_or_locked',
    1,
  ],
  ['a disabled account', [login(), login('e1', '', ALERT)], 'account_disabled', 1],
  ['a disabled account after the user name', [usernamePage(), usernamePage(ALERT)], 'account_disabled', 0],
  ['a code that is refused', [login(), otp('e2'), otp('e2', ERROR)], 'second_factor_refused', 1],
  ['a second code', [login(), otp('e2'), otp('e3')], 'unsupported_step', 1],
  ['a client that is not known', [html('<div id="kc-error-message">', { status: 400 })], 'client_refused', 0],
  ['a client that may not', [error('error=unauthorized_client')], 'client_refused', 0],
  ['a wrong scope', [error('error=invalid_scope&error_description=Invalid+scopes')], 'scope_refused', 0],
  ['a scope that the user may not have', [login(), error('error=not_allowed')], 'scope_refused', 1],
];

failsAsTold(REFUSED);

describe('what the owner has to do', () => {
  const NEW_PASSWORD =
    '<input type="password" name="password-new"><input type="password" name="password-confirm">';
  test.each<[string, Answer, RegExp]>([
    ['a new password', action('UPDATE_PASSWORD'), /new password/],
    ['a second factor to set up', action('CONFIGURE_TOTP'), /second factor/],
    ['a passkey to set up as a second factor', action('webauthn-register'), /second factor/],
    ['the profile', action('UPDATE_PROFILE'), /profile/],
    ['terms', action('TERMS_AND_CONDITIONS'), /terms/],
    ['the e-mail address', action('VERIFY_EMAIL'), /e-mail address/],
    ['consent', action('OAUTH_GRANT'), /consent/],
    ['something of this provider', action('read-the-letter'), /do what the page asks for/],
    [
      'a page of an action without a redirect',
      html(
        `<form method="post" action="${actionOf('CONFIGURE_TOTP')}"><input name="totp" autocomplete="one-time-code"></form>`,
      ),
      /second factor/,
    ],
    [
      'a letter, without a redirect',
      page('login-login-verify-email', '<p>A link is on its way.</p>'),
      /e-mail address/,
    ],
    [
      'a new password, by its fields',
      html(`<form method="post" action="/go">${NEW_PASSWORD}</form>`),
      /new password/,
    ],
    [
      'a new password beside the old one',
      html(
        `<form method="post" action="/go"><input type="password" name="password" autocomplete="current-password">${NEW_PASSWORD}</form>`,
      ),
      /new password/,
    ],
  ])('%s', async (_, answer, words) => {
    const pages = await openLoginPages(login(), answer);
    const { code, failure } = await outcomeOf(pages, { oneTimeCode });
    expect([code, (failure as LoginRefused).state]).toEqual(['account_not_set_up', 'needs_user_action']);
    expect(failure?.message).toMatch(words);
    expect(pages.posted(PASSWORD)).toHaveLength(1);
    // The page of a required action is not asked for: Keycloak sends a letter whenever it shows one of them.
    expect(pages.seen).toHaveLength(2);
  });
});

describe('a one-time code', () => {
  test.each([
    ['nobody is asked', null],
    ['there is none', async () => null],
  ])('that is wanted when %s', async (_, none) => {
    const pages = await openLoginPages(login(), otp());
    const { code, failure } = await outcomeOf(pages, { oneTimeCode: none });
    expect([code, (failure as LoginRefused).state]).toEqual(['second_factor', 'login_needed']);
    expect(pages.seen).toHaveLength(2);
  });

  test('is asked for once, and only when a page wants it', async () => {
    let asked = 0;
    const counted = async () => String(++asked);
    const without = await openLoginPages(login(), done);
    await without.signIn({ oneTimeCode: counted });
    expect(asked).toBe(0);
    const refused = await openLoginPages(login(), otp(), otp());
    expect((await outcomeOf(refused, { oneTimeCode: counted })).code).toBe('second_factor_refused');
    expect(asked).toBe(1);
  });
});

describe('what is told', () => {
  test.each([
    [page('login-select-authenticator', ''), 'page login-select-authenticator'],
    [withIn('<div class="g-recaptcha"></div>'), 'a captcha'],
    [redirect('FOREIGN/'), 'another site'],
  ])('of a step for a person: %#', async (answer, words) => {
    const { failure } = await outcomeOf(await openLoginPages(answer));
    expect(failure?.message).toContain(words);
    expect(failure?.hint).toContain('--method device');
  });

  test('Retry-After is passed on', async () => {
    const busy = html('', { status: 429, headers: { 'retry-after': '120' } });
    const { failure } = await outcomeOf(await openLoginPages(busy));
    expect([failure?.code, failure?.retryAfterMs]).toEqual(['issuer_unreachable', 120_000]);
  });

  test('a page that does not come in time', async () => {
    const pages = await openLoginPages(login());
    const waiting = outcomeOf(pages, {
      timeoutSeconds: 10,
      send: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason));
          pages.clock.advance(10_000);
        }),
    });
    expect((await waiting).failure?.message).toContain('in time');
    expect(pages.clock.sleepers).toBe(0);
  });
});
