// The authorization code flow: the login page and what may follow it, up to the code and its exchange.
import { randomUUID } from 'node:crypto';
import type { Account } from '../accounts.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { drawFor, uuidFrom } from '../random.ts';
import { errorPage, expiredPage, type Step, stepPage } from './loginPages.ts';
import {
  challengeFault,
  type Form,
  failed,
  type Grant,
  REALM_PATH,
  type Realm,
  scopesIn,
  verifierFault,
} from './protocol.ts';
import type { Session } from './sessions.ts';

/** One login page that is open in a browser. */
interface Tab {
  readonly id: string;
  readonly cookie: string;
  readonly request: Form;
  readonly scopes: readonly string[];
  step: Step | 'done';
  /** Changes with each page, so that no form is taken twice. */
  sessionCode: string;
  username: string;
  account: Account | undefined;
  /** What is still to be done after the login. */
  actions: Step[];
}

interface Code {
  readonly session: Session;
  readonly request: Form;
  readonly expiresAt: number;
  isUsed: boolean;
}

const FLOW_OFF =
  'Client is not allowed to initiate browser login with given response_type. ' +
  'Standard flow is disabled for the client.';
const AGAIN = { error: 'temporarily_unavailable', error_description: 'authentication_expired' };
const FOREIGN = 'https://login.northlight.example';

export class CodeFlow {
  readonly #realm: Realm;
  readonly #tabs = new Map<string, Tab>();
  readonly #codes = new Map<string, Code>();

  constructor(realm: Realm) {
    this.#realm = realm;
  }

  /** The authorization endpoint. */
  begin(exchange: Exchange): Reply {
    const { switches } = this.#realm;
    const { token } = switches;
    const request: Form = Object.fromEntries(exchange.query);
    const { client_id, redirect_uri = '', response_type, scope = '' } = request;
    if (token.tlsRequired) return errorPage('HTTPS required');
    if (!token.realmEnabled) return errorPage('Realm not enabled');
    if (client_id !== token.clientId || !token.clientEnabled) return errorPage('Client not found.');
    if (!token.redirectUris.includes(redirect_uri)) return errorPage('Invalid parameter: redirect_uri');
    const refused = (error: string, words = '') => this.#back(request, { error, error_description: words });
    if (!token.codeFlowAllowed) return refused('unauthorized_client', FLOW_OFF);
    if (response_type !== 'code') return refused('unsupported_response_type');
    const fault = challengeFault(request, switches);
    if (fault) return refused('invalid_request', fault);
    const { allowed: scopes, areAll } = scopesIn(scope, switches, asksForConsent(request));
    if (!areAll) return refused('invalid_scope', `Invalid scopes: ${scope}`);
    if (token.loginPage === 'foreign_provider') return redirect(`${FOREIGN}/authorize?client_id=energy`, 303);
    const [id = '', cookie = '', restart = '', hash = ''] = Array.from({ length: 4 }, () => randomUUID());
    const step = token.loginPage === 'passkey' ? 'passkey' : token.identityFirst ? 'username' : 'login';
    const unknown = { sessionCode: '', username: '', account: undefined, actions: [] };
    const tab: Tab = { id, cookie, request, scopes, step, ...unknown };
    this.#tabs.set(id, tab);
    const { headers, ...page } = this.#show(tab, exchange);
    const setCookie = [
      `AUTH_SESSION_ID=${cookie};Version=1;Path=${REALM_PATH}/;Secure;HttpOnly;SameSite=None`,
      `KC_AUTH_SESSION_HASH="${hash}";Version=1;Path=${REALM_PATH}/;Max-Age=60;Secure;SameSite=None`,
      `KC_RESTART=${restart};Version=1;Path=${REALM_PATH}/;Secure;HttpOnly;SameSite=None`,
    ];
    return { ...page, headers: { ...headers, 'set-cookie': setCookie } };
  }

  /** A form of any of the pages was posted. */
  post(exchange: Exchange): Reply {
    const form: Form = Object(exchange.body);
    const tab = this.#tabOf(exchange);
    if (!tab) return errorPage('Restart login cookie not found.');
    if (tab.step === 'done') return this.#back(tab.request, AGAIN);
    if (isStale(tab, exchange, form)) {
      const execution = executionOf(tab.step);
      if (exchange.query.get('execution') !== execution) return expiredPage();
      return redirect(this.#address('authenticate', tab, { execution }));
    }
    if (tab.account && tab.actions.length > 0) return this.#act(tab, tab.account, form, exchange);
    if (tab.step === 'username') {
      Object.assign(tab, { username: form.username ?? '', step: 'password' });
      return this.#show(tab, exchange);
    }
    if (tab.step === 'otp' && tab.account) {
      const passes = this.#realm.credentials.oneTimeCodePasses(exchange, tab.account, form.otp);
      return passes ? this.#loggedIn(tab, tab.account) : this.#show(tab, exchange, 'wrong');
    }
    return tab.step === 'passkey' ? this.#show(tab, exchange) : this.#password(tab, form, exchange);
  }

  /** The page that is open, with a word on why it comes. */
  show(exchange: Exchange): Reply {
    const tab = this.#tabOf(exchange);
    return tab ? this.#show(tab, exchange, 'message') : errorPage('Restart login cookie not found.');
  }

  /** What a code was given for; the second use of a code ends what the first one got. */
  redeem({ code = '', redirect_uri, code_verifier: verifier }: Form): Grant | Reply {
    const given = this.#codes.get(code);
    if (!given || given.isUsed || this.#realm.clock.now() >= given.expiresAt) {
      if (given?.isUsed) given.session.clientDetached = true;
      return failed(400, 'invalid_grant', 'Code not valid');
    }
    given.isUsed = true;
    const { request, session } = given;
    if (redirect_uri !== request.redirect_uri) return failed(400, 'invalid_grant', 'Incorrect redirect_uri');
    const fault = verifierFault(request.code_challenge, verifier);
    return fault ? failed(400, 'invalid_grant', fault) : { session, nonce: request.nonce };
  }

  #password(tab: Tab, form: Form, exchange: Exchange): Reply {
    const { credentials, switches } = this.#realm;
    const { accountStates, loginPage } = switches.token;
    if (tab.step === 'login') tab.username = form.username ?? '';
    if (loginPage === 'captcha' && !form['g-recaptcha-response']) return this.#show(tab, exchange);
    const account = credentials.login(exchange, tab.username, form.password);
    if (!account) return this.#show(tab, exchange, 'wrong');
    if (accountStates.get(account.username) === 'disabled') return this.#show(tab, exchange, 'message');
    tab.account = account;
    if (credentials.wantsOneTimeCode(account)) tab.step = 'otp';
    else if (loginPage === 'passkey_second') tab.step = 'passkey';
    else return this.#loggedIn(tab, account);
    return this.#show(tab, exchange);
  }

  #loggedIn(tab: Tab, account: Account): Reply {
    const { credentials, switches } = this.#realm;
    const { accountStates, consentRequired, offlineAccess, requiredActions } = switches.token;
    const asksConsent = consentRequired || (offlineAccess === 'with_consent' && asksForConsent(tab.request));
    credentials.succeeded(account);
    const isSetUp = accountStates.get(account.username) !== 'not_fully_set_up';
    const actions = requiredActions.get(account.username) ?? (isSetUp ? [] : ['UPDATE_PASSWORD' as const]);
    tab.actions = [...actions, ...(asksConsent ? ['OAUTH_GRANT' as const] : [])];
    return this.#next(tab, account);
  }

  /** Terms and consent can be agreed to; the other actions are left to a person. */
  #act(tab: Tab, account: Account, form: Form, exchange: Exchange): Reply {
    if (form.cancel !== undefined) {
      tab.step = 'done';
      return this.#back(tab.request, { error: 'access_denied' });
    }
    if (form.accept === undefined) return this.#show(tab, exchange);
    tab.actions.shift();
    return this.#next(tab, account);
  }

  #next(tab: Tab, account: Account): Reply {
    const { clock, sessions, switches } = this.#realm;
    const [action] = tab.actions;
    tab.step = action ?? 'done';
    if (action) return redirect(this.#address('required-action', tab, { execution: action }));
    const session = sessions.start(randomUUID(), account, tab.scopes, clock.now());
    const code = `${randomUUID()}.${session.id}`;
    const expiresAt = clock.now() + switches.token.codeSeconds * 1000;
    this.#codes.set(code, { session, request: tab.request, expiresAt, isUsed: false });
    return this.#back(tab.request, { session_state: session.id, code });
  }

  /** To the redirect address of the request. */
  #back({ redirect_uri = '', response_mode, state = '' }: Form, answer: Record<string, string>): Reply {
    const url = new URL(redirect_uri);
    const all = new URLSearchParams({ state, iss: this.#realm.issuer, ...answer });
    if (response_mode === 'fragment' || this.#realm.switches.token.codeInFragment) url.hash = String(all);
    else for (const [name, value] of all) url.searchParams.append(name, value);
    return redirect(url.href);
  }

  #show(tab: Tab, exchange: Exchange, feedback?: 'wrong' | 'message'): Reply {
    const { step, username } = tab;
    if (step === 'done') return expiredPage();
    const sessionCode = randomUUID();
    tab.sessionCode = sessionCode;
    const { loginPage: variant } = this.#realm.switches.token;
    return stepPage(step, {
      action: this.#action(tab, step, exchange),
      sessionCode,
      username,
      feedback,
      variant,
    });
  }

  /** That of the consent is relative to the issuer's origin. */
  #action(tab: Tab, step: Step, { path }: Exchange): string {
    const { issuer, switches } = this.#realm;
    const { loginPage } = switches.token;
    if (step === 'OAUTH_GRANT') return this.#address('consent', tab).replace(issuer, REALM_PATH);
    const query = { session_code: tab.sessionCode, execution: executionOf(step) };
    const action = this.#address(tab.actions.length > 0 ? 'required-action' : 'authenticate', tab, query);
    if (loginPage === 'foreign_action') return action.replace(issuer, FOREIGN);
    if (loginPage !== 'relative_action') return action;
    const depth = path.slice(REALM_PATH.length + 1).split('/').length - 1;
    return action.replace(`${issuer}/`, '../'.repeat(depth));
  }

  #address(path: string, { id, request }: Tab, more: Record<string, string> = {}): string {
    const query = new URLSearchParams({ ...more, client_id: request.client_id ?? '', tab_id: id });
    return `${this.#realm.issuer}/login-actions/${path}?${query}`;
  }

  /** Undefined as well when the browser did not keep the cookies. */
  #tabOf({ query, headers }: Exchange): Tab | undefined {
    const tab = this.#tabs.get(query.get('tab_id') ?? '');
    const cookies = (headers.cookie ?? '').split('; ');
    return tab && cookies.includes(`AUTH_SESSION_ID=${tab.cookie}`) ? tab : undefined;
  }
}

const asksForConsent = ({ prompt = '' }: Form): boolean => prompt.split(' ').includes('consent');

function redirect(location: string, status = 302): Reply {
  return { status, body: '', headers: { location } };
}

/** The pages of the login have ids that stay, what follows goes by its name. */
function executionOf(step: string): string {
  if (step === step.toUpperCase()) return step;
  return uuidFrom(drawFor(26, 7, step === 'password' ? 'login' : step));
}

/** Whether the form was on another page than the one that is open; that of the consent has its code in a field. */
function isStale({ step, sessionCode }: Tab, { query }: Exchange, form: Form): boolean {
  if (step === 'OAUTH_GRANT') return form.code !== sessionCode;
  return query.get('session_code') !== sessionCode || query.get('execution') !== executionOf(step);
}
