// Signs in on the issuer's login page without a browser: from the authorization address to the redirect with the code.
// Execution ids, field names and types decide, never words: themes and languages differ. The only door to tough-cookie.
import { CookieJar } from 'tough-cookie';
import { type Clock, withDeadline } from '../foundation/clock.ts';
import { Failure } from '../foundation/failure.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import type { HttpResponse, Send } from '../http/client.ts';
import { issuerUnreachable, unreachable } from './issuerTrouble.ts';
import type { Credentials } from './login.ts';
import { type Field, type Form, isButton, type Page, readPage, successful, words } from './loginPage.ts';
import { withQuery } from './oidc.ts';
import { classifyRedirectError, LoginRefused, REFUSALS } from './refusals.ts';

/** Its code is asked for only when the page wants one, and once. */
export interface FormSignIn extends Credentials {
  /** It carries everything that the request for a code needs. */
  readonly authorizationUrl: URL;
  readonly redirectUri: string;
  /** Agrees where the page asks for consent: the configuration asks for more than a login. */
  readonly mayConsent: boolean;
  readonly send: Send;
  readonly timeoutSeconds: number;
  /** `provider.ca_file`. */
  readonly caFile?: string | undefined;
  readonly clock: Clock;
}

/** A form that asks for several is taken to ask for the first of these. */
const ANSWERS = ['password', 'code', 'username'] as const;
type Asked = (typeof ANSWERS)[number];

/** A form that a person would fill in. */
interface Question {
  readonly form: Form;
  readonly asked: Asked;
  readonly fields: { readonly [asked in Asked]?: Field | undefined };
}

interface Request {
  readonly url: URL;
  /** `null`: a GET. */
  readonly body: string | null;
}

const MOST_REQUESTS = 12;
const LARGEST_PAGE_BYTES = 1024 * 1024;
const HTML = /^(text\/html|application\/xhtml\+xml)\b/;
// Keycloak's templates name their pages so; any other name is a text of the other side, and is not repeated.
const PLAIN_ID = /^login-[a-z]+(-[a-z]+){0,7}$/;

/** Keycloak's required actions by their `execution`. */
const ACTIONS = new Map([
  ['UPDATE_PASSWORD', 'choose a new password'],
  ['CONFIGURE_TOTP', 'set up a second factor'],
  ['webauthn-register', 'set up a second factor'],
  ['UPDATE_PROFILE', 'complete the profile'],
  ['VERIFY_PROFILE', 'complete the profile'],
  ['TERMS_AND_CONDITIONS', 'accept the terms'],
  ['VERIFY_EMAIL', 'confirm the e-mail address'],
  ['OAUTH_GRANT', 'consent to what this program asks for'],
]);

/**
 * Posts the password at most once, and only to the issuer's origin. Resolves to the redirect address as the issuer
 * completed it: code and state are in its query. Rejects with LoginRefused, RefusedForNow or issuer_unreachable.
 */
export async function signInByForm(options: FormSignIn): Promise<URL> {
  const { authorizationUrl, redirectUri, mayConsent } = options;
  const visitor = new Visitor(options);
  let next: Request = { url: authorizationUrl, body: null };
  for (let left = MOST_REQUESTS; left > 0; left -= 1) {
    next = await visitor.visit(next);
    if (isAt(next.url, new URL(redirectUri))) return answerAt(next.url, visitor.hasGivenPassword);
    if (next.url.origin !== authorizationUrl.origin) throw unsupported('to go on at another site');
    rejectIfAction(next.url, mayConsent);
  }
  throw trouble('leads from address to address without an end');
}

/** It stands for the browser of one sign-in: it has cookies, and remembers what it has posted. */
class Visitor {
  readonly #options: FormSignIn;
  readonly #cookies = new CookieJar();
  /** The fields posted already, and the execution that had asked for them. */
  readonly #given = new Map<Asked, string | null>();
  #hasConsented = false;

  constructor(options: FormSignIn) {
    this.#options = options;
  }

  get hasGivenPassword(): boolean {
    return this.#given.has('password');
  }

  /** Resolves to what a browser would ask for next. */
  async visit(request: Request): Promise<Request> {
    const response = await this.#send(request);
    const { status, headers, body } = response;
    const { location } = headers;
    if (status >= 300 && status < 400 && typeof location === 'string')
      return redirected(request, status, location);
    if (status !== 200) throw this.#refusalOf(request, response);
    if (!HTML.test(String(headers['content-type']).toLowerCase())) throw trouble('is not HTML');
    if (body.length > LARGEST_PAGE_BYTES) throw trouble('is too large');
    return this.#answer(readPage(body.toString(), request.url), request.url);
  }

  #answer(page: Page, url: URL): Promise<Request> | Request {
    const { mayConsent } = this.#options;
    for (const { action } of page.forms) if (action !== null) rejectIfAction(action, mayConsent);
    const questions = page.forms.flatMap(questionIn);
    const [question] = ANSWERS.flatMap((asked) => questions.filter((candidate) => candidate.asked === asked));
    if (question) return this.#fill(page, question);
    const consent = mayConsent && !this.#hasConsented && this.hasGivenPassword ? consentOn(page) : null;
    if (consent === null) return this.#goOn(page, url);
    this.#hasConsented = true;
    return consent;
  }

  async #send({ url, body }: Request): Promise<HttpResponse> {
    const { clock, timeoutSeconds, caFile, send } = this.#options;
    const headers: Record<string, string> = { accept: 'text/html,application/xhtml+xml' };
    const cookie = this.#cookies.getCookieStringSync(url.href);
    if (cookie !== '') headers.cookie = cookie;
    if (body !== null) headers['content-type'] = 'application/x-www-form-urlencoded';
    const method = body === null ? 'GET' : 'POST';
    const request = { method, headers, body, followRedirects: false };
    try {
      const response = await withDeadline(clock, timeoutSeconds * 1000, undefined, (signal) =>
        send(url, { ...request, signal }),
      );
      for (const line of [response.headers['set-cookie'] ?? []].flat())
        this.#cookies.setCookieSync(line, url.href, { ignoreError: true });
      return response;
    } catch (err) {
      throw err instanceof Failure ? err : unreachable(err, clock.now(), caFile);
    }
  }

  #refusalOf({ body: posted }: Request, { status, headers, body }: HttpResponse): Failure {
    if (status === 400 && this.#given.size === 0) return new LoginRefused(REFUSALS.wrongClient);
    const isOfPassword = posted !== null && this.hasGivenPassword;
    if (isOfPassword && (status === 401 || status === 403))
      return new LoginRefused(isErrorPage(body) ? REFUSALS.refusedOtherwise : REFUSALS.badCredentials);
    const waitMs = retryAfterMs(headers['retry-after'], this.#options.clock.now());
    return trouble(`answered with HTTP ${status}`, waitMs);
  }

  async #fill(page: Page, { form, asked, fields }: Question): Promise<Request> {
    const { action } = form;
    if (form.hasCaptcha) throw unsupported('a captcha');
    if (action === null) throw unsupported('to go on at another site');
    const execution = action.searchParams.get('execution');
    const before = this.#given.get(asked);
    if (before !== undefined) throw refusal(page, form, asked, before === execution);
    const { username, password } = this.#options;
    const code = asked === 'code' ? await this.#options.code?.() : null;
    if (asked === 'code' && code == null) throw new LoginRefused(REFUSALS.secondFactor);
    const values = { username, password, code };
    const body = successful(form);
    for (const name of ANSWERS) {
      const field = fields[name];
      if (!field) continue;
      body.set(field.name, values[name] ?? '');
      this.#given.set(name, execution);
    }
    return { url: action, body: body.toString() };
  }

  /** Nothing is to be filled in. */
  #goOn({ id, ids, forms, refresh }: Page, url: URL): Request {
    if (refresh !== null) return { url: refresh, body: null };
    if (id?.endsWith('login-page-expired') || ids.has('loginRestartLink')) throw trouble('has expired');
    if (id?.endsWith('-verify-email')) throw notSetUp('confirm the e-mail address');
    const isLoggedIn = this.hasGivenPassword;
    if (isLoggedIn && forms.some(({ fields }) => fields.some(isNewPassword)))
      throw notSetUp('choose a new password');
    const isOfIssuer = id !== null || this.#cookies.getCookieStringSync(url.href) !== '';
    if (!isLoggedIn && !isOfIssuer) throw trouble('is not there: some other page answers in its place');
    throw unsupported(PLAIN_ID.test(id ?? '') ? `page ${id}` : null);
  }
}

function redirected(request: Request, status: number, location: string): Request {
  // A browser would post once more.
  const isRepeated = request.body !== null && (status === 307 || status === 308);
  if (isRepeated || !URL.canParse(location, request.url.href))
    throw trouble('redirects to no usable address');
  return { url: new URL(location, request.url), body: null };
}

/** The page asks again for what was posted. */
function refusal({ ids, classes }: Page, { fields }: Form, asked: Asked, isSame: boolean): LoginRefused {
  if (asked === 'code') return isSame ? new LoginRefused(REFUSALS.codeRefused) : unsupported('another code');
  // A theme that marks wrong fields, and marks none, says something about the account.
  const marksFields = fields.some(({ attributes }) => attributes['aria-invalid'] !== undefined);
  // A theme of Keycloak has `#input-error-container-…` on every page.
  const isMarked = [...ids].some((id) => /^input-error(?!-container)/.test(id));
  const isDisabled = isSame && marksFields && !isMarked && classes.has('kc-feedback-text');
  // Another execution counts as well: that costs minutes, the opposite may get the account locked.
  return new LoginRefused(isDisabled ? REFUSALS.accountDisabled : REFUSALS.badCredentials);
}

/**
 * Keycloak's own page for what is wrong: a limit of sessions, for one. Others than Keycloak refuse a password with such a status: in
 * doubt it is wrong, since each repetition might count towards a lock.
 */
function isErrorPage(body: Buffer): boolean {
  const { id, ids } = readPage(body.toString(), new URL('https://page.invalid'));
  return id?.endsWith('-error') === true || ids.has('kc-error-message');
}

/** `[]`: nobody would fill it in to log in. */
function questionIn(form: Form): Question[] {
  const code = form.fields.find(isCode);
  const passwords = form.fields.filter((field) => field.type === 'password' && field !== code);
  const [password] = passwords;
  // A form with a new password, or with one to repeat, is another one than that of the login; without names it is for scripts.
  if (passwords.length > 1 || password?.name === '' || passwords.some(isNewPassword)) return [];
  const texts = form.fields.filter((field) => isTyped(field) && field !== code);
  const username = texts.find(isUsername) ?? (password && texts.length === 1 ? texts[0] : undefined);
  const isUnknown = (field: Field) =>
    field !== username && field.attributes.required !== undefined && field.value === '';
  if (texts.some(isUnknown)) return [];
  if (password) return [{ form, asked: 'password', fields: { password, username } }];
  if (code) return [{ form, asked: 'code', fields: { code } }];
  return username ? [{ form, asked: 'username', fields: { username } }] : [];
}

const isTyped = ({ type, name }: Field) => ['text', 'email', 'tel', 'number'].includes(type) && name !== '';

// Codes on paper cannot be computed; some pages write one-time-code at the password itself.
const isCode = (field: Field) =>
  (field.name === 'otp' && field.type !== 'hidden') ||
  (isTyped(field) &&
    field.name !== 'recoveryCodeInput' &&
    words(field.attributes.autocomplete).includes('one-time-code'));

const isNewPassword = ({ type, name, attributes }: Field) =>
  type === 'password' && (name === 'password-new' || words(attributes.autocomplete).includes('new-password'));

const isUsername = ({ name, attributes }: Field) =>
  name === 'username' ||
  words(attributes.autocomplete).some((word) => word === 'username' || word === 'email');

/** The agreement to what the page asks consent for; `null`: it asks for something else. */
function consentOn({ forms }: Page): Request | null {
  const [form, ...others] = forms.filter(isConsent);
  if (form?.action == null || others.length > 0) return null;
  // Keycloak's page has a second button, to decline.
  const declines = form.fields.some(isAccept)
    ? form.fields.filter((field) => isButton(field) && !isAccept(field))
    : [];
  const fields = form.fields.filter((field) => !declines.includes(field));
  return { url: form.action, body: successful({ ...form, fields }).toString() };
}

/** Its address tells, or what it sends along: terms to be accepted look just like it otherwise. */
const isConsent = ({ action, fields, hasCaptcha }: Form): boolean =>
  !hasCaptcha &&
  fields.every((field) => field.type === 'hidden' || isButton(field)) &&
  (/consent/i.test(action?.pathname ?? '') ||
    fields.some(({ type, name, value }) => type === 'hidden' && [name, value].includes('consent')));

const isAccept = (field: Field) => isButton(field) && field.name === 'accept';

function isAt(url: URL, redirectUri: URL): boolean {
  return (['protocol', 'host', 'pathname'] as const).every((part) => url[part] === redirectUri[part]);
}

function answerAt(url: URL, isAfterPassword: boolean): URL {
  const answer = withQuery(url);
  const error = answer.searchParams.get('error');
  if (error !== null) throw classifyRedirectError(error, isAfterPassword) ?? trouble('gave up');
  if (!answer.searchParams.has('code')) throw trouble('came to its end without a code');
  return answer;
}

/** It looks at the address alone: Keycloak sends a letter whenever its page for confirming an e-mail address is fetched. */
function rejectIfAction({ pathname, searchParams }: URL, mayConsent: boolean): void {
  const execution = searchParams.get('execution') ?? '';
  if (mayConsent && execution === 'OAUTH_GRANT') return;
  const action = ACTIONS.get(execution);
  if (action !== undefined) throw notSetUp(action);
  if (pathname.endsWith('/login-actions/required-action')) throw notSetUp('do what the page asks for');
}

function notSetUp(action: string): LoginRefused {
  const message = `The account waits for something only its owner can do: ${action}.`;
  return new LoginRefused({ ...REFUSALS.notSetUp, message });
}

/** `null`: it cannot be named. */
function unsupported(step: string | null): LoginRefused {
  const { message } = REFUSALS.unsupportedStep;
  const named = step === null ? message : message.replace(/\.$/, `: ${step}.`);
  return new LoginRefused({ ...REFUSALS.unsupportedStep, message: named });
}

/** Nothing is known about the credentials. */
const trouble = (what: string, waitMs: number | null = null) =>
  issuerUnreachable(`The issuer's login page ${what}.`, {
    retry: 'later',
    hint: 'It usually passes by itself, and says nothing about the password. If it lasts, check provider.issuer.',
    retryAfterMs: waitMs,
  });
