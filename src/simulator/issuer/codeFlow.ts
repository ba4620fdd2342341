// The authorization code flow: the login page and what may follow it, up to the code and its exchange.
import { randomUUID } from 'node:crypto';
import type { Account } from '../accounts.ts';
import type { Exchange, Reply } from '../exchange.ts';
import { drawFor, uuidFrom } from '../random.ts';
import { errorPage, expiredPage, type Feedback, type Step, stepPage } from './loginPages.ts';
import {
  allowedScopes,
  challengeFault,
  type Form,
  failed,
  type Grant,
  REALM_PATH,
  type Realm,
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
  /** What is to be done after the login. */
  actions: Step[];
}

interface Code {
  readonly session: Session;
  readonly request: Form;
  readonly expiresAt: number;
  isUsed: boolean;
}

const FOREIGN = 'https://login.northlight.example';
/** Those of the browser flow have ids, actions go by their names. */
const FLOW_STEPS: readonly string[] = ['username', 'login', 'password', 'otp', 'passkey'];
/** Each page says where it posts to, but consent only relative to the issuer. */
const EXECUTION = (step: string) =>
  FLOW_STEPS.includes(step) ? uuidFrom(drawFor(26, 7, step === 'password' ? 'login' : step)) : step;

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
    if (token.tlsRequired) return errorPage('HTTPS required', 403);
    if (!token.realmEnabled) return errorPage('Realm not enabled');
    if (request.client_id !== token.clientId) return errorPage('Client not found.');
    if (!token.clientEnabled) return errorPage('Client disabled.');
    if (!token.redirectUris.includes(request.redirect_uri ?? '')) {
      return errorPage('Invalid parameter: redirect_uri');
    }
    if (!token.codeFlowAllowed) return errorPage('Standard flow is disabled for the client.');
    if (request.response_type !== 'code') return this.#back(request, { error: 'unsupported_response_type' });
    const fault = challengeFault(request, switches);
    if (fault) return this.#back(request, { error: 'invalid_request', error_description: fault });
    const scopes = allowedScopes(request.scope ?? '', switches);
    if (!scopes) {
      const error_description = `Invalid scopes: ${request.scope}`;
      return this.#back(request, { error: 'invalid_scope', error_description });
    }
    const tab: Tab = {
      id: randomUUID().slice(0, 11),
      cookie: randomUUID(),
      request,
      scopes,
      step: token.loginPage === 'passkey' ? 'passkey' : token.identityFirst ? 'username' : 'login',
      sessionCode: '',
      username: '',
      account: undefined,
      actions: [],
    };
    this.#tabs.set(tab.id, tab);
    const reply =
      token.loginPage === 'foreign_provider'
        ? redirect(this.#address('broker/northlight/login', tab), 303)
        : this.#show(tab, exchange);
    const attributes = `Path=${REALM_PATH}/; HttpOnly; Secure; SameSite=None`;
    const cookies = {
      AUTH_SESSION_ID: tab.cookie,
      KC_RESTART: randomUUID(),
      KC_AUTH_SESSION_HASH: randomUUID(),
    };
    const set = Object.entries(cookies).map(([name, value]) => `${name}=${value}; ${attributes}`);
    return { ...reply, headers: { ...reply.headers, 'set-cookie': set } };
  }

  /** A form of the login itself was posted. */
  authenticate(exchange: Exchange): Reply {
    const { credentials, switches } = this.#realm;
    const { accountStates, loginPage } = switches.token;
    const form: Form = Object(exchange.body);
    const tab = this.#tabOf(exchange);
    if (!tab) return errorPage('Restart login cookie not found.');
    if (isStale(tab, exchange, form)) return expiredPage();
    if (tab.step === 'username') {
      Object.assign(tab, { username: form.username ?? '', step: 'password' });
      return this.#show(tab, exchange);
    }
    if (tab.step === 'otp' && tab.account) {
      const passes = credentials.oneTimeCodePasses(exchange, tab.account, form.otp);
      return passes ? this.#loggedIn(tab, tab.account) : this.#show(tab, exchange, 'wrong');
    }
    const isUnsolved = loginPage === 'captcha' && !form['g-recaptcha-response'];
    if (tab.step === 'passkey' || isUnsolved) return this.#show(tab, exchange);
    if (tab.step === 'login') tab.username = form.username ?? '';
    const account = credentials.login(exchange, tab.username, form.password);
    if (!account) return this.#show(tab, exchange, 'wrong');
    if (accountStates.get(account.username) === 'disabled') return this.#show(tab, exchange, 'disabled');
    tab.account = account;
    const second = loginPage === 'passkey_second' ? 'passkey' : undefined;
    const next = credentials.wantsOneTimeCode(account) ? 'otp' : second;
    if (!next) return this.#loggedIn(tab, account);
    tab.step = next;
    return this.#show(tab, exchange);
  }

  /** The page of what is to be done after the login. */
  showAction(exchange: Exchange): Reply {
    const tab = this.#tabOf(exchange);
    if (!tab) return errorPage('Restart login cookie not found.');
    return tab.actions.length > 0 ? this.#show(tab, exchange) : expiredPage();
  }

  /** Terms and consent can be agreed to; the other actions are left to a person. */
  act(exchange: Exchange): Reply {
    const form: Form = Object(exchange.body);
    const tab = this.#tabOf(exchange);
    if (!tab) return errorPage('Restart login cookie not found.');
    if (isStale(tab, exchange, form) || !tab.account) return expiredPage();
    if (form.cancel !== undefined) {
      tab.step = 'done';
      return this.#back(tab.request, { error: 'access_denied' });
    }
    if (form.accept === undefined) return this.#show(tab, exchange);
    tab.actions.shift();
    return this.#next(tab, tab.account);
  }

  /** On to the login of another company. */
  leave({ query }: Exchange): Reply {
    return redirect(`${FOREIGN}/authorize?client_id=energy&state=${query.get('tab_id')}`, 303);
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

  #loggedIn(tab: Tab, account: Account): Reply {
    const { credentials, switches } = this.#realm;
    const { accountStates, consentRequired, requiredActions } = switches.token;
    credentials.succeeded(account);
    const isSetUp = accountStates.get(account.username) !== 'not_fully_set_up';
    const actions = requiredActions.get(account.username) ?? (isSetUp ? [] : ['UPDATE_PASSWORD' as const]);
    tab.actions = [...actions, ...(consentRequired ? ['OAUTH_GRANT' as const] : [])];
    return this.#next(tab, account);
  }

  #next(tab: Tab, account: Account): Reply {
    const { clock, sessions, switches, issuer } = this.#realm;
    const [action] = tab.actions;
    tab.step = action ?? 'done';
    if (action) return redirect(this.#address('login-actions/required-action', tab, { execution: action }));
    const session = sessions.start(randomUUID(), account, tab.scopes, clock.now());
    const code = `${randomUUID()}.${session.id}`;
    const expiresAt = clock.now() + switches.token.codeSeconds * 1000;
    this.#codes.set(code, { session, request: tab.request, expiresAt, isUsed: false });
    return this.#back(tab.request, { session_state: session.id, iss: issuer, code });
  }

  /** To the redirect address of the request. */
  #back({ redirect_uri = '', response_mode, state }: Form, answer: Record<string, string>): Reply {
    const url = new URL(redirect_uri);
    const all = new URLSearchParams({ ...(state === undefined ? {} : { state }), ...answer });
    if (response_mode === 'fragment' || this.#realm.switches.token.codeInFragment) url.hash = String(all);
    else for (const [name, value] of all) url.searchParams.append(name, value);
    return redirect(url.href);
  }

  #show(tab: Tab, exchange: Exchange, feedback?: Feedback): Reply {
    const { step, username } = tab;
    if (step === 'done') return expiredPage();
    tab.sessionCode = randomUUID();
    const { loginPage } = this.#realm.switches.token;
    const parts = { sessionCode: tab.sessionCode, username, feedback, variant: loginPage };
    return stepPage(step, { ...parts, action: this.#action(tab, step, exchange) });
  }

  /** That of the consent is relative to the issuer's origin. */
  #action(tab: Tab, step: Step, exchange: Exchange): string {
    const { issuer, switches } = this.#realm;
    if (step === 'OAUTH_GRANT')
      return this.#address('login-actions/consent', tab).replace(issuer, REALM_PATH);
    const path = FLOW_STEPS.includes(step) ? 'authenticate' : 'required-action';
    const action = this.#address(`login-actions/${path}`, tab, {
      session_code: tab.sessionCode,
      execution: EXECUTION(step),
    });
    const { loginPage } = switches.token;
    if (loginPage === 'foreign_action') return action.replace(issuer, FOREIGN);
    if (loginPage !== 'relative_action') return action;
    const depth = exchange.path.slice(REALM_PATH.length + 1).split('/').length - 1;
    return action.replace(`${issuer}/`, '../'.repeat(depth));
  }

  #address(path: string, { id, request }: Tab, more: Record<string, string> = {}): string {
    const query = new URLSearchParams({ ...more, client_id: request.client_id ?? '', tab_id: id });
    return `${this.#realm.issuer}/${path}?${query}`;
  }

  /** Undefined as well when the browser did not keep the cookies. */
  #tabOf({ query, headers }: Exchange): Tab | undefined {
    const tab = this.#tabs.get(query.get('tab_id') ?? '');
    const cookies = (headers.cookie ?? '').split('; ');
    return tab && cookies.includes(`AUTH_SESSION_ID=${tab.cookie}`) ? tab : undefined;
  }
}

function redirect(location: string, status = 302): Reply {
  return { status, body: '', headers: { location } };
}

/** Whether the form was on another page than the one that is open; that of the consent has its code in a field. */
function isStale({ step, sessionCode }: Tab, { query }: Exchange, form: Form): boolean {
  if (step === 'OAUTH_GRANT') return form.code !== sessionCode;
  return query.get('session_code') !== sessionCode || query.get('execution') !== EXECUTION(step);
}
