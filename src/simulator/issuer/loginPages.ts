// The pages of the sign-in: ids, field names and page ids are Keycloak's, markup and words are ours.
import type { Reply } from '../exchange.ts';
import type { LoginPage, RequiredAction } from '../switches.ts';

export type Step = 'username' | 'login' | 'password' | 'otp' | 'passkey' | RequiredAction | 'OAUTH_GRANT';

/** `wrong`: what was typed; `disabled`: the account. */
export type Feedback = 'wrong' | 'disabled' | undefined;

interface PageParts {
  readonly action: string;
  readonly sessionCode: string;
  readonly username: string;
  readonly feedback: Feedback;
  readonly variant: LoginPage;
}

type Content = readonly [pageId: string, content: (parts: PageParts) => string];

const PAGES: Readonly<Record<Step, Content>> = {
  username: ['login-username', (parts) => form('kc-form-login', parts, field(parts, 'username'))],
  login: [
    'login',
    (parts) =>
      loginForm(
        parts,
        field(parts, 'username'),
        field({ ...parts, feedback: undefined }, 'password', 'password'),
      ),
  ],
  password: ['login', (parts) => loginForm(parts, field(parts, 'password', 'password'))],
  otp: ['login-otp', (parts) => form('kc-otp-login-form', parts, field(parts, 'otp'))],
  passkey: [
    'webauthn-authenticate',
    (parts) => {
      const names = [
        'clientDataJSON',
        'authenticatorData',
        'signature',
        'credentialId',
        'userHandle',
        'error',
      ];
      return form('webauth', parts, ...names.map((name) => hidden(name)));
    },
  ],
  UPDATE_PASSWORD: [
    'login-update-password',
    (parts) => {
      const fields = ['password-new', 'password-confirm'].map((name) => field(parts, name, 'password'));
      return form('kc-passwd-update-form', parts, ...fields);
    },
  ],
  CONFIGURE_TOTP: [
    'login-config-totp',
    (parts) =>
      form('kc-totp-settings-form', parts, field(parts, 'totp'), hidden('totpSecret', 'Y7aSimulated')),
  ],
  UPDATE_PROFILE: [
    'login-update-profile',
    (parts) => form('kc-update-profile-form', parts, field(parts, 'firstName'), field(parts, 'lastName')),
  ],
  TERMS_AND_CONDITIONS: [
    'terms',
    (parts) => form('kc-terms-form', parts, submit('accept', 'kc-accept'), submit('cancel', 'kc-decline')),
  ],
  VERIFY_EMAIL: ['login-verify-email', () => '<p>A letter with a link is on its way.</p>'],
  OAUTH_GRANT: [
    'login-oauth-grant',
    (parts) => {
      const buttons = submit('accept', 'kc-login') + submit('cancel', 'kc-cancel');
      return form('kc-oauth-grant', parts, hidden('code', parts.sessionCode), buttons);
    },
  ],
};

export function stepPage(step: Step, parts: PageParts): Reply {
  const [pageId, content] = PAGES[step];
  const alert = parts.feedback === 'disabled' ? said('This account is disabled.') : '';
  return page(pageId, alert + content(parts), 200, parts.variant === 'other_theme');
}

export function expiredPage(): Reply {
  return page(
    'login-page-expired',
    '<p id="instruction1">Start <a id="loginRestartLink" href="#">again</a>.</p>',
  );
}

export function errorPage(words: string, status = 400): Reply {
  return page('error', `<div id="kc-error-message"><p>${escaped(words)}</p></div>`, status);
}

export function infoPage(words: string): Reply {
  return page('info', `<div id="kc-info-message"><p>${escaped(words)}</p></div>`);
}

/** Another theme has no page ids, other class names, and a form for the language above the one that matters. */
function page(pageId: string, content: string, status = 200, isOtherTheme = false): Reply {
  const body = isOtherTheme
    ? `<html lang="de"><title>Anmelden</title><body class="nl-seite"><form method="get" action="?">
<select name="kc_locale"><option>de</option></select></form><section class="nl-karte">${content}</section></body>`
    : `<html lang="en"><title>Sign in to energy</title><body id="keycloak-bg" data-page-id="login-${pageId}">
<main><div id="kc-content">${content}</div></main></body>`;
  const headers = { 'content-type': 'text/html;charset=utf-8' };
  return { status, body: `<!DOCTYPE html>\n${body}</html>\n`, headers };
}

function loginForm(parts: PageParts, ...fields: string[]): string {
  const captcha = '<div class="g-recaptcha" data-sitekey="simulated-site-key"></div>';
  const puzzle = parts.variant === 'captcha' ? captcha : '';
  const remember = '<input id="rememberMe" name="rememberMe" type="checkbox">';
  const rest = [hidden('credentialId'), puzzle, remember, submit('login', 'kc-login')];
  return form('kc-form-login', parts, ...fields, ...rest);
}

function form(id: string, { action }: PageParts, ...fields: string[]): string {
  return `<form id="${id}" action="${escaped(action)}" method="post">${fields.join('\n')}</form>`;
}

function field({ feedback, username, variant }: PageParts, name: string, type = 'text'): string {
  const isWrong = feedback === 'wrong';
  const value = name === 'username' ? escaped(username) : '';
  const error =
    variant === 'other_theme'
      ? said('Das war falsch.', 'input-error')
      : `<div id="input-error-${name}">No.</div>`;
  const attributes = `id="${name}" name="${name}" type="${type}" value="${value}" aria-invalid="${isWrong || ''}"`;
  return `<label for="${name}">${name}</label><input ${attributes}>${isWrong ? error : ''}`;
}

function said(words: string, id = 'kc-said'): string {
  return `<span id="${id}" class="kc-feedback-text">${words}</span>`;
}

function hidden(name: string, value = ''): string {
  return `<input type="hidden" name="${name}" value="${escaped(value)}">`;
}

function submit(name: string, id: string): string {
  return `<input type="submit" name="${name}" id="${id}" value="Go on">`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
