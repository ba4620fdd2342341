// Signs in on the issuer's login page without a browser: from the authorization address to the redirect with the code.
// Execution ids, field names and types decide, never words: themes and languages differ.

import { Parser } from 'htmlparser2';
import { CookieJar } from 'tough-cookie';
import { type Clock, deadline } from '../foundation/clock.ts';
import { Failure } from '../foundation/failure.ts';
import { retryAfterMs } from '../foundation/retry.ts';
import type { HttpRequest, HttpResponse } from '../http/client.ts';
import { IssuerUnreachable, unreachable } from './issuerTrouble.ts';
import { withQuery } from './oidc.ts';
import { classifyRedirectError, LoginRefused, REFUSALS } from './refusals.ts';

export interface FormSignIn {
  /** With everything that the request for a code needs. */
  readonly authorizationUrl: URL;
  readonly redirectUri: string;
  readonly username: string;
  readonly password: string;
  /** Asked only when the page wants a code, and once. `null`: there is none. */
  readonly oneTimeCode: (() => Promise<string | null>) | null;
  /** Agrees where the page asks for consent: the configuration asks for more than a login. */
  readonly mayConsent: boolean;
  readonly send: (url: URL, request: HttpRequest) => Promise<HttpResponse>;
  readonly timeoutSeconds: number;
  /** `provider.ca_file`. */
  readonly caFile?: string | undefined;
  readonly clock: Clock;
}

/** The fields that a page asks for. */
type Asked = 'username' | 'password' | 'code';

interface Request {
  readonly url: URL;
  /** `null`: a GET. */
  readonly body: string | null;
}

const MOST_REQUESTS = 12;
const LARGEST_PAGE_BYTES = 1024 * 1024;

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
 * completed it: code and state are in its query. Rejects with LoginRefused, RefusedForNow or IssuerUnreachable.
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

/** What a browser is in one sign-in: its cookies, and what it has posted. */
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
    const type = String(headers['content-type'] ?? '').toLowerCase();
    if (!/^(text\/html|application\/xhtml\+xml)\b/.test(type)) throw trouble('is not HTML');
    if (body.length > LARGEST_PAGE_BYTES) throw trouble('is too large');
    const page = readPage(body.toString(), request.url);
    for (const { action } of page.forms)
      if (action !== null) rejectIfAction(action, this.#options.mayConsent);
    const form = formToFill(page);
    return form ? this.#fill(page, form) : (this.#consent(page) ?? this.#withoutForm(page, request.url));
  }

  #refusalOf(request: Request, { status, headers, body }: HttpResponse): Failure {
    if (status === 400 && this.#given.size === 0) return new LoginRefused(REFUSALS.wrongClient);
    const isOfPassword = request.body !== null && this.hasGivenPassword;
    if (isOfPassword && (status === 401 || status === 403))
      return new LoginRefused(isErrorPage(body) ? REFUSALS.refusedOtherwise : REFUSALS.badCredentials);
    const waitMs = retryAfterMs(headers['retry-after'], this.#options.clock.now());
    return trouble(`answered with HTTP ${status}`, waitMs);
  }

  async #send({ url, body }: Request): Promise<HttpResponse> {
    const { clock, timeoutSeconds, caFile, send } = this.#options;
    const cookie = this.#cookies.getCookieStringSync(url.href);
    const limit = deadline(clock, timeoutSeconds * 1000);
    try {
      const response = await send(url, {
        method: body === null ? 'GET' : 'POST',
        headers: {
          accept: 'text/html,application/xhtml+xml',
          ...(cookie === '' ? {} : { cookie }),
          ...(body === null ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        body,
        signal: limit.signal,
        followRedirects: false,
      });
      for (const line of [response.headers['set-cookie'] ?? []].flat())
        this.#cookies.setCookieSync(line, url.href, { ignoreError: true });
      return response;
    } catch (err) {
      throw err instanceof Failure ? err : unreachable(err, clock.now(), caFile);
    } finally {
      limit.clear();
    }
  }

  async #fill(page: Page, { form, asked, fields }: FormToFill): Promise<Request> {
    const { action } = form;
    if (form.hasCaptcha) throw unsupported('a captcha');
    if (action === null) throw unsupported('to go on at another site');
    const execution = action.searchParams.get('execution');
    const before = this.#given.get(asked);
    if (before !== undefined) throw refusal(page, form, asked, before === execution);
    const { username, password, oneTimeCode } = this.#options;
    const code = asked === 'code' ? await oneTimeCode?.() : null;
    if (asked === 'code' && code == null) throw new LoginRefused(REFUSALS.secondFactor);
    const values = { username, password, code };
    const body = successful(form);
    for (const [name, field] of Object.entries(fields) as [Asked, Field][]) {
      body.set(field.name, values[name] ?? '');
      this.#given.set(name, execution);
    }
    return { url: action, body: body.toString() };
  }

  /** `null`: the page asks for something else. */
  #consent({ forms }: Page): Request | null {
    if (!this.#options.mayConsent || this.#hasConsented || !this.hasGivenPassword) return null;
    const [form, ...others] = forms.filter(isConsent);
    if (form?.action == null || others.length > 0) return null;
    this.#hasConsented = true;
    return { url: form.action, body: successful(withAccept(form)).toString() };
  }

  #withoutForm({ id, ids, forms, refresh }: Page, url: URL): Request {
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
  if (body.length > LARGEST_PAGE_BYTES) return false;
  const { id, ids } = readPage(body.toString(), new URL('https://page.invalid'));
  return id?.endsWith('-error') === true || ids.has('kc-error-message');
}

// As Keycloak's templates name their pages; any other is a text of the other side.
const PLAIN_ID = /^login-[a-z]+(-[a-z]+){0,7}$/;

type FormToFill = NonNullable<ReturnType<typeof formToFill>>;

/** The form that a person would fill in next: with the password, else the code, else only the user name. */
function formToFill({ forms }: Page) {
  const found = forms.flatMap((form) => {
    const fields = fieldsToFill(form);
    const [asked] = (['password', 'code', 'username'] as const).filter((name) => fields[name]);
    return asked ? [{ form, asked, fields }] : [];
  });
  const of = (wanted: Asked) => found.find(({ asked }) => asked === wanted);
  return of('password') ?? of('code') ?? of('username') ?? null;
}

function fieldsToFill({ fields }: Form): { [asked in Asked]?: Field } {
  const code = fields.find(isCode);
  const passwords = fields.filter((field) => field.type === 'password' && field !== code);
  const [password] = passwords;
  // A form with a new password, or with one to repeat, is another one than that of the login; without names it is for scripts.
  if (passwords.length > 1 || password?.name === '' || passwords.some(isNewPassword)) return {};
  const texts = fields.filter((field) => isTyped(field) && field !== code);
  const named = texts.find(isUsername);
  const username = named ?? (password && texts.length === 1 ? texts[0] : undefined);
  const unknown = ({ attributes, value }: Field) => attributes.required !== undefined && value === '';
  if (texts.some((field) => field !== username && unknown(field))) return {};
  if (password) return { password, ...(username ? { username } : {}) };
  if (code) return { code };
  return username ? { username } : {};
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

/** Its address tells, or what it sends along: terms to be accepted look just like it otherwise. */
const isConsent = ({ action, fields, hasCaptcha }: Form): boolean =>
  !hasCaptcha &&
  fields.every(({ type }) => type === 'hidden' || type === 'submit') &&
  (/consent/i.test(action?.pathname ?? '') ||
    fields.some(({ type, name, value }) => type === 'hidden' && [name, value].includes('consent')));

/** Keycloak's page has a second button, to decline. */
function withAccept(form: Form): Form {
  const isAccept = ({ type, name }: Field) => type === 'submit' && name === 'accept';
  if (!form.fields.some(isAccept)) return form;
  return { ...form, fields: form.fields.filter((field) => field.type !== 'submit' || isAccept(field)) };
}

/** The fields that a browser sends of the form; of buttons the only one. */
function successful({ fields }: Form): URLSearchParams {
  const isButton = ({ type }: Field) => type === 'submit';
  const buttons = fields.filter(isButton).length;
  const sent = fields.filter((field) => {
    if (field.name === '' || ['button', 'reset', 'image', 'file'].includes(field.type)) return false;
    if (field.type === 'checkbox' || field.type === 'radio') return field.attributes.checked !== undefined;
    return !isButton(field) || buttons === 1;
  });
  return new URLSearchParams(sent.map(({ name, value }): [string, string] => [name, value]));
}

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

/** Of the address alone: Keycloak sends a letter whenever its page for confirming an e-mail address is fetched. */
function rejectIfAction({ pathname, searchParams }: URL, mayConsent: boolean): void {
  const execution = searchParams.get('execution') ?? '';
  if (mayConsent && execution === 'OAUTH_GRANT') return;
  const action = ACTIONS.get(execution);
  if (action !== undefined) throw notSetUp(action);
  if (pathname.endsWith('/login-actions/required-action')) throw notSetUp('do what the page asks for');
}

const notSetUp = (action: string) =>
  new LoginRefused({
    ...REFUSALS.notSetUp,
    message: `The account waits for something only its owner can do: ${action}.`,
  });

const unsupported = (what: string | null) =>
  new LoginRefused({
    ...REFUSALS.unsupportedStep,
    ...(what === null ? {} : { message: REFUSALS.unsupportedStep.message.replace(/\.$/, `: ${what}.`) }),
  });

/** Nothing is known about the credentials. */
const trouble = (what: string, wait: number | null = null) =>
  new IssuerUnreachable(`The issuer's login page ${what}.`, {
    retry: 'later',
    hint: 'It usually passes by itself, and says nothing about the password. If it lasts, check provider.issuer.',
    ...(wait === null ? {} : { retryAfterMs: wait }),
  });

type Attributes = Readonly<Record<string, string>>;

interface Element {
  readonly name: string;
  readonly attributes: Attributes;
  /** The form that is open where it stands. */
  readonly within: Element | null;
}

export interface Field {
  readonly name: string;
  /** In lower case; that of a button is `submit` unless it says otherwise. */
  readonly type: string;
  readonly value: string;
  readonly attributes: Attributes;
}

/** A form that is sent by POST. */
export interface Form {
  /** `null`: not an address. */
  readonly action: URL | null;
  /** Without those that are disabled. */
  readonly fields: readonly Field[];
  /** Also for one that belongs to no form: a script joins the two. */
  readonly hasCaptcha: boolean;
}

export interface Page {
  /** Keycloak's own themes say which page it is. */
  readonly id: string | null;
  readonly forms: readonly Form[];
  /** The target of a `<meta http-equiv="refresh">` that leads there soon. */
  readonly refresh: URL | null;
  readonly ids: ReadonlySet<string>;
  readonly classes: ReadonlySet<string>;
}

// The parser's time grows with the square of the depth. Honest pages stay below a hundred.
const DEEPEST = 1000;

function readPage(html: string, address: URL): Page {
  const elements = elementsIn(html);
  const textOf = (attribute: string) =>
    elements.find(({ attributes }) => attributes[attribute] !== undefined)?.attributes[attribute];
  const baseHref = elements.find(({ name, attributes }) => name === 'base' && attributes.href !== undefined);
  const base = resolve(baseHref?.attributes.href ?? '', address) ?? address;
  const refresh = elements.find(
    ({ name, attributes }) => name === 'meta' && attributes['http-equiv']?.toLowerCase() === 'refresh',
  );
  const refreshTo = REFRESH.exec(refresh?.attributes.content ?? '')?.[1];
  return {
    id: textOf('data-page-id') ?? null,
    forms: formsIn(elements, (href) => resolve(href, base), address),
    refresh: refreshTo === undefined ? null : resolve(refreshTo, base),
    ids: new Set(elements.flatMap(({ attributes }) => attributes.id ?? [])),
    classes: new Set(elements.flatMap(({ attributes }) => words(attributes.class))),
  };
}

/** The words of an attribute that is a list, such as `class` and `autocomplete`. */
export const words = (list: string | undefined): string[] => (list ?? '').toLowerCase().split(/\s+/);

// Below ten seconds: a longer one is the end of a session.
const REFRESH = /^\s*\d?\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i;

const resolve = (href: string, base: URL): URL | null =>
  URL.canParse(href, base.href) ? new URL(href, base) : null;

function elementsIn(html: string): Element[] {
  const elements: Element[] = [];
  let form: Element | null = null;
  let depth = 0;
  let templates = 0;
  const parser = new Parser({
    onopentag(name, attributes) {
      depth += 1;
      if (depth > DEEPEST) parser.pause();
      if (name === 'template') templates += 1;
      // A template is no part of the page.
      if (templates > 0) return;
      const element = { name, attributes, within: form };
      elements.push(element);
      if (name === 'form') form = element;
    },
    onclosetag(name, isImplied) {
      depth -= 1;
      if (name === 'template') templates -= 1;
      // Browsers do the same: only its own end tag closes a form, not the end of what it stands in.
      if (name === 'form' && !isImplied) form = null;
    },
  });
  parser.end(html);
  return elements;
}

function formsIn(elements: readonly Element[], resolved: (href: string) => URL | null, address: URL): Form[] {
  const forms = elements.filter(({ name }) => name === 'form');
  const byId = new Map(forms.map((form) => [form.attributes.id, form]).reverse() as [string, Element][]);
  const ownerOf = ({ attributes, within }: Element) =>
    attributes.form === undefined ? within : (byId.get(attributes.form) ?? null);
  const fields = new Map<Element | null, Field[]>([null, ...forms].map((form) => [form, []]));
  for (const element of elements.filter(isField)) fields.get(ownerOf(element))?.push(toField(element));
  const captchas = new Set(elements.filter(isCaptcha).map(ownerOf));
  return forms
    .filter(({ attributes }) => attributes.method?.trim().toLowerCase() === 'post')
    .map((form) => {
      const own = fields.get(form) ?? [];
      const buttons = own.filter(({ type }) => type === 'submit');
      const href = (buttons.length === 1 && buttons[0]?.attributes.formaction) || form.attributes.action;
      // Without an action a form goes to the page itself, whatever the base is.
      const action = href ? resolved(href) : address;
      return { action, fields: own, hasCaptcha: captchas.has(form) || captchas.has(null) };
    });
}

const isField = ({ name, attributes }: Element) =>
  (name === 'input' || name === 'button') && attributes.disabled === undefined;

function toField({ name, attributes }: Element): Field {
  const type = (attributes.type ?? (name === 'button' ? 'submit' : 'text')).trim().toLowerCase();
  const value = attributes.value ?? (type === 'checkbox' || type === 'radio' ? 'on' : '');
  return { name: attributes.name ?? '', type, value, attributes };
}

const CAPTCHA = /captcha|turnstile|altcha/i;

const isCaptcha = ({ name, attributes }: Element) =>
  attributes['data-sitekey'] !== undefined ||
  [name, attributes.id, attributes.class, attributes.name, attributes.src].some((text) =>
    CAPTCHA.test(text ?? ''),
  );
