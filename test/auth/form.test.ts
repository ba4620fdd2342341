// Login pages in every shape that a browser would get along with: each ends with a code, and one posted password.
import { describe, expect, test } from 'vitest';
import {
  type Answer,
  actionOf,
  done,
  html,
  login,
  loginForm,
  openLoginPages,
  otp,
  outcomeOf,
  PASSWORD,
  REDIRECT_URI,
  redirect,
  USERNAME,
} from './loginPages.ts';

const ACTION = actionOf('e1');
const USER = '<input name="username" type="text">';
const PASS = '<input name="password" type="password">';
const form = (inside: string, attributes = `action="${ACTION}" method="post"`) =>
  `<form ${attributes}>${inside}</form>`;
const PASSKEY = form(
  '<input type="hidden" name="clientDataJSON"><input type="hidden" name="signature">',
  `id="webauth" action="${actionOf('passkey')}" method="post"`,
);
const SEARCH = '<form action="/search"><input name="q" type="text"><input type="submit" value="Go"></form>';
const LANGUAGE =
  '<form method="post" action="/locale"><select name="kc_locale"><option>de</option></select></form>';
const REGISTER = form(
  '<input name="username"><input type="password" name="password"><input type="password" name="password-confirm">',
  'action="/register" method="post"',
);

describe('one page with user name and password', () => {
  test.each<[string, string, string?]>([
    ['as Keycloak shows it', loginForm()],
    [
      'entities in the action',
      form(USER + PASS, `action="${ACTION.replaceAll('/', '&#x2F;')}" method="post"`),
    ],
    [
      'a relative action',
      form(USER + PASS, 'action="login-actions/go?execution=e1" method="post"'),
      '/realms/energy/login-actions/go?execution=e1',
    ],
    [
      'an action that is only a query',
      form(USER + PASS, 'action="?execution=e1" method="post"'),
      '/realms/energy/auth?execution=e1',
    ],
    ['no action', form(USER + PASS, 'method="post"'), '/realms/energy/auth?client_id=self-care&state=s1'],
    ['a base', `<base href="/elsewhere/">${form(USER + PASS, 'action="go" method="post"')}`, '/elsewhere/go'],
    [
      'a button with an address of its own',
      form(`${USER}${PASS}<button formaction="/own">Go</button>`),
      '/own',
    ],
    [
      'uppercase tags',
      form(USER + PASS, `ACTION="${ACTION}" METHOD="POST"`)
        .toUpperCase()
        .replaceAll('ORIGIN/REALMS', 'ORIGIN/realms')
        .replaceAll('USERNAME', 'username')
        .replaceAll('="PASSWORD"', '="password"')
        .replace('TYPE="password"', 'TYPE="PASSWORD"'),
    ],
    ['unclosed tags', `<div><p><form action="${ACTION}" method=post><div><label>a<p>${USER}<div>${PASS}`],
    [
      'attributes without quotes',
      '<form action=/go method=post><input name=username><input name=password type=password>',
      '/go',
    ],
    [
      'nested tables',
      `<table><form action="${ACTION}" method="post"><tr><td>${USER}<table><tr><td>x</table></td></tr><tr><td>${PASS}</td></tr></form></table>`,
    ],
    [
      'a form whose parent ends first',
      `<div><form action="${ACTION}" method="post"></div>${USER}${PASS}</form>`,
    ],
    ['a form in a form', form(`${USER}<form action="FOREIGN/inner" method="post">${PASS}`)],
    [
      'fields outside of the form',
      `<input form="f" name="username">${form('', `id="f" action="${ACTION}" method="post"`)}<input form="f" name="password" type="password">`,
    ],
    [
      'a field that belongs to another form',
      form(`${USER}${PASS}<input form="other" name="stray" value="1" required>`),
    ],
    ['a search form first', SEARCH + loginForm()],
    ['a language form first', LANGUAGE + loginForm()],
    ['a form for a passkey first', PASSKEY + loginForm()],
    ['a form to register first', REGISTER + loginForm()],
    [
      'a captcha in the form to register',
      form('<div class="g-recaptcha" data-sitekey="k"></div>', 'method="post"') + loginForm(),
    ],
    [
      'an inert form first',
      `<template>${form(USER + PASS, 'action="FOREIGN/template" method="post"')}</template>${loginForm()}`,
    ],
    [
      'a form in a comment and one in a script',
      `<!--${form(USER + PASS, 'action="/comment" method="post"')}--><script>"${form(USER + PASS, 'action="/script" method="post"')}"</script>${loginForm()}`,
    ],
    ['the password first', form(PASS + USER)],
    [
      'the older theme',
      `<body class="login-pf">${form(`<div class="form-group"><label>Username</label><input tabindex="1" id="username" name="username" value="" type="text" autofocus autocomplete="off" /></div><div><input tabindex="2" id="password" name="password" type="password" autocomplete="off" /></div><div><input tabindex="3" id="rememberMe" name="rememberMe" type="checkbox"> Remember me</div><input type="hidden" id="id-hidden-input" name="credentialId" /><input name="login" id="kc-login" type="submit" value="Log In"/>`, `id="kc-form-login" onsubmit="login.disabled = true; return true;" action="${ACTION}" method="post"`)}`,
    ],
    [
      'German',
      `<html lang="de"><h1>Anmelden</h1><p>Falsches Passwort? Zu viele Versuche! Captcha</p>${loginForm()}`,
    ],
    ['Arabic, from right to left', `<html lang="ar" dir="rtl"><h1>تسجيل الدخول</h1>${loginForm()}`],
    [
      'an e-mail address for a user name',
      form(`<input type="email" autocomplete="email" name="username">${PASS}`),
    ],
    ['the only text field is the user name', form(`<input name="username" autocomplete="off">${PASS}`)],
    [
      'one-time-code written at the password',
      form(`${USER}<input name="password" type="password" autocomplete="one-time-code">`),
    ],
    ['more than one kind of method', form(USER + PASS, `action="${ACTION}" method=" Post "`)],
    [
      'markup that is broken',
      `<form <b action="/x" method="post"><<</form><form method='post' action='${ACTION}' action="/second">${USER}<input/name="password"type="password"></form></b></i>`,
    ],
    [
      'a name of the prototype',
      form(
        `${USER}${PASS}<input type="hidden" name="__proto__" value="1"><input type="hidden" name="constructor" value="2">`,
      ),
    ],
  ])('%s', async (_, body, path) => {
    const pages = await openLoginPages(html(body), done);
    expect((await outcomeOf(pages)).code).toBe('signed in with c1');
    const [, post] = pages.seen;
    expect(pages.seen).toHaveLength(2);
    expect(pages.posted(PASSWORD)).toEqual([post]);
    expect(post).toMatchObject({ at: 'issuer', method: 'POST', type: 'application/x-www-form-urlencoded' });
    expect([post?.fields.get('username'), post?.fields.get('password')]).toEqual([USERNAME, PASSWORD]);
    if (path) expect(post?.path).toBe(path);
    else
      expect(post?.path.toLowerCase()).toBe(
        '/realms/energy/login-actions/authenticate?session_code=x&execution=e1&tab_id=t',
      );
  });

  test('sends what a browser would: hidden fields, what is checked, the only button, nothing that is disabled', async () => {
    const inside = `<input type="hidden" name="credentialId"><input type="hidden" name="t" value="a&amp;b &auml;">
      <input type="checkbox" name="rememberMe"><input type="checkbox" name="on" checked><input type="radio" name="r" value="1">
      <input type="radio" name="r" value="2" checked><input type="hidden" name="off" disabled><input type="file" name="f">
      <input type="image" name="i"><button type="button" name="show">o</button><input value="nameless">
      <input name="login" type="submit" value="Sign In">`;
    const pages = await openLoginPages(html(form(USER + PASS + inside)), done);
    await pages.signIn();
    expect(Object.fromEntries(pages.seen[1]?.fields ?? [])).toEqual({
      username: USERNAME,
      password: PASSWORD,
      credentialId: '',
      t: 'a&b ä',
      on: 'on',
      r: '2',
      login: 'Sign In',
    });
  });

  test('of several buttons it presses none', async () => {
    const buttons = '<button name="login" value="1">In</button><button name="cancel" value="1">No</button>';
    const pages = await openLoginPages(html(form(USER + PASS + buttons)), done);
    await pages.signIn();
    expect([...(pages.seen[1]?.fields.keys() ?? [])]).toEqual(['username', 'password']);
  });

  test('bytes that are no UTF-8 do no harm', async () => {
    const body = Buffer.concat([Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xe4]), Buffer.from('<p>\0\u0001')]);
    const broken: Answer = {
      headers: { 'content-type': 'text/html' },
      body: Buffer.concat([body, Buffer.from(form(USER + PASS, 'action="/go" method="post"'))]),
    };
    const pages = await openLoginPages(broken, done);
    expect((await outcomeOf(pages)).code).toBe('signed in with c1');
    expect(pages.posted(PASSWORD)).toHaveLength(1);
  });
});

describe('more than one page', () => {
  const username = (execution = 'u1') =>
    html(
      `<body data-page-id="login-login-username">${form(USER, `action="${actionOf(execution)}" method="post"`)}</body>`,
    );
  const password = (execution = 'p1') =>
    html(
      `<body data-page-id="login-login-password">${form(PASS, `action="${actionOf(execution)}" method="post"`)}</body>`,
    );
  const oneTimeCode = async () => '123456';

  test('first the user name, then the password', async () => {
    const pages = await openLoginPages(username(), password(), done);
    expect((await outcomeOf(pages)).code).toBe('signed in with c1');
    expect(pages.seen.slice(1).map(({ text }) => text)).toEqual([
      new URLSearchParams({ username: USERNAME }).toString(),
      new URLSearchParams({ password: PASSWORD }).toString(),
    ]);
  });

  test.each<[string, Answer[]]>([
    [
      'redirects within the issuer',
      [redirect('/realms/energy/login?x=1', 303), login(), redirect('ORIGIN/realms/energy/next', 303), done],
    ],
    [
      'a page that leads on by itself',
      [html('<meta http-equiv="Refresh" content="0; URL=\'/realms/energy/next\'">'), login(), done],
    ],
    [
      'a page that leads straight to the code',
      [login(), html(`<meta http-equiv=refresh content="0;url=${REDIRECT_URI}?code=c1&amp;state=s1">`)],
    ],
    ['a one-time code', [login(), otp(), done]],
    [
      'a one-time code with its type hidden from view',
      [login(), html(form('<input name="otp" type="password">')), done],
    ],
    [
      'a code by its autocomplete',
      [
        login(),
        html(form('<input name="sms" autocomplete="section-a one-time-code" inputmode="numeric">')),
        done,
      ],
    ],
    ['user name, password and code on three pages', [username(), password(), otp(), done]],
    ['the code before the password', [username(), otp(), password(), done]],
  ])('%s', async (_, answers) => {
    const pages = await openLoginPages(...answers);
    expect((await outcomeOf(pages, { oneTimeCode })).code).toBe('signed in with c1');
    expect(pages.posted(PASSWORD)).toHaveLength(1);
    expect(pages.seen.every(({ at }) => at === 'issuer')).toBe(true);
  });

  test('the code goes to the device that is preselected, and nowhere else', async () => {
    const devices =
      '<input type="radio" name="selectedCredentialId" value="d1"><input type="radio" name="selectedCredentialId" value="d2" checked>';
    const pages = await openLoginPages(login(), otp('e2', devices), done);
    await pages.signIn({ oneTimeCode });
    expect(pages.posted('123456').map(({ text }) => text)).toEqual([
      'selectedCredentialId=d2&otp=123456&login=Sign+In',
    ]);
  });
});

const CONSENT =
  '<form method="post" action="/interaction/7"><input type="hidden" name="prompt" value="consent">';

test.each([
  ['one button', `${CONSENT}<button type="submit">Continue</button></form>`, 'signed in with c1'],
  [
    'a puzzle beside it',
    `${CONSENT}<div class="h-captcha"></div><button>Continue</button></form>`,
    'unsupported_step',
  ],
  [
    'a field beside it',
    `${CONSENT}<input name="reason" required><button>Continue</button></form>`,
    'unsupported_step',
  ],
  [
    'terms in its place',
    CONSENT.replace('consent', 'terms').concat('<button>Continue</button></form>'),
    'unsupported_step',
  ],
])('a page for consent with %s: %s', async (_, page, code) => {
  const pages = await openLoginPages(login(), html(page), done);
  expect((await outcomeOf(pages, { mayConsent: true })).code).toBe(code);
  expect((await outcomeOf(await openLoginPages(login(), html(page), done))).code).toBe('unsupported_step');
});
