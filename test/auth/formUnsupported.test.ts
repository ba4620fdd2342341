// Pages that only a person can get along with: nothing is posted where it is known beforehand, and never to another site.
import {
  done,
  failsAsTold,
  html,
  kept,
  login,
  loginForm,
  page,
  REDIRECT_URI,
  type Row,
  redirect,
  usernamePage,
  withIn,
} from './loginPages.ts';

const UNSUPPORTED: readonly Row[] = [
  ['reCAPTCHA', [withIn('<div class="g-recaptcha" data-sitekey="k"></div>')], 'unsupported_step', 0],
  [
    'a captcha by its key only',
    [withIn('<div class="widget" data-sitekey="k"></div>')],
    'unsupported_step',
    0,
  ],
  ['hCaptcha', [withIn('<div class="h-captcha"></div>')], 'unsupported_step', 0],
  ['Turnstile', [withIn('<div class="cf-turnstile"></div>')], 'unsupported_step', 0],
  ['Friendly Captcha', [withIn('<div class="frc-captcha"></div>')], 'unsupported_step', 0],
  ['ALTCHA', [withIn('<altcha-widget></altcha-widget>')], 'unsupported_step', 0],
  [
    'a captcha beside the form',
    [html(`<div class="g-recaptcha"></div>${loginForm()}`)],
    'unsupported_step',
    0,
  ],
  [
    'a captcha that no one sees',
    [html(`<script src="https://captcha.example/recaptcha/api.js?render=k"></script>${loginForm()}`)],
    'unsupported_step',
    0,
  ],
  ['letters to read', [withIn('<img src="/letters"><input name="captcha_code">')], 'unsupported_step', 0],
  [
    'a captcha at the user name',
    [html('<form method="post"><input name="username"><i data-sitekey="k"></i></form>')],
    'unsupported_step',
    0,
  ],
  [
    'a field that nobody knows',
    [kept(loginForm().replace('</form>', '<input name="pin" required></form>'))],
    'unsupported_step',
    0,
  ],
  ['another issuer at once', [redirect('FOREIGN/authorize?client_id=x')], 'unsupported_step', 0],
  [
    'another issuer after the user name',
    [usernamePage(), redirect('/broker', 303), redirect('FOREIGN/authorize')],
    'unsupported_step',
    0,
  ],
  [
    'another issuer by a page',
    [html('<meta http-equiv="refresh" content="0;url=FOREIGN/x">')],
    'unsupported_step',
    0,
  ],
  ['an app that is not ours', [login(), redirect('intent://scan?code=c1')], 'unsupported_step', 1],
  [
    'the redirect address with another path',
    [login(), redirect(`${REDIRECT_URI}/more?code=c1`)],
    'unsupported_step',
    1,
  ],
  ['a form that leaves the issuer', [html(loginForm().replace('ORIGIN', 'FOREIGN'))], 'unsupported_step', 0],
  [
    'a user name that leaves the issuer',
    [html('<form method="post" action="FOREIGN/u"><input name="username"></form>')],
    'unsupported_step',
    0,
  ],
  [
    'a code that leaves the issuer',
    [login(), html('<form method="post" action="FOREIGN/o"><input name="otp"></form>')],
    'unsupported_step',
    1,
  ],
  [
    'a base that leaves the issuer',
    [
      html(
        '<base href="FOREIGN/"><form method="post" action="go"><input type="password" name="password"></form>',
      ),
    ],
    'unsupported_step',
    0,
  ],
  [
    'a button that leaves the issuer',
    [
      withIn('').headers
        ? html(loginForm().replace('<input name="login"', '<input formaction="FOREIGN/b" name="login"'))
        : done,
    ],
    'unsupported_step',
    0,
  ],
  [
    'a script in place of an action',
    [html('<form method="post" action="javascript:go()"><input type="password" name="password"></form>')],
    'unsupported_step',
    0,
  ],
  [
    'an action that is no address',
    [html('<form method="post" action="http://[/"><input type="password" name="password"></form>')],
    'unsupported_step',
    0,
  ],
  [
    'a form whose password would stand in the address',
    [kept(loginForm().replace('method="post"', 'method="get"'))],
    'unsupported_step',
    0,
  ],
  [
    'a form for scripts: its fields have no names',
    [kept(loginForm().replaceAll(/ name="(username|password)"/g, ''))],
    'unsupported_step',
    0,
  ],
  ['a password without a name', [kept(loginForm().replace(/ name="password"/, ''))], 'unsupported_step', 0],
  [
    'a page for scripts',
    [kept('<div id="root"></div><script src="/app.js"></script>')],
    'unsupported_step',
    0,
  ],
  [
    'a passkey',
    [
      page(
        'login-webauthn-authenticate',
        '<form id="webauth" method="post"><input type="hidden" name="clientDataJSON"></form>',
      ),
    ],
    'unsupported_step',
    0,
  ],
  [
    'a passkey after the password',
    [
      login(),
      page(
        'login-webauthn-authenticate',
        '<form id="webauth" method="post"><input type="hidden" name="clientDataJSON"></form>',
      ),
    ],
    'unsupported_step',
    1,
  ],
  [
    'codes on paper',
    [
      login(),
      page(
        'login-login-recovery-authn-code-input',
        '<form method="post"><input name="recoveryCodeInput" autocomplete="one-time-code"></form>',
      ),
    ],
    'unsupported_step',
    1,
  ],
  [
    'a choice of ways',
    [
      login(),
      page(
        'login-select-authenticator',
        '<form method="post"><button name="authenticationExecution" value="1"></form>',
      ),
    ],
    'unsupported_step',
    1,
  ],
  [
    'a choice of organizations',
    [
      login(),
      page('login-select-organization', '<form method="post"><button name="kc.org" value="Bobby"></form>'),
    ],
    'unsupported_step',
    1,
  ],
  ['a page that names itself strangely', [login(), page('Bobby said 123', '')], 'unsupported_step', 1],
];

failsAsTold(UNSUPPORTED);
