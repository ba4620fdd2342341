// The meaning of the issuer's refusals. The body (`error`, `error_description`) decides, never the HTTP status: Keycloak
// answers a wrong password with 401 up to 26.5 and with 400 from 26.6 on.
import type { AuthState } from '../domain/health.ts';
import { EXIT, Failure, failure } from '../foundation/failure.ts';
import type { LoginBudgetRecord } from '../store/documents.ts';

/**
 * The subject of a refusal, which decides when the next login is tried. `password`: counted by the lock of the account,
 * so that the waits grow. `otherwise`: counted as well, though it says nothing about the password; it may pass. `client`: the
 * lock does not count it, every six hours. `person`: only when a user asks.
 */
export type RefusedFor = 'password' | 'otherwise' | 'client' | 'person';

interface Words {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

interface RefusalRow extends Words {
  readonly state: NonNullable<LoginBudgetRecord['state']>;
  readonly about: RefusedFor;
}

/** The login was refused. `state` is what gets published. */
export class LoginRefused extends Failure {
  readonly state: RefusalRow['state'];
  readonly about: RefusedFor;

  constructor(row: RefusalRow) {
    super(row.code, row.message, { exit: EXIT.credentials, retry: 'never', hint: row.hint });
    this.state = row.state;
    this.about = row.about;
  }
}

/** The refresh token is no longer valid. Nothing is wrong: a login follows. */
export class SessionEnded extends Failure {
  /** The issuer saw one refresh token twice: either a bug of ours, or a copied state directory. */
  readonly reused: boolean;

  constructor(reused: boolean) {
    super('session_ended', 'The issuer has ended the session.', { exit: EXIT.credentials, retry: 'soon' });
    this.reused = reused;
  }
}

/** The issuer refuses at present, for a reason that is neither the password nor the end of the session: both are kept. */
export class RefusedForNow extends Failure {
  readonly state: AuthState;

  constructor({ code, message, hint }: Words) {
    const isForOwner = code === REFUSALS.accountDisabled.code;
    super(code, message, { exit: isForOwner ? EXIT.credentials : EXIT.provider, retry: 'later', hint });
    this.state = isForOwner ? 'needs_user_action' : 'provider_down';
  }
}

export const POLL_NOW = 'press Poll now (or send to bridge/request/refresh)';
const IN_SIX_HOURS = `It is tried again within six hours. To try at once, ${POLL_NOW}.`;
const AT_EACH_POLL = 'The session is kept, and tried again with each poll.';
const BY_ITSELF = `It is tried again by itself, later and later, at last every six hours. To try sooner, ${POLL_NOW}: at most once an hour.`;
const BEGIN_AGAIN = 'Begin again later.';
const SIGN_IN = "Sign in on the bridge's own page, or run heat2mqtt login";

export const REFUSALS = {
  badCredentials: {
    code: 'bad_credentials_or_locked',
    state: 'bad_credentials_or_locked',
    about: 'password',
    message:
      'The provider refused the user name or password, has locked the account for a while, or wants a second factor: it does not say which.',
    hint: `Check username and password by signing in once on the provider's own page. If it asks for a one-time code there, configure totp_secret or run heat2mqtt login. A lock looks just the same: if they work there, wait and ${POLL_NOW}.`,
  },
  codeRefused: {
    code: 'second_factor_refused',
    state: 'bad_credentials_or_locked',
    about: 'password',
    message: 'The provider accepted the password and refused the one-time code.',
    hint: `Check totp_secret and the clock of this machine, then ${POLL_NOW}. If you typed the code, run heat2mqtt login again.`,
  },
  secondFactor: {
    code: 'second_factor',
    state: 'login_needed',
    about: 'person',
    message: 'The provider accepted the password and asks for a one-time code.',
    hint: `Configure totp_secret. Or type the code yourself, on the bridge's own page or with heat2mqtt login.`,
  },
  accountDisabled: {
    code: 'account_disabled',
    state: 'needs_user_action',
    about: 'person',
    message: 'The provider says that the account is disabled.',
    hint: `Ask the provider to enable the account, then ${POLL_NOW}.`,
  },
  notSetUp: {
    code: 'account_not_set_up',
    state: 'needs_user_action',
    about: 'person',
    message:
      'The account waits for something only its owner can do (new password, terms, confirmed e-mail address).',
    hint: `Sign in once in the provider's own app or page and do what it asks, then ${POLL_NOW}.`,
  },
  unsupportedStep: {
    code: 'unsupported_step',
    state: 'login_needed',
    about: 'person',
    message: "The provider's login page asks for something that this program cannot do.",
    hint: "Sign in on the bridge's own page, or run heat2mqtt login --method device, or --method link: you then use your own browser.",
  },
  methodDisabled: {
    code: 'method_disabled',
    state: 'method_disabled',
    about: 'client',
    message:
      'The issuer does not allow this client to sign in with a password; the password is not at fault.',
    hint: `Check provider.client_id. If it is right, the provider has switched Direct access grants off for it, and offers no other way that this program knows. It is tried again every six hours. To try at once, ${POLL_NOW}.`,
  },
  loginNeeded: {
    code: 'login_needed',
    state: 'login_needed',
    about: 'client',
    message: 'The issuer does not let this client sign in with a password alone: a person has to sign in.',
    hint: `${SIGN_IN}. With provider.redirect_uri the bridge can use the provider's login page by itself; with Direct access grants switched on for the client, the password is enough. After a change, ${POLL_NOW}.`,
  },
  noSession: {
    code: 'login_needed',
    state: 'login_needed',
    about: 'person',
    message: 'There is no session: a person has to sign in.',
    hint: `${SIGN_IN}: the running bridge takes the new session by itself.`,
  },
  sessionLimit: {
    code: 'session_limit',
    state: 'backoff',
    about: 'otherwise',
    message:
      'The provider allows no more sessions of this account: somebody is signed in elsewhere. That says nothing about the password.',
    hint: `Sign out where the account is signed in, such as on the provider's own page or app; to sign in there once more takes the session again. ${BY_ITSELF}`,
  },
  refusedOtherwise: {
    code: 'refused_otherwise',
    state: 'backoff',
    about: 'otherwise',
    message:
      'The provider refused the sign-in for a reason of its own, which says nothing about the password.',
    hint: `It may pass, such as a limit of sessions while somebody is signed in elsewhere. If it lasts, ask the provider. ${BY_ITSELF}`,
  },
  wrongClient: {
    code: 'client_refused',
    state: 'needs_user_action',
    about: 'client',
    message: 'The issuer refused the client.',
    hint: `Check provider.client_id and, if you use it, provider.redirect_uri. ${IN_SIX_HOURS}`,
  },
  wrongScope: {
    code: 'scope_refused',
    state: 'needs_user_action',
    about: 'client',
    message: 'The issuer refused the scopes.',
    hint: `Check provider.scopes. ${IN_SIX_HOURS}`,
  },
} as const satisfies Record<string, RefusalRow>;

export const rowOf = (code: string | null, state: string): RefusalRow | undefined =>
  Object.values(REFUSALS).find((row) => row.code === code && row.state === state);

/** Not in the table of logins: the issuer as a whole refuses. */
export const ISSUER_REFUSES = {
  code: 'issuer_refused',
  message: 'The issuer refuses every request at present; password and session are not in doubt.',
  hint: 'It usually passes by itself: the provider may have switched its realm off for a while. If provider.issuer begins with http:, it may want https:.',
};

/** No refusal: the login was granted. */
export const NO_REFRESH_TOKEN = {
  code: 'no_refresh_token',
  message:
    'provider.offline_access is on, and the issuer gave no refresh token: the session ends with its access token.',
  hint: 'Sign in once more, and agree if the provider asks whether this program may stay signed in. If it gives none then either, set provider.offline_access: false.',
};

export const NO_REVOCATION = {
  code: 'no_revocation',
  message: 'The issuer offers no way for this program to end a session.',
  hint: "End it on the provider's own page, and remove tokens.json from the state directory.",
};

const CODE_REFUSED = {
  code: 'code_refused',
  message: 'The issuer did not accept the sign-in: it was declined, or its code was too old or used before.',
  hint: 'Begin again. A code lives for about a minute and works once.',
};

/** The login is refused, or everything is; or the issuer is in trouble, and nothing was refused. */
type Meaning = RefusalRow | typeof ISSUER_REFUSES | 'trouble';

/** The errors of OAuth that say enough by themselves. Any other one, such as `invalid_grant`, needs its description. */
const BY_ERROR: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['unauthorized_client', REFUSALS.methodDisabled],
  ['unsupported_grant_type', REFUSALS.methodDisabled],
  ['invalid_client', REFUSALS.wrongClient],
  ['invalid_scope', REFUSALS.wrongScope],
  // Keycloak's answer to offline_access for a user who may not have it.
  ['not_allowed', REFUSALS.wrongScope],
  ['access_denied', ISSUER_REFUSES],
  ['invalid_request', ISSUER_REFUSES],
  ['server_error', 'trouble'],
  ['temporarily_unavailable', 'trouble'],
  ['unknown_error', 'trouble'],
  ['slow_down', 'trouble'],
]);

/** It is given OAuth's `error` and `error_description`. `null`: the issuer is in trouble, nothing was refused. */
export type Classify = (error: string, description: string) => Failure | null;

export const classifyLoginError = (error: string, description: string): LoginRefused | RefusedForNow | null =>
  refusalFor(
    error === 'invalid_grant'
      ? rowByWords(description.toLowerCase())
      : (BY_ERROR.get(error) ?? rowOfStranger(error, description)),
  );

/** A person has brought a code: no password is in play. */
export function classifyCodeError(error: string, description: string): LoginRefused | RefusedForNow | null {
  if (['invalid_grant', 'expired_token', 'access_denied'].includes(error))
    return new RefusedForNow(CODE_REFUSED);
  if (error === 'unauthorized_client') return new LoginRefused(REFUSALS.wrongClient);
  if (BY_ERROR.has(error)) return classifyLoginError(error, description);
  const row = rowOfStranger(error, description);
  return new RefusedForNow({ ...row, hint: row.hint.replace(BY_ITSELF, BEGIN_AGAIN) });
}

/**
 * Judges an `error` that the login page sends to the redirect address. `isAfterPassword`: the password was posted before, so that it
 * may have been counted. `null`: the issuer is in trouble.
 */
export const classifyRedirectError = (
  error: string,
  isAfterPassword: boolean,
): LoginRefused | RefusedForNow | null =>
  refusalFor(
    isAfterPassword && !BY_ERROR.has(error) ? rowOfStranger(error, '') : meaningWithoutPassword(error),
  );

/** `null`: the issuer is in trouble. Only SessionEnded ends the session: after anything else the token may be good again. */
export function classifyRefreshError(
  error: string,
  description: string,
): SessionEnded | RefusedForNow | null {
  const words = description.toLowerCase();
  if (error === 'invalid_grant')
    return saysDisabled(words)
      ? new RefusedForNow(REFUSALS.accountDisabled)
      : new SessionEnded(words.includes('token reuse exceeded'));
  const meaning = meaningWithoutPassword(error);
  if (meaning === 'trouble') return null;
  return new RefusedForNow({ ...meaning, hint: meaning.hint.replace(IN_SIX_HOURS, AT_EACH_POLL) });
}

function refusalFor(meaning: Meaning): LoginRefused | RefusedForNow | null {
  if (meaning === 'trouble') return null;
  return 'about' in meaning ? new LoginRefused(meaning) : new RefusedForNow(meaning);
}

/** If no password was sent, the client as a whole is refused, not one of its ways. */
function meaningWithoutPassword(error: string): Meaning {
  const meaning = BY_ERROR.get(error) ?? ISSUER_REFUSES;
  return meaning === REFUSALS.methodDisabled ? REFUSALS.wrongClient : meaning;
}

/** An `error` in the shape of a code is repeated, and nothing else: it may be somebody's sentence. */
function rowOfStranger(error: string, description: string): RefusalRow {
  if (/\bsessions?\b/i.test(`${error} ${description}`)) return REFUSALS.sessionLimit;
  const row = REFUSALS.refusedOtherwise;
  return /^(?=.{3,40}$)[a-z]+(_[a-z]+)+$/.test(error)
    ? { ...row, message: row.message.replace(' for', ` (${error}) for`) }
    : row;
}

function rowByWords(description: string): RefusalRow {
  if (description.includes('not fully set up')) return REFUSALS.notSetUp;
  if (saysDisabled(description)) return REFUSALS.accountDisabled;
  // Treat an unknown refusal like a wrong password: that costs minutes, the opposite may get the account locked.
  return REFUSALS.badCredentials;
}

const saysDisabled = (description: string) => /\b(account|user) disabled\b/.test(description);

/** The API refuses access tokens that the issuer has just granted. */
export const accessTokenRejected = (): Failure =>
  failure('key_rejected', 'The API refuses access tokens that the issuer has just granted.', {
    exit: EXIT.provider,
    retry: 'later',
    hint: 'Check that provider.api_url, provider.client_id and provider.scopes belong together.',
  });
