// What a token endpoint's error means, told by the body (`error`, `error_description`), never by the HTTP status:
// Keycloak answers a wrong password with 401 up to 26.5 and with 400 from 26.6 on.
import type { AuthState } from '../domain/health.ts';
import { EXIT, Failure } from '../foundation/failure.ts';

/** The password step was refused; `state` is what the world is told, `final` that waiting cannot help. */
export class LoginRefused extends Failure {
  readonly exitCode = EXIT.credentials;
  readonly code: string;
  readonly state: Extract<AuthState, 'bad_credentials_or_locked' | 'needs_user_action' | 'method_disabled'>;
  readonly final: boolean;

  constructor(row: RefusalRow) {
    super(row.message, { retry: 'never', hint: row.hint });
    this.code = row.code;
    this.state = row.state;
    this.final = row.state !== 'bad_credentials_or_locked';
  }
}

/** The refresh token is of no more use. No failure: a login follows. */
export class SessionEnded extends Failure {
  readonly code = 'session_ended';
  readonly exitCode = EXIT.credentials;
  /** The issuer saw one refresh token twice: with one refresh in flight that is a bug of ours or a copied state. */
  readonly reused: boolean;

  constructor(reused: boolean) {
    super('The issuer has ended the session.', { retry: 'soon' });
    this.reused = reused;
  }
}

export interface RefusalRow {
  readonly code: string;
  readonly state: LoginRefused['state'];
  readonly message: string;
  readonly hint: string;
}

export const REFUSALS = {
  badCredentials: {
    code: 'bad_credentials_or_locked',
    state: 'bad_credentials_or_locked',
    message: 'The issuer refused the user name or password, or has locked the account for a while.',
    hint: "Check username and password by signing in once on the provider's own page. A lock looks just the same: if they work there, wait and press Poll now (or send to bridge/request/refresh).",
  },
  accountDisabled: {
    code: 'account_disabled',
    state: 'needs_user_action',
    message: 'The issuer says that the account is disabled.',
    hint: 'Ask the provider to enable the account, then press Poll now (or send to bridge/request/refresh).',
  },
  notSetUp: {
    code: 'account_not_set_up',
    state: 'needs_user_action',
    message:
      'The account waits for something only its owner can do (new password, terms, confirmed e-mail address).',
    hint: "Sign in once in the provider's own app or page and do what it asks, then press Poll now (or send to bridge/request/refresh).",
  },
  methodDisabled: {
    code: 'method_disabled',
    state: 'method_disabled',
    message:
      'The issuer does not allow this client to sign in with a password; the password is not at fault.',
    hint: 'Check provider.client_id. If it is right, the provider has switched this way of signing in off.',
  },
  wrongClient: {
    code: 'client_refused',
    state: 'needs_user_action',
    message: 'The issuer does not know the client.',
    hint: 'Check provider.client_id in the configuration.',
  },
  wrongScope: {
    code: 'scope_refused',
    state: 'needs_user_action',
    message: 'The issuer refused the scopes.',
    hint: 'Check provider.scopes in the configuration.',
  },
} as const satisfies Record<string, RefusalRow>;

// The other side is in trouble; it says nothing about us.
const TROUBLE = new Set(['server_error', 'temporarily_unavailable', 'unknown_error', 'slow_down']);

/** `null`: the provider is in trouble, nothing was refused. */
export function classifyLoginError(error: string, description: string): LoginRefused | null {
  if (TROUBLE.has(error)) return null;
  return new LoginRefused(refusalRow(error, description.toLowerCase()));
}

function refusalRow(error: string, description: string): RefusalRow {
  if (error === 'unauthorized_client' || error === 'unsupported_grant_type') return REFUSALS.methodDisabled;
  if (error === 'invalid_client') return REFUSALS.wrongClient;
  if (error === 'invalid_scope') return REFUSALS.wrongScope;
  if (description.includes('not fully set up')) return REFUSALS.notSetUp;
  if (/\b(account|user) disabled\b/.test(description)) return REFUSALS.accountDisabled;
  // An unknown refusal counts like a wrong password: too careful costs minutes, too bold an account.
  return REFUSALS.badCredentials;
}

/** `null`: the provider is in trouble, and the refresh token may still be good. */
export function classifyRefreshError(error: string, description: string): SessionEnded | null {
  if (TROUBLE.has(error)) return null;
  return new SessionEnded(description.toLowerCase().includes('token reuse exceeded'));
}

/** The API refuses tokens that the issuer has only just granted. */
export class KeyRejected extends Failure {
  readonly code = 'key_rejected';
  readonly exitCode = EXIT.provider;

  constructor() {
    super('The API refuses access tokens that the issuer has just granted.', {
      retry: 'later',
      hint: 'Check that provider.api_url, provider.client_id and provider.scopes belong together.',
    });
  }
}
