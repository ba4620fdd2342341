// The table of what Keycloak's token endpoint answers, and what it means to each of the two steps.

export interface Row {
  readonly situation: string;
  readonly error: string;
  readonly description: string;
  /** The password step: code and state, and whether waiting is pointless. */
  readonly login: readonly [code: string, state: string, final: boolean];
  /** The refresh step: a login follows; true when one token was used twice. */
  readonly reused: boolean;
}

const BAD = ['bad_credentials_or_locked', 'bad_credentials_or_locked', false] as const;

function row(
  situation: string,
  error: string,
  description: string,
  login: Row['login'] = BAD,
  reused = false,
): Row {
  return { situation, error, description, login, reused };
}

export const TABLE: readonly Row[] = [
  row('wrong user or password, or a temporary lock', 'invalid_grant', 'Invalid user credentials'),
  row('account disabled', 'invalid_grant', 'Account disabled', [
    'account_disabled',
    'needs_user_action',
    true,
  ]),
  row('required action', 'invalid_grant', 'Account is not fully set up', [
    'account_not_set_up',
    'needs_user_action',
    true,
  ]),
  row('password grant switched off', 'unauthorized_client', 'Client not allowed for direct access grants', [
    'method_disabled',
    'method_disabled',
    true,
  ]),
  row('password grant unknown', 'unsupported_grant_type', 'Unsupported grant_type', [
    'method_disabled',
    'method_disabled',
    true,
  ]),
  row('wrong client id', 'invalid_client', 'Invalid client or Invalid client credentials', [
    'client_refused',
    'needs_user_action',
    true,
  ]),
  row('wrong scope', 'invalid_scope', 'Invalid scopes: openid service-energy', [
    'scope_refused',
    'needs_user_action',
    true,
  ]),
  row('refresh token past its life', 'invalid_grant', 'Token is not active'),
  row('session ended', 'invalid_grant', 'Session not active'),
  row('token used twice', 'invalid_grant', 'Maximum allowed refresh token reuse exceeded', BAD, true),
  row('the good token after that', 'invalid_grant', "Session doesn't have required client"),
  row('older token', 'invalid_grant', 'Stale token'),
  row('user disabled meanwhile', 'invalid_grant', 'User disabled', [
    'account_disabled',
    'needs_user_action',
    true,
  ]),
  row('no words at all', 'invalid_grant', ''),
  row('an error nobody knows', 'access_denied', 'Because'),
];

/** Errors of OAuth's own words that say nothing about us. */
export const TROUBLE = ['server_error', 'temporarily_unavailable', 'unknown_error', 'slow_down'];
