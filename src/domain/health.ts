// The states of an account's session, and what is told of something that is wrong.

export const AUTH_STATES = [
  'ok',
  'refreshing',
  'backoff',
  'bad_credentials_or_locked',
  'needs_user_action',
  'method_disabled',
  /** A person has to sign in, by `heat2mqtt login`. */
  'login_needed',
  'provider_down',
] as const;
export type AuthState = (typeof AUTH_STATES)[number];

export interface AuthStatus {
  readonly state: AuthState;
  /** Epoch milliseconds; `null` = not planned, or not known. */
  readonly nextAttemptAt: number | null;
  readonly accessExpiresAt: number | null;
  readonly refreshExpiresAt: number | null;
}

/** Something that is wrong now, in words safe for any topic. */
export interface Reason {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly account?: string;
  readonly meter?: string;
}

const NEEDS_A_PERSON: ReadonlySet<AuthState> = new Set([
  'bad_credentials_or_locked',
  'needs_user_action',
  'method_disabled',
  'login_needed',
]);

/** Waiting alone will not bring this account back. */
export const needsAPerson = (state: AuthState): boolean => NEEDS_A_PERSON.has(state);
