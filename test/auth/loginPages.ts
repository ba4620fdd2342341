// An issuer's login page that answers from a script, beside a foreign site; every request and posted field is kept.

import { createServer } from 'node:http';
import { onTestFinished } from 'vitest';
import { type FormSignIn, signInByForm } from '../../src/auth/form.ts';
import { Failure } from '../../src/foundation/failure.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { handClock } from '../support/clock.ts';
import { listening } from '../support/listening.ts';

export const USERNAME = 'anna@example.org';
export const PASSWORD = 'pässw0rd & more';
export const REDIRECT_URI = 'https://portal.example.net/signed-in';

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** ORIGIN and FOREIGN stand for the two addresses. */
  readonly body?: string | Buffer;
  /** The connection breaks. */
  readonly isReset?: boolean;
}

export interface Seen {
  readonly at: 'issuer' | 'foreign';
  readonly method: string;
  readonly path: string;
  readonly cookie: string;
  readonly type: string;
  readonly text: string;
  readonly fields: URLSearchParams;
}

const HTML = 'text/html;charset=utf-8';
export const html = (body: string, more: Omit<Answer, 'body'> = {}): Answer => ({
  ...more,
  headers: { 'content-type': HTML, ...more.headers },
  body,
});
export const redirect = (location: string, status = 302): Answer => ({ status, headers: { location } });
export const done = redirect(`${REDIRECT_URI}?state=s1&iss=issuer&code=c1`);

export const actionOf = (execution: string) =>
  `ORIGIN/realms/energy/login-actions/authenticate?session_code=x&amp;execution=${execution}&amp;tab_id=t`;
const SUBMIT = '<input name="login" type="submit" value="Sign In">';
/** As Keycloak shows it; `marks` stands below the fields, `above` before the form. */
export const loginForm = (execution = 'e1', marks = '', above = '') =>
  `<body data-page-id="login-login">${above}<form id="kc-form-login" action="${actionOf(execution)}" method="post">
  <input id="username" name="username" value="" type="text" autocomplete="username" aria-invalid="">${marks}
  <input id="password" name="password" type="password" autocomplete="current-password" aria-invalid="">
  <div id="input-error-container-password"></div>
  <input type="hidden" name="credentialId">${SUBMIT}</form></body>`;
export const COOKIES = ['AUTH_SESSION_ID=a1', 'KC_RESTART=r1'].map(
  (cookie) => `${cookie}; Path=/realms/energy/; HttpOnly; Secure; SameSite=None`,
);
export const login = (execution = 'e1', marks = '', above = '') =>
  html(loginForm(execution, marks, above), { headers: { 'set-cookie': COOKIES } });
export const otp = (execution = 'e2', more = '') =>
  html(`<body data-page-id="login-login-otp"><form id="kc-otp-login-form" action="${actionOf(execution)}" method="post">
  ${more}<input id="otp" name="otp" autocomplete="one-time-code" type="text">${SUBMIT}</form></body>`);

export const ERROR = '<span id="input-error" aria-live="polite">No.</span>';
export const ALERT = '<div class="alert"><span class="pf-title kc-feedback-text">No.</span></div>';
export const passwordPage = (execution: string, marks = '') =>
  html(
    `<form action="${actionOf(execution)}" method="post"><input name="password" type="password">${marks}</form>`,
  );
export const usernamePage = (marks = '') =>
  html(
    `<form action="${actionOf('u1')}" method="post"><input name="username" aria-invalid="">${marks}</form>`,
  );
export const kept = (body: string) => html(body, { headers: { 'set-cookie': 'AUTH_SESSION_ID=a1' } });
export const error = (answer: string) => redirect(`${REDIRECT_URI}?state=s1&${answer}`);
/** Keycloak leads to the page of a required action. */
export const action = (execution: string) =>
  redirect(
    `/realms/energy/login-actions/required-action?execution=${execution}&client_id=self-care&tab_id=t`,
  );
export const withIn = (inside: string) => html(loginForm().replace('</form>', `${inside}</form>`));
export const page = (id: string, inside: string) => kept(`<body data-page-id="${id}">${inside}</body>`);

/** Answers one after the other, the last one again and again. */
export async function openLoginPages(...script: readonly Answer[]) {
  let answers = script;
  const seen: Seen[] = [];
  const serve = async (at: Seen['at']) => {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request;
        const text = Buffer.concat(parts).toString();
        const { cookie = '', 'content-type': type = '' } = headers;
        seen.push({ at, method, path, cookie, type, text, fields: new URLSearchParams(text) });
        const answer = answers[Math.min(seen.length, answers.length) - 1] ?? {};
        if (answer.isReset) request.socket.destroy();
        const { status = 200, body = '' } = answer;
        const named = Object.entries(answer.headers ?? {}).map(
          ([name, value]): [string, string | string[]] => [
            name,
            typeof value === 'string' ? filled(value) : value.map(filled),
          ],
        );
        response.writeHead(status, Object.fromEntries(named));
        response.end(typeof body === 'string' ? filled(body) : body);
      });
    });
    const port = await listening(server);
    onTestFinished(() => void server.close().closeAllConnections());
    return port;
  };
  const origin = `http://127.0.0.1:${await serve('issuer')}`;
  const foreign = `http://localhost:${await serve('foreign')}`;
  const filled = (text: string) => text.replaceAll('ORIGIN', origin).replaceAll('FOREIGN', foreign);
  const clock = handClock('2026-11-22T12:00:00Z');
  const { send } = createHttpClient(clock);
  return {
    origin,
    clock,
    seen,
    /** Begins another script. */
    play(...others: readonly Answer[]) {
      answers = others;
      seen.length = 0;
    },
    /** The requests that carry this value, in whatever place. */
    posted: (value: string) => seen.filter(({ text, path }) => carries(text, value) || carries(path, value)),
    signIn: (changes: Partial<FormSignIn> = {}) =>
      signInByForm({
        authorizationUrl: new URL(`${origin}/realms/energy/auth?client_id=self-care&state=s1`),
        redirectUri: REDIRECT_URI,
        username: USERNAME,
        password: PASSWORD,
        code: null,
        mayConsent: false,
        send,
        timeoutSeconds: 30,
        clock,
        ...changes,
      }),
  };
}

type LoginPages = Awaited<ReturnType<typeof openLoginPages>>;

const carries = (text: string, value: string) =>
  [value, encodeURIComponent(value), new URLSearchParams({ v: value }).toString().slice(2)].some((form) =>
    text.includes(form),
  );

/** The code, or that of the refusal with what is told about it. */
export async function outcomeOf(pages: LoginPages, changes: Partial<FormSignIn> = {}) {
  try {
    const url = await pages.signIn(changes);
    return { code: `signed in with ${url.searchParams.get('code')}`, failure: null, url };
  } catch (err) {
    if (!(err instanceof Failure)) throw err;
    return { code: err.code, failure: err, url: null };
  }
}
