// The authorization code flow: the login page and what may follow it, up to the code and its exchange.
import { randomUUID } from 'node:crypto';
import type { Account } from '../accounts.ts';
import { type Exchange, Refusal, type Reply } from '../exchange.ts';
import { drawFor, uuidFrom } from '../random.ts';
import { errorPage, expiredPage, type Step, stepPage } from './loginPages.ts';
import {
  checkChallenge,
  checkScopes,
  checkVerifier,
  type Form,
  failed,
  type Grant,
  grantedScopes,
  noGrant,
  REALM_PATH,
  type Realm,
  type Session,
  TOO_MANY_SESSIONS,
} from './realm.ts';

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
  /** The steps that still follow the login. */
  actions: Step[];
}

interface Code {
  readonly session: Session;
  readonly request: Form;
  readonly expiresAt: number;
  isUsed: boolean;
}

const FLOW_OFF =
  'Client is not allowed to initiate browser login with given response_type. Standard flow is disabled for the client.';
const NO_COOKIE = 'Restart login cookie not found.';
const CODE_LIFE_MS = 60_000;

export class CodeFlow {
  private readonly realm: Realm;
  private readonly token: Realm['switches']['token'];
  private readonly tabs = new Map<string, Tab>();
  private readonly codes = new Map<string, Code>();

  constructor(realm: Realm) {
    this.realm = realm;
    this.token = realm.switches.token;
  }

  /** The authorization endpoint. */
  begin(exchange: Exchange): Reply {
    return this.start(Object.fromEntries(exchange.query));
  }

  /** A form of any of the pages was posted. */
  post(exchange: Exchange): Reply {
    const tab = this.tabOf(exchange);
    return tab ? this.take(tab, Object(exchange.body), exchange) : errorPage(NO_COOKIE);
  }

  /** The page that is open, with a word on why it comes. */
  show(exchange: Exchange): Reply {
    const tab = this.tabOf(exchange);
    return tab ? this.pageOf(tab, 'message') : errorPage(NO_COOKIE);
  }

  /** The grant of a code; the second use of a code ends what the first one got. */
  redeem({ code = '', redirect_uri, code_verifier: verifier }: Form): Grant {
    const given = this.codes.get(code);
    if (given?.isUsed) given.session.clientDetached = true;
    if (!given || given.isUsed || this.realm.clock.now() >= given.expiresAt) throw noGrant('Code not valid');
    given.isUsed = true;
    const { request, session } = given;
    if (redirect_uri !== request.redirect_uri) throw noGrant('Incorrect redirect_uri');
    checkVerifier(request, verifier);
    return { session, nonce: request.nonce };
  }

  private start(request: Form): Reply {
    const { redirect_uri = '', response_type, scope = '' } = request;
    if (this.token.tlsRequired) return errorPage('HTTPS required');
    if (!this.token.realmEnabled) return errorPage('Realm not enabled');
    if (request.client_id !== this.token.clientId || !this.token.clientEnabled)
      return errorPage('Client not found.');
    if (!this.token.redirectUris.includes(redirect_uri)) return errorPage('Invalid parameter: redirect_uri');
    try {
      if (!this.token.codeFlowAllowed) throw failed(400, 'unauthorized_client', FLOW_OFF);
      if (response_type !== 'code') throw failed(400, 'unsupported_response_type', '');
      checkChallenge(request, this.realm.switches);
      checkScopes(scope, this.realm.switches);
    } catch (err) {
      if (err instanceof Refusal) return this.back(request, Object(err.reply.body));
      throw err;
    }
    const scopes = grantedScopes(scope, this.realm.switches, asksForConsent(request));
    const [id = '', cookie = '', restart = '', hash = ''] = Array.from({ length: 4 }, () => randomUUID());
    const step = this.token.identityFirst ? 'username' : 'login';
    const unknown = { sessionCode: '', username: '', account: undefined, actions: [] };
    const tab: Tab = { id, cookie, request, scopes, step, ...unknown };
    this.tabs.set(id, tab);
    const { headers, ...page } = this.pageOf(tab);
    const setCookie = [
      `AUTH_SESSION_ID=${cookie};Version=1;Path=${REALM_PATH}/;Secure;HttpOnly;SameSite=None`,
      `KC_AUTH_SESSION_HASH="${hash}";Version=1;Path=${REALM_PATH}/;Max-Age=60;Secure;SameSite=None`,
      `KC_RESTART=${restart};Version=1;Path=${REALM_PATH}/;Secure;HttpOnly;SameSite=None`,
    ];
    return { ...page, headers: { ...headers, 'set-cookie': setCookie } };
  }

  private take(tab: Tab, form: Form, exchange: Exchange): Reply {
    const { step, account } = tab;
    const expired = { error: 'temporarily_unavailable', error_description: 'authentication_expired' };
    if (step === 'done') return this.back(tab.request, expired);
    if (isStale(tab, exchange, form)) {
      const execution = executionOf(step);
      if (exchange.query.get('execution') !== execution) return expiredPage();
      return redirect(this.address('authenticate', tab, { execution }));
    }
    if (account && tab.actions.length > 0) return this.act(tab, account, form);
    if (step === 'username') {
      Object.assign(tab, { username: form.username ?? '', step: 'password' });
      return this.pageOf(tab);
    }
    if (step !== 'otp' || !account) return this.password(tab, form, exchange);
    const isRight = this.realm.credentials.oneTimeCodePasses(exchange, account, form.otp);
    return isRight ? this.loggedIn(tab, account) : this.pageOf(tab, 'wrong');
  }

  private password(tab: Tab, form: Form, exchange: Exchange): Reply {
    if (tab.step === 'login') tab.username = form.username ?? '';
    if (this.token.hasCaptcha && !form['g-recaptcha-response']) return this.pageOf(tab);
    const account = this.realm.credentials.login(exchange, tab.username, form.password);
    if (!account) return this.pageOf(tab, 'wrong');
    if (this.token.accountStates.get(account.username) === 'disabled') return this.pageOf(tab, 'message');
    tab.account = account;
    if (!this.realm.credentials.wantsOneTimeCode(account)) return this.loggedIn(tab, account);
    tab.step = 'otp';
    return this.pageOf(tab);
  }

  private loggedIn(tab: Tab, account: Account): Reply {
    const { accountStates, consentRequired, offlineAccess, requiredActions } = this.token;
    const asksConsent = consentRequired || (offlineAccess === 'with_consent' && asksForConsent(tab.request));
    if (this.realm.sessions.isFull(account, this.realm.clock.now())) {
      this.realm.credentials.refused(account);
      return errorPage(TOO_MANY_SESSIONS, 403);
    }
    this.realm.credentials.succeeded(account);
    const isSetUp = accountStates.get(account.username) !== 'not_fully_set_up';
    const actions = requiredActions.get(account.username) ?? (isSetUp ? [] : ['UPDATE_PASSWORD' as const]);
    tab.actions = [...actions, ...(asksConsent ? ['OAUTH_GRANT' as const] : [])];
    return this.next(tab, account);
  }

  /** Terms and consent can be agreed to; the other actions are left to a person. */
  private act(tab: Tab, account: Account, form: Form): Reply {
    if (form.cancel !== undefined) {
      tab.step = 'done';
      return this.back(tab.request, { error: 'access_denied' });
    }
    if (form.accept === undefined) return this.pageOf(tab);
    tab.actions.shift();
    return this.next(tab, account);
  }

  private next(tab: Tab, account: Account): Reply {
    const [action] = tab.actions;
    tab.step = action ?? 'done';
    if (action) return redirect(this.address('required-action', tab, { execution: action }));
    const { request, scopes } = tab;
    const session = this.realm.sessions.start(account, scopes, this.realm.clock.now());
    const code = `${randomUUID()}.${session.id}`;
    this.codes.set(code, {
      session,
      request,
      expiresAt: this.realm.clock.now() + CODE_LIFE_MS,
      isUsed: false,
    });
    return this.back(request, { session_state: session.id, code });
  }

  /** The browser goes to the redirect address of the request. */
  private back(
    { redirect_uri = '', response_mode, state = '' }: Form,
    answer: Record<string, string>,
  ): Reply {
    const url = new URL(redirect_uri);
    const parameters = new URLSearchParams({ state, iss: this.realm.issuer, ...answer });
    if (response_mode === 'fragment' || this.token.codeInFragment) url.hash = String(parameters);
    else for (const [name, value] of parameters) url.searchParams.append(name, value);
    return redirect(url.href);
  }

  private pageOf(tab: Tab, feedback?: 'wrong' | 'message'): Reply {
    const { step, username } = tab;
    if (step === 'done') return expiredPage();
    const sessionCode = randomUUID();
    tab.sessionCode = sessionCode;
    const { hasCaptcha } = this.token;
    return stepPage(step, { action: this.actionOf(tab, step), sessionCode, username, feedback, hasCaptcha });
  }

  /** The consent's address is relative to the issuer's origin. */
  private actionOf(tab: Tab, step: Step): string {
    if (step === 'OAUTH_GRANT') return this.address('consent', tab).replace(this.realm.issuer, REALM_PATH);
    const query = { session_code: tab.sessionCode, execution: executionOf(step) };
    return this.address(tab.actions.length > 0 ? 'required-action' : 'authenticate', tab, query);
  }

  private address(path: string, { id, request }: Tab, more: Record<string, string> = {}): string {
    const query = new URLSearchParams({ ...more, client_id: request.client_id ?? '', tab_id: id });
    return `${this.realm.issuer}/login-actions/${path}?${query}`;
  }

  /** Undefined as well when the browser did not keep the cookies. */
  private tabOf({ query, headers }: Exchange): Tab | undefined {
    const tab = this.tabs.get(query.get('tab_id') ?? '');
    const cookies = (headers.cookie ?? '').split('; ');
    return tab && cookies.includes(`AUTH_SESSION_ID=${tab.cookie}`) ? tab : undefined;
  }
}

const asksForConsent = ({ prompt = '' }: Form): boolean => prompt.split(' ').includes('consent');

const redirect = (location: string): Reply => ({ status: 302, body: '', headers: { location } });

/** The pages of the login have ids that stay, what follows goes by its name. */
function executionOf(step: string): string {
  if (step === step.toUpperCase()) return step;
  return uuidFrom(drawFor(26, 7, step === 'password' ? 'login' : step));
}

/** The form was on another page than the one that is open; that of the consent has its code in a field. */
function isStale({ step, sessionCode }: Tab, { query }: Exchange, form: Form): boolean {
  if (step === 'OAUTH_GRANT') return form.code !== sessionCode;
  return query.get('session_code') !== sessionCode || query.get('execution') !== executionOf(step);
}
