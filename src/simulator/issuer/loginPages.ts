// The pages of the sign-in: ids, field names and page ids are Keycloak's, markup and words are ours.
import type { Reply } from '../exchange.ts';
import type { RequiredAction } from '../switches.ts';

export type Step = 'username' | 'login' | 'password' | 'otp' | RequiredAction | 'OAUTH_GRANT';

/** The page's id, the form's or none, and its fields with their types, which for a button is its id. */
type Layout = readonly [pageId: string, formId: string, ...fields: (readonly [name: string, type: string])[]];

const CREDENTIAL = ['credentialId', 'hidden'] as const;
const LOGIN = ['login', 'kc-login'] as const;

const LAYOUTS: Readonly<Record<Step, Layout>> = {
  username: ['login-username', 'kc-form-login', ['username', 'text'], LOGIN],
  login: ['login', 'kc-form-login', ['username', 'text'], ['password', 'password'], CREDENTIAL, LOGIN],
  password: ['login', 'kc-form-login', ['password', 'password'], CREDENTIAL, LOGIN],
  otp: ['login-otp', 'kc-otp-login-form', ['otp', 'text'], ['selectedCredentialId', 'hidden'], LOGIN],
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
  /** The field tells that it was wrong, or a message stands above the form. */
  readonly feedback: 'wrong' | 'message' | undefined;
  readonly hasCaptcha: boolean;
}

export function stepPage(step: Step, parts: PageParts): Reply {
  const { action, feedback, hasCaptcha } = parts;
  const [pageId, formId, ...fields] = LAYOUTS[step];
  const rows = fields.map(([name, type], at) => row(name, type, parts, feedback === 'wrong' && at === 0));
  if (hasCaptcha && (step === 'login' || step === 'password'))
    rows.push('<div class="g-recaptcha" data-sitekey="an-invented-key"></div>');
  const id = formId && `id="${formId}"`;
  const form = `<form ${id} action="${escaped(action)}" method="${id ? 'post' : 'POST'}">${rows.join('\n')}</form>`;
  const alert = feedback === 'message' && formId ? '<span class="kc-feedback-text">Not now.</span>' : '';
  return page(pageId, alert + (fields.length > 0 ? form : '<p>A letter with a link is on its way.</p>'));
}

export const expiredPage = (): Reply =>
  page('login-page-expired', '<p id="instruction1"><a id="loginRestartLink" href="#">Again</a></p>');

export const errorPage = (words: string, status = 400): Reply =>
  page('error', `<div id="kc-error-message"><p>${escaped(words)}</p></div>`, status);

function page(pageId: string, content: string, status = 200): Reply {
  const body = `<html lang="en"><title>Sign in to energy</title><body id="keycloak-bg" data-page-id="login-${pageId}">
<main id="kc-content">${content}</main></body></html>\n`;
  return { status, body: `<!DOCTYPE html>\n${body}`, headers: { 'content-type': 'text/html;charset=utf-8' } };
}

function row(name: string, type: string, { sessionCode, username }: PageParts, isWrong: boolean): string {
  if (type.startsWith('kc-')) return `<button type="submit" name="${name}" id="${type}">${name}</button>`;
  const values: Record<string, string> = { username, code: sessionCode };
  const input = `<input type="${type}" name="${name}" value="${escaped(values[name] ?? '')}"`;
  if (type === 'hidden') return `${input}>`;
  const error = `<div id="input-error-${name}"><span class="kc-feedback-text">No.</span></div>`;
  return `${input} id="${name}" aria-invalid="${isWrong || ''}">${isWrong ? error : ''}`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
