// Every row of what Keycloak's token endpoint answers, over the wire: at the login and at the refresh, with status 400
// and 401, and with a WWW-Authenticate header in the way.
import { beforeEach, expect, test } from 'vitest';
import {
  classifyLoginError,
  LoginRefused,
  REFUSALS,
  RefusedForNow,
  SessionEnded,
} from '../../src/auth/refusals.ts';
import { IssuerUnreachable } from '../../src/auth/unreachable.ts';
import { oauth } from '../support/faults.ts';
import { type Account, openAccount, refusalOf, TOKEN_PATH } from './account.ts';

let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

/** What a login is refused with: code and state, and what it was about. */
type Meaning = readonly [code: string, state: string, about?: string];
const BAD: Meaning = ['bad_credentials_or_locked', 'bad_credentials_or_locked', 'password'];
const DISABLED: Meaning = ['account_disabled', 'needs_user_action', 'person'];
const NOT_SET_UP: Meaning = ['account_not_set_up', 'needs_user_action', 'person'];
const NO_PASSWORDS: Meaning = ['method_disabled', 'method_disabled', 'client'];
const CLIENT: Meaning = ['client_refused', 'needs_user_action', 'client'];
const SCOPE: Meaning = ['scope_refused', 'needs_user_action', 'client'];
const ISSUER: Meaning = ['issuer_refused', 'provider_down'];
/** What a refresh is refused with: the end of the session, or a refusal for now. */
const ENDED = 'session_ended';
const REUSED = 'Maximum allowed refresh token reuse exceeded';

const TABLE: readonly (readonly [
  situation: string,
  error: string,
  description: string,
  login: Meaning,
  refresh: string,
])[] = [
  ['wrong user or password, or a temporary lock', 'invalid_grant', 'Invalid user credentials', BAD, ENDED],
  ['account disabled', 'invalid_grant', 'Account disabled', DISABLED, 'account_disabled'],
  ['the same in capitals', 'invalid_grant', 'ACCOUNT DISABLED', DISABLED, 'account_disabled'],
  ['required action', 'invalid_grant', 'Account is not fully set up', NOT_SET_UP, ENDED],
  [
    'password grant off',
    'unauthorized_client',
    'Client not allowed for direct access grants',
    NO_PASSWORDS,
    'client_refused',
  ],
  [
    'password grant unknown',
    'unsupported_grant_type',
    'Unsupported grant_type',
    NO_PASSWORDS,
    'client_refused',
  ],
  [
    'wrong client id, or a client that is disabled',
    'invalid_client',
    'Invalid client or Invalid client credentials',
    CLIENT,
    'client_refused',
  ],
  ['wrong scope', 'invalid_scope', 'Invalid scopes: openid service-energy', SCOPE, 'scope_refused'],
  ['no offline session for this user', 'not_allowed', 'Offline tokens not allowed', SCOPE, 'scope_refused'],
  ['realm disabled', 'access_denied', 'Realm not enabled', ISSUER, 'issuer_refused'],
  ['realm that wants TLS', 'invalid_request', 'HTTPS required', ISSUER, 'issuer_refused'],
  ['refresh token expired', 'invalid_grant', 'Token is not active', BAD, ENDED],
  ['session ended', 'invalid_grant', 'Session not active', BAD, ENDED],
  ['token used twice', 'invalid_grant', REUSED, BAD, ENDED],
  ['token used twice, in capitals', 'invalid_grant', REUSED.toUpperCase(), BAD, ENDED],
  ['the good token after that', 'invalid_grant', "Session doesn't have required client", BAD, ENDED],
  ['older token', 'invalid_grant', 'Stale token', BAD, ENDED],
  ['user disabled meanwhile', 'invalid_grant', 'User disabled', DISABLED, 'account_disabled'],
  ['no description at all', 'invalid_grant', '', BAD, ENDED],
  ['an unknown error', 'out_of_order', 'Because', BAD, 'issuer_refused'],
];
/** Errors of OAuth itself that say nothing about the credentials. */
const TROUBLE = ['server_error', 'temporarily_unavailable', 'unknown_error', 'slow_down'];

const HEADERS = [undefined, { 'www-authenticate': 'Bearer realm="energy", error="invalid_token"' }];
const ANSWERS = [400, 401, 403].flatMap((status) => HEADERS.map((headers) => [status, headers] as const));

test.each(TABLE)('%s', async (_situation, error, description, [code, state, about], refresh) => {
  const issuer = account.issuer();
  const { refreshToken } = await issuer.login('me@example.org', 'demo');
  for (const [status, headers] of ANSWERS) {
    const fault = { ...oauth(status, error, description), ...(headers ? { headers } : {}) };
    account.simulator.switches.fault(TOKEN_PATH, fault, { times: 2 });
    const refused = await refusalOf(issuer.login('me@example.org', 'demo'));
    expect(refused).toBeInstanceOf(about === undefined ? RefusedForNow : LoginRefused);
    expect(refused).toMatchObject({ code, state });
    if (about !== undefined) expect(refused).toMatchObject({ about, retry: 'never', exitCode: 4 });
    expect(refused).toHaveProperty('hint', expect.stringMatching(/./));
    const notRefreshed = await refusalOf(issuer.refresh(refreshToken ?? ''));
    expect(notRefreshed).toBeInstanceOf(refresh === ENDED ? SessionEnded : RefusedForNow);
    expect(notRefreshed).toHaveProperty('code', refresh);
    if (refresh !== ENDED) continue;
    expect(notRefreshed).toHaveProperty('reused', description.toLowerCase() === REUSED.toLowerCase());
  }
  await expect(issuer.login('me@example.org', 'demo')).resolves.toMatchObject({ expiresInSeconds: 1800 });
});

test.each([
  ...TROUBLE.map((error) => [400, error] as const),
  ...[429, 500, 502, 503].map((status) => [status, 'invalid_grant'] as const),
])('%i %s refuses nothing, whatever it says besides', async (status, error) => {
  const issuer = account.issuer();
  account.simulator.switches.fault(TOKEN_PATH, oauth(status, error, 'Invalid user credentials'));
  expect(await refusalOf(issuer.login('me@example.org', 'demo'))).toBeInstanceOf(IssuerUnreachable);
  expect(await refusalOf(issuer.refresh('some-token'))).toBeInstanceOf(IssuerUnreachable);
});

test('what the issuer says is not repeated', () => {
  const refusal = classifyLoginError('invalid_grant', 'user me@example.org is unknown');
  expect(JSON.stringify([refusal?.message, refusal?.hint])).not.toContain('me@example.org');
});

test('each refusal tells what to do', () => {
  for (const { hint } of Object.values(REFUSALS)) expect(hint).toMatch(/Poll now|heat2mqtt login/);
});
