// What a token endpoint's error means. The body (`error`, `error_description`) decides, never the HTTP status:
// Keycloak answers a wrong password with 401 up to 26.5 and with 400 from 26.6 on.
import type { AuthState } from '../domain/health.ts';
import { EXIT, Failure } from '../foundation/failure.ts';

/** The login was refused. `state` is what gets published; `final`: waiting cannot help. */
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

/** The refresh token is no longer valid. Nothing is wrong: a login follows. */
export class SessionEnded extends Failure {
  readonly code = 'session_ended';
  readonly exitCode = EXIT.credentials;
  /** The issuer saw one refresh token twice: either a bug of ours, or a copied state directory. */
  readonly reused: boolean;

  constructor(reused: boolean) {
    super('The issuer has ended the session.', { retry: 'soon' });
    this.reused = reused;
  }
}

interface RefusalRow {
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

// These errors are about the issuer, not about the credentials.
const ISSUER_TROUBLE = new Set(['server_error', 'temporarily_unavailable', 'unknown_error', 'slow_down']);

/** `null`: the issuer is in trouble, nothing was refused. */
export function classifyLoginError(error: string, description: string): LoginRefused | null {
  if (ISSUER_TROUBLE.has(error)) return null;
  return new LoginRefused(refusalRow(error, description.toLowerCase()));
}

function refusalRow(error: string, description: string): RefusalRow {
  if (error === 'unauthorized_client' || error === 'unsupported_grant_type') return REFUSALS.methodDisabled;
  if (error === 'invalid_client') return REFUSALS.wrongClient;
  if (error === 'invalid_scope') return REFUSALS.wrongScope;
  if (description.includes('not fully set up')) return REFUSALS.notSetUp;
  if (/\b(account|user) disabled\b/.test(description)) return REFUSALS.accountDisabled;
  // Treat an unknown refusal like a wrong password: that costs minutes, the opposite may get the account locked.
  return REFUSALS.badCredentials;
}

/** `null`: the issuer is in trouble, and the refresh token may still be valid. */
export function classifyRefreshError(error: string, description: string): SessionEnded | null {
  if (ISSUER_TROUBLE.has(error)) return null;
  return new SessionEnded(description.toLowerCase().includes('token reuse exceeded'));
}

/** The API refuses access tokens that the issuer has just granted. */
export class AccessTokenRejected extends Failure {
  readonly code = 'key_rejected';
  readonly exitCode = EXIT.provider;

  constructor() {
    super('The API refuses access tokens that the issuer has just granted.', {
      retry: 'later',
      hint: 'Check that provider.api_url, provider.client_id and provider.scopes belong together.',
    });
  }
}
