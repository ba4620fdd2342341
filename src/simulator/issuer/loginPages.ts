// The pages of the sign-in: ids, field names and page ids are Keycloak's, markup and words are ours.
import type { Reply } from '../exchange.ts';
import type { LoginPage, RequiredAction } from '../switches.ts';

export type Step = 'username' | 'login' | 'password' | 'otp' | 'passkey' | RequiredAction | 'OAUTH_GRANT';

/** The page's id, the form's or none, and its fields with their types, which for a button is its id. */
type Layout = readonly [pageId: string, formId: string, ...fields: (readonly [name: string, type: string])[]];

const PASSKEY = 'clientDataJSON authenticatorData signature credentialId userHandle error'
  .split(' ')
  .map((name) => [name, 'hidden'] as const);
const CREDENTIAL = ['credentialId', 'hidden'] as const;
const LOGIN = ['login', 'kc-login'] as const;

const LAYOUTS: Readonly<Record<Step, Layout>> = {
  username: ['login-username', 'kc-form-login', ['username', 'text'], LOGIN],
  login: ['login', 'kc-form-login', ['username', 'text'], ['password', 'password'], CREDENTIAL, LOGIN],
  password: ['login', 'kc-form-login', ['password', 'password'], CREDENTIAL, LOGIN],
  otp: ['login-otp', 'kc-otp-login-form', ['otp', 'text'], ['selectedCredentialId', 'hidden'], LOGIN],
  passkey: ['webauthn-authenticate', 'webauth', ...PASSKEY],
  UPDATE_PASSWORD: [
    'login-update-password',
    'kc-passwd-update-form',
    ['password-new', 'password'],
    ['password-confirm', 'password'],
  ],
  CONFIGURE_TOTP: ['login-config-totp', 'kc-totp-settings-form', ['totp', 'text'], ['totpSecret', 'hidden']],
  UPDATE_PROFILE: [
    'login-update-profile',
    'kc-update-profile-form',
    ['firstName', 'text'],
    ['email', 'text'],
  ],
  TERMS_AND_CONDITIONS: ['terms', '', ['accept', 'kc-accept'], ['cancel', 'kc-decline']],
  VERIFY_EMAIL: ['login-verify-email', ''],
  OAUTH_GRANT: ['login-oauth-grant', '', ['code', 'hidden'], ['accept', 'kc-login'], ['cancel', 'kc-cancel']],
};

interface PageParts {
  readonly action: string;
  readonly sessionCode: string;
  readonly username: string;
  /** What was typed is wrong, which the field tells; or a message stands above the form. */
  readonly feedback: 'wrong' | 'message' | undefined;
  readonly variant: LoginPage;
}

export function stepPage(step: Step, parts: PageParts): Reply {
  const { action, feedback, variant } = parts;
  const [pageId, formId, ...fields] = LAYOUTS[step];
  const rows = fields.map(([name, type], at) => row(name, type, parts, feedback === 'wrong' && at === 0));
  const isLogin = step === 'login' || step === 'password';
  if (isLogin && variant === 'captcha')
    rows.push('<div class="g-recaptcha" data-sitekey="an-invented-key"></div>');
  const id = formId && `id="${formId}"`;
  const form = `<form ${id} action="${escaped(action)}" method="${id ? 'post' : 'POST'}">${rows.join('\n')}</form>`;
  const alert = feedback === 'message' && formId ? '<span class="kc-feedback-text">Not now.</span>' : '';
  const passkey = `<form id="webauth" action="${escaped(action)}" method="post">
${PASSKEY.map(([name]) => row(name, 'hidden', parts)).join('\n')}</form>`;
  const content = alert + (fields.length > 0 ? form : '<p>A letter with a link is on its way.</p>');
  return page(pageId, isLogin && variant === 'passkey_offered' ? content + passkey : content, 200, variant);
}

export function expiredPage(): Reply {
  return page('login-page-expired', '<p id="instruction1"><a id="loginRestartLink" href="#">Again</a></p>');
}

export function errorPage(words: string): Reply {
  return page('error', `<div id="kc-error-message"><p>${escaped(words)}</p></div>`, 400);
}

/** Another theme has no page ids, other class names, and a form for the language above the one that matters. */
function page(pageId: string, content: string, status = 200, variant: LoginPage = 'usual'): Reply {
  const body =
    variant === 'other_theme'
      ? `<html lang="de"><title>Anmelden</title><body class="nl-seite"><form method="get" action="?">
<select name="kc_locale"><option>de</option></select></form><section class="nl-karte">${content}</section>`
      : `<html lang="en"><title>Sign in to energy</title><body id="keycloak-bg" data-page-id="login-${pageId}">
<main id="kc-content">${content}</main>`;
  const headers = { 'content-type': 'text/html;charset=utf-8' };
  return { status, body: `<!DOCTYPE html>\n${body}</body></html>\n`, headers };
}

function row(name: string, type: string, parts: PageParts, isWrong = false): string {
  const { sessionCode, username, variant } = parts;
  if (type.startsWith('kc-')) return `<button type="submit" name="${name}" id="${type}">${name}</button>`;
  const values: Record<string, string> = { username, code: sessionCode };
  const input = `<input type="${type}" name="${name}" value="${escaped(values[name] ?? '')}"`;
  if (type === 'hidden') return `${input}>`;
  const id = variant === 'other_theme' ? 'input-error' : `input-error-${name}`;
  const error = `<div id="${id}"><span class="kc-feedback-text">No.</span></div>`;
  return `${input} id="${name}" aria-invalid="${isWrong || ''}">${isWrong ? error : ''}`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
