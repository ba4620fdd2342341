// The sign-in on the provider's login page: which pages lead where, and what is posted on the way. One table.
import { describe, expect, test } from 'vitest';
import {
  ALERT,
  type Answer,
  action,
  actionOf,
  COOKIES,
  done,
  ERROR,
  error,
  html,
  kept,
  login,
  loginForm,
  openLoginPages,
  otp,
  outcomeOf,
  PASSWORD,
  page,
  passwordPage,
  REDIRECT_URI,
  redirect,
  USERNAME,
  usernamePage,
  withIn,
} from './loginPages.ts';

const ACTION = actionOf('e1');
const USER = '<input name="username" type="text">';
const PASS = '<input name="password" type="password">';
const NEW = '<input type="password" name="password-new"><input type="password" name="password-confirm">';
const CODE = '<input name="otp">';
const form = (inside: string, attributes = `action="${ACTION}" method="post"`) =>
  `<form ${attributes}>${inside}</form>`;
const posted = (inside: string, to = '/go') => form(inside, `action="${to}" method="post"`);
const PASSKEY = form('<input type="hidden" name="clientDataJSON">', 'id="webauth" method="post"');
const LETTERS = '<img src="/letters"><input name="captcha_code">';
const SCRIPT = '<script src="https://captcha.example/recaptcha/api.js?render=k"></script>';
const MOST_REQUESTS = 12;
const again = (answer: Answer): Answer[] => Array(MOST_REQUESTS + 1).fill(answer);
const circle = redirect('/realms/energy/auth');

/** A string is the HTML of a page. */
type Shown = string | Answer;
type Rows = Readonly<Record<string, Shown | readonly Shown[]>>;

const ONE_PAGE: Rows = {
  'as Keycloak shows it': loginForm(),
  'entities in the action': form(USER + PASS, `action="${ACTION.replaceAll('/', '&#x2F;')}" method="post"`),
  'unclosed tags': `<div><p><form action="${ACTION}" method=post><div><label>a<p>${USER}<div>${PASS}`,
  'nested tables': `<table><form action="${ACTION}" method="post"><tr><td>${USER}<table><tr><td>x</table></td></tr><tr><td>${PASS}</td></tr></form></table>`,
  'a form in a form': form(`${USER}<form action="FOREIGN/inner" method="post">${PASS}`),
  'fields outside of the form': `<input form="f" name="username">${form('', `id="f" action="${ACTION}" method="post"`)}<input form="f" name="password" type="password">`,
  'a field of another form': form(`${USER}${PASS}<input form="other" name="stray" value="1" required>`),
  'a language form first': `<form method="post" action="/locale"><select name="l"></select></form>${loginForm()}`,
  'a form for a passkey first': PASSKEY + loginForm(),
  'a form to register first': posted(USER + PASS + NEW, '/register') + loginForm(),
  'a captcha in another form': posted('<div class="g-recaptcha" data-sitekey="k"></div>') + loginForm(),
  'a form in a template': `<template>${posted(USER + PASS, 'FOREIGN/template')}</template>${loginForm()}`,
  'a form in a comment and one in a script': `<!--${posted(USER + PASS)}--><script>"${posted(USER + PASS)}"</script>${loginForm()}`,
  'the older theme': form(
    `<input tabindex="1" id="username" name="username" value="" type="text" autofocus autocomplete="off" />
    <input tabindex="2" id="password" name="password" type="password" autocomplete="off" />
    <input name="rememberMe" type="checkbox"><input type="hidden" name="credentialId" /><input name="login" type="submit" value="Log In"/>`,
  ),
  'an e-mail address': form(`<input type="email" autocomplete="email" name="username">${PASS}`),
  'the only text field': form(`<input name="username" autocomplete="off">${PASS}`),
  'one-time-code at the password': form(
    `${USER}<input name="password" type="password" autocomplete="one-time-code">`,
  ),
  'spaces around the method': form(USER + PASS, `action="${ACTION}" method=" Post "`),
  'broken markup': `<form <b action="/x" method="post"><<</form><form method='post' action='${ACTION}' action="/second">${USER}<input/name="password"type="password"></form></b></i>`,
  'names of the prototype': form(`${USER}${PASS}<input type="hidden" name="__proto__" value="1">`),
  'bytes that are no UTF-8': {
    headers: { 'content-type': 'text/html' },
    body: Buffer.concat([Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xe4]), Buffer.from(posted(USER + PASS))]),
  },
};

const MORE_PAGES: Rows = {
  'redirects within the issuer': [redirect('/x', 303), login(), redirect('ORIGIN/next', 303)],
  'a page that leads on': [`<meta http-equiv="Refresh" content="0; URL='/next'">`, login()],
  'first the user name': [usernamePage(), passwordPage('p1')],
  'a one-time code': [login(), otp()],
  'a hidden one-time code': [login(), posted('<input name="otp" type="password">')],
  'a code by its autocomplete': [
    login(),
    posted('<input name="sms" autocomplete="section-a one-time-code" inputmode="numeric">'),
  ],
  'user name, password and code on three pages': [usernamePage(), passwordPage('p1'), otp()],
  'the code before the password': [usernamePage(), otp(), passwordPage('p1')],
};

/** The outcome, and how often the password has been posted by then. */
const TABLE: readonly (readonly [outcome: string, passwords: number, rows: Rows])[] = [
  ['signed in with c1', 1, { ...ONE_PAGE, ...MORE_PAGES }],
  ['bad_credentials_or_locked', 0, { 'an unknown user name': [usernamePage(), usernamePage(ERROR)] }],
  [
    'bad_credentials_or_locked',
    1,
    {
      'a marked field': [login(), login('e1', ERROR)],
      'a field marked by another theme': [login(), login('e1', '<i id="input-error-username">')],
      'without a word': [login(), login()],
      'another execution': [login(), login('e9')],
      'another execution, with an alert': [login(), login('e9', '', ALERT)],
      'by a redirect': [login(), circle, login()],
      'an alert where no theme marks a field': [passwordPage('e1'), passwordPage('e1', ALERT)],
      'after the user name': [usernamePage(), passwordPage('p1'), passwordPage('p1', ERROR)],
      'the password again after the code': [login(), otp(), login('e1', ERROR)],
      'HTTP 401': [login(), html(loginForm(), { status: 401 })],
      'HTTP 403': [login(), html('<p>Blocked</p>', { status: 403 })],
    },
  ],
  [
    'refused_otherwise',
    1,
    {
      'a limit of sessions': [login(), { ...page('login-error', '<p>x</p>'), status: 403 }],
      'one of the older theme': [login(), html('<div id="kc-error-message">', { status: 403 })],
      'after the code': [login(), otp(), html('<div id="kc-error-message">', { status: 403 })],
      'an error that nobody knows': [login(), error('error=Bobby')],
    },
  ],
  ['account_disabled', 0, { 'after the user name': [usernamePage(), usernamePage(ALERT)] }],
  ['account_disabled', 1, { 'after the password': [login(), login('e1', '', ALERT)] }],
  ['second_factor_refused', 1, { 'the same page again': [login(), otp('e2'), otp('e2', ERROR)] }],
  [
    'client_refused',
    0,
    {
      'a client that is not known': html('<div id="kc-error-message">', { status: 400 }),
      'a client that may not': error('error=unauthorized_client'),
    },
  ],
  ['scope_refused', 0, { 'a wrong scope': error('error=invalid_scope&error_description=Invalid+scopes') }],
  ['scope_refused', 1, { 'one that the user may not have': [login(), error('error=not_allowed')] }],
  ['issuer_refused', 1, { 'a denial': [login(), error('error=access_denied')] }],
  ['issuer_refused', 0, { 'an unknown error': error('error=Bobby') }],
  [
    'issuer_unreachable',
    0,
    {
      'HTTP 500': html('', { status: 500 }),
      'HTTP 403 of a firewall': html('<p>Bobby</p>', { status: 403 }),
      'HTTP 403 before the password': [usernamePage(), html('<p>Bobby</p>', { status: 403 })],
      'an empty answer': '',
      JSON: { headers: { 'content-type': 'application/json' }, body: '{"error":"x"}' },
      'no type at all': { body: loginForm() },
      'the Wi-Fi of a hotel': '<h1>Hotel</h1><form method="post"><input name="room"></form>',
      'a huge page': `${' '.repeat(2_000_000)}${loginForm()}`,
      'a page without a bottom': `${'<b>'.repeat(300_000)}${loginForm()}`,
      'a redirect in a circle': again(circle),
      'a page that refreshes for ever': again(html('<meta http-equiv="refresh" content="1; url=?again">')),
      'a form that posts to the redirect address': loginForm().replace(
        /action="[^"]*"/,
        `action="${REDIRECT_URI}"`,
      ),
      'an error in the fragment': redirect(`${REDIRECT_URI}#error=server_error`),
      'a connection that breaks': { isReset: true },
    },
  ],
  [
    'issuer_unreachable',
    1,
    {
      'HTTP 503': [login(), html(loginForm(), { status: 503 })],
      'HTTP 400: no cookies arrived': [login(), html('<div id="kc-error-message">', { status: 400 })],
      'a page that expired': [login(), page('login-login-page-expired', '<a id="loginRestartLink">')],
      'one that expired, in another theme': [login(), '<a id="loginRestartLink" href="/x">'],
      'a redirect in a circle': [login(), ...again(circle)],
      'a redirect that wants the post repeated': [login(), redirect('/realms/energy/next', 307)],
      'a redirect to nowhere': [login(), redirect('http://[')],
      'a redirect without an address': [login(), { status: 302 }],
      'an error that passes': [login(), error('error=temporarily_unavailable')],
      'a connection that breaks': [login(), { isReset: true }],
    },
  ],
  [
    'unsupported_step',
    0,
    {
      reCAPTCHA: withIn('<div class="g-recaptcha" data-sitekey="k"></div>'),
      'a captcha by its key only': withIn('<div class="widget" data-sitekey="k"></div>'),
      'Friendly Captcha': withIn('<div class="frc-captcha"></div>'),
      Turnstile: withIn('<div class="cf-turnstile"></div>'),
      ALTCHA: withIn('<altcha-widget></altcha-widget>'),
      'a captcha out of sight': SCRIPT + loginForm(),
      'letters to read': withIn(LETTERS),
      'a captcha at the user name': posted(`${USER}<i data-sitekey="k"></i>`),
      'a field of unknown use': withIn('<input name="pin" required>'),
      'another issuer later': [usernamePage(), redirect('/broker', 303), redirect('FOREIGN/authorize')],
      'another issuer by a page': '<meta http-equiv="refresh" content="0;url=FOREIGN/x">',
      'a form that leaves the issuer': loginForm().replace('ORIGIN', 'FOREIGN'),
      'a base that leaves the issuer': `<base href="FOREIGN/">${posted(PASS, 'go')}`,
      'a button that leaves the issuer': form(`${USER}${PASS}<button formaction="FOREIGN/b">Go</button>`),
      'a script in place of an action': posted(PASS, 'javascript:go()'),
      'a password that would stand in the address': kept(loginForm().replace('"post"', '"get"')),
      'fields without names, for scripts': kept(loginForm().replaceAll(/ name="(user|pass)\w+"/g, '')),
      'a page for scripts': kept('<div id="root"></div><script src="/app.js"></script>'),
      'a passkey': page('login-webauthn-authenticate', PASSKEY),
    },
  ],
  [
    'unsupported_step',
    1,
    {
      'a second code': [login(), otp('e2'), otp('e3')],
      'an app that is not ours': [login(), redirect('intent://scan?code=c1')],
      'the redirect address with another path': [login(), redirect(`${REDIRECT_URI}/more?code=c1`)],
      'the redirect address without TLS': [login(), redirect(`${REDIRECT_URI.replace('s:', ':')}?code=c1`)],
      'a code that leaves the issuer': [login(), posted(CODE, 'FOREIGN/o')],
      'a passkey': [login(), page('login-webauthn-authenticate', PASSKEY)],
      'codes on paper': [
        login(),
        page(
          'login-login-recovery-authn-code-input',
          posted('<input name="recoveryCodeInput" autocomplete="one-time-code">'),
        ),
      ],
      'a choice of ways': [
        login(),
        page('login-select-authenticator', posted('<button name="e" value="1">')),
      ],
      'a choice of organizations': [login(), page('login-select-organization', posted('<button name="o">'))],
      'a page that names itself strangely': [login(), page('Bobby said 123', '')],
      'a page for consent': [login(), posted('<input type="hidden" name="prompt" value="consent">')],
    },
  ],
  [
    // The page of a required action is not asked for: Keycloak sends a letter whenever it shows one of them.
    'account_not_set_up',
    1,
    {
      'choose a new password': [login(), action('UPDATE_PASSWORD')],
      'set up a second factor': [login(), action('CONFIGURE_TOTP')],
      'complete the profile': [login(), action('UPDATE_PROFILE')],
      'accept the terms': [login(), action('TERMS_AND_CONDITIONS')],
      'confirm the e-mail address': [login(), action('VERIFY_EMAIL')],
      'consent to': [login(), action('OAUTH_GRANT')],
      'set up a second factor: a passkey': [login(), action('webauthn-register')],
      'do what the page asks for': [login(), action('read-the-letter')],
      'set up a second factor: without a redirect': [login(), posted(CODE, actionOf('CONFIGURE_TOTP'))],
      'confirm the e-mail address: without a redirect': [login(), page('login-login-verify-email', '')],
      'choose a new password: by its fields': [login(), posted(NEW)],
      'choose a new password: by a single field': [
        login(),
        posted('<input type="password" name="p" autocomplete="new-password">'),
      ],
    },
  ],
];

/** Everything that may not be told: what was typed in, and what the pages said. */
const SECRETS = [USERNAME, PASSWORD, '123456', 'a1', 's1', 'session_code', 'portal.example.net', 'Bobby'];

const shown = (page: Shown): Answer => (typeof page === 'string' ? html(page) : page);

for (const [code, passwords, rows] of TABLE) {
  const cases = Object.entries(rows).map(
    ([name, pages]) => [name, (Array.isArray(pages) ? pages : [pages]).map(shown)] as const,
  );
  test.each(cases)(`${code}, with ${passwords} password posted: %s`, async (name, answers) => {
    const pages = await openLoginPages(...answers, done);
    const { failure, ...outcome } = await outcomeOf(pages, { code: async () => '123456' });
    expect(outcome.code).toBe(code);
    expect(pages.seen).toHaveLength(Math.min(answers.length + (failure ? 0 : 1), MOST_REQUESTS));
    expect(pages.seen.filter(({ at }) => at === 'foreign')).toEqual([]);
    const typed = pages.posted(PASSWORD);
    expect(typed).toHaveLength(passwords);
    const form = { method: 'POST', type: 'application/x-www-form-urlencoded' };
    expect(typed).toEqual(typed.map(() => expect.objectContaining(form)));
    if (!failure) {
      const value = (name: string) => pages.seen.find(({ fields }) => fields.has(name))?.fields.get(name);
      expect([value('username'), value('password')]).toEqual([USERNAME, PASSWORD]);
      return;
    }
    const { message, hint, stack = '' } = failure;
    if (code === 'account_not_set_up') expect(message).toContain(name.split(':')[0]);
    const words = [message, hint, stack.split('\n    at ')[0]].join();
    expect(SECRETS.filter((secret) => words.includes(secret))).toEqual([]);
  });
}

describe('what is posted', () => {
  test.each([
    ['/realms/energy/login-actions/go?execution=e1', posted(USER + PASS, 'login-actions/go?execution=e1')],
    ['/realms/energy/auth?execution=e1', posted(USER + PASS, '?execution=e1')],
    ['/realms/energy/auth?client_id=self-care&state=s1', form(USER + PASS, 'method="post"')],
    ['/elsewhere/go', `<base href="/elsewhere/">${posted(USER + PASS, 'go')}`],
    ['/own', form(`${USER}${PASS}<button formaction="/own">Go</button>`)],
  ])('goes to %s', async (path, body) => {
    const pages = await openLoginPages(html(body), done);
    await pages.signIn();
    expect(pages.posted(PASSWORD)).toMatchObject([{ at: 'issuer', path }]);
  });

  const inputs = `<input type="hidden" name="credentialId"><input type="hidden" name="t" value="a&amp;b &auml;">
    <input type="checkbox" name="rememberMe"><input type="checkbox" name="on" checked><input type="radio" name="r" value="1">
    <input type="radio" name="r" value="2" checked><input type="hidden" name="off" disabled><input type="file" name="f">
    <input type="image" name="i"><button type="button" name="show">o</button><input value="nameless">
    <input name="login" type="submit" value="Sign In">`;
  const typed = { username: USERNAME, password: PASSWORD };
  test.each<[string, Answer[], object]>([
    [
      'hidden fields, what is checked and the only button',
      [html(form(USER + PASS + inputs))],
      { ...typed, credentialId: '', t: 'a&b ä', on: 'on', r: '2', login: 'Sign In' },
    ],
    [
      'of several buttons none',
      [html(form(`${USER + PASS}<button name="a" value="1">In</button><button name="b">No</button>`))],
      typed,
    ],
    ['the user name alone where only it is asked for', [usernamePage()], { username: USERNAME }],
    [
      'the code, for the device that is preselected',
      [
        login(),
        otp('e2', '<input type="radio" name="d" value="d1"><input type="radio" name="d" value="d2" checked>'),
      ],
      { d: 'd2', otp: '123456', login: 'Sign In' },
    ],
  ])('is what a browser would send: %s', async (_, answers, fields) => {
    const pages = await openLoginPages(...answers, done);
    await pages.signIn({ code: async () => '123456' });
    const last = pages.seen.filter(({ method }) => method === 'POST').at(-1);
    expect(Object.fromEntries(last?.fields ?? [])).toEqual(fields);
  });
});

test.each([
  ['in the query', `${REDIRECT_URI}?state=s1&code=c1`, REDIRECT_URI],
  ['in the fragment', `${REDIRECT_URI}#state=s1&code=c1`, REDIRECT_URI],
  ['beside a query of its own', `${REDIRECT_URI}?app=1&state=s1&code=c1`, `${REDIRECT_URI}?app=1`],
  ['at a scheme of an app with a host', 'heat://callback?state=s1&code=c1', 'heat://callback'],
  ['at the issuer itself', 'ORIGIN/realms/energy/account?state=s1&code=c1', 'ORIGIN/realms/energy/account'],
  [
    'by a page that leads on',
    html(`<meta http-equiv=refresh content="0;url=${REDIRECT_URI}?code=c1&amp;state=s1">`),
    REDIRECT_URI,
  ],
])('the answer comes %s', async (_, location, redirectUri) => {
  const pages = await openLoginPages(login(), typeof location === 'string' ? redirect(location) : location);
  const { url } = await outcomeOf(pages, { redirectUri: redirectUri.replace('ORIGIN', pages.origin) });
  const found = ['code', 'state'].map((name) => url?.searchParams.get(name));
  expect([...found, url?.hash]).toEqual(['c1', 's1', '']);
  expect(pages.seen).toHaveLength(2);
});

describe('cookies', () => {
  const cookiesOf = async (...answers: Answer[]) => {
    const pages = await openLoginPages(...answers, done);
    await pages.signIn({ code: async () => '1' });
    return pages.seen.map(({ cookie }) => cookie);
  };
  const cookies = (...lines: string[]) => ({ headers: { 'set-cookie': lines } });

  test('sends Secure cookies back over plain http, each at its path, when the issuer is on this machine', async () => {
    const elsewhere = html(loginForm().replaceAll('/realms/energy/', '/other/'), cookies(...COOKIES));
    expect(await cookiesOf(elsewhere)).toEqual(['', '']);
    expect(await cookiesOf(login())).toEqual(['', 'AUTH_SESSION_ID=a1; KC_RESTART=r1']);
  });

  test('changes and deletes cookies when the page says so', async () => {
    const first = html(loginForm(), cookies('a=1; Path=/', 'b=1; Path=/', '=;;', 'c=1; Domain=example.org'));
    const second = html(posted(CODE), cookies('a=2; Path=/', 'b=; Path=/; Max-Age=0'));
    expect(await cookiesOf(first, second)).toEqual(['', 'a=1; b=1', 'a=2']);
  });
});

const CONSENT =
  '<form method="post" action="/interaction/7"><input type="hidden" name="prompt" value="consent">';
test.each([
  ['one button', `${CONSENT}<button>Continue</button></form>`, 'signed in with c1'],
  ['a puzzle', `${CONSENT}<div class="h-captcha"></div><button>Continue</button></form>`, 'unsupported_step'],
  ['a field', `${CONSENT}<input name="reason" required><button>Continue</button></form>`, 'unsupported_step'],
  ['terms', `${CONSENT.replace('consent', 'terms')}<button>Continue</button></form>`, 'unsupported_step'],
])('consent that may be given, on a page with %s: %s', async (_, body, code) => {
  const pages = await openLoginPages(login(), html(body), done);
  expect((await outcomeOf(pages, { mayConsent: true })).code).toBe(code);
});

test('asks for a one-time code once, and only when a page wants it', async () => {
  let asked = 0;
  const oneTimeCode = async () => String(++asked);
  const codeOf = async (...answers: Answer[]) =>
    (await outcomeOf(await openLoginPages(...answers), { code: oneTimeCode })).code;
  expect([await codeOf(login(), done), asked]).toEqual(['signed in with c1', 0]);
  expect([await codeOf(login(), otp(), otp()), asked]).toEqual(['second_factor_refused', 1]);
  for (const none of [null, async () => null]) {
    const { failure } = await outcomeOf(await openLoginPages(login(), otp()), { code: none });
    expect(failure).toMatchObject({ code: 'second_factor', state: 'login_needed' });
  }
});

test.each([
  [page('login-select-authenticator', ''), 'page login-select-authenticator'],
  [withIn('<div class="g-recaptcha"></div>'), 'a captcha'],
  [redirect('FOREIGN/'), 'another site'],
])('a step for a person is named: %#', async (answer, words) => {
  const { failure } = await outcomeOf(await openLoginPages(answer));
  expect(failure?.message).toContain(words);
  expect(failure?.hint).toContain('--method device');
});

test('passes Retry-After on, and gives up when a page does not come in time', async () => {
  const busy = html('', { status: 429, headers: { 'retry-after': '120' } });
  const { failure } = await outcomeOf(await openLoginPages(busy));
  expect([failure?.code, failure?.retryAfterMs]).toEqual(['issuer_unreachable', 120_000]);
  const pages = await openLoginPages(login());
  const late = await outcomeOf(pages, {
    timeoutSeconds: 10,
    send: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
        pages.clock.advance(10_000);
      }),
  });
  expect(late.failure?.message).toContain('in time');
  expect(pages.clock.sleepers).toBe(0);
});
