// Every row of what Keycloak's token endpoint answers, over the wire: at the login and at the refresh, with status 400
// and 401, and with a WWW-Authenticate header in the way.
import { beforeEach, expect, test } from 'vitest';
import { IssuerUnreachable } from '../../src/auth/oidc.ts';
import { classifyLoginError, LoginRefused, REFUSALS, SessionEnded } from '../../src/auth/refusals.ts';
import { oauth } from '../../src/simulator/faults.ts';
import { type Account, openAccount, refusalOf, TOKEN_PATH } from './account.ts';

let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

/** What a login is refused with: code and state, and whether waiting is pointless. */
type Meaning = readonly [code: string, state: string, final: boolean];
const BAD: Meaning = ['bad_credentials_or_locked', 'bad_credentials_or_locked', false];
const DISABLED: Meaning = ['account_disabled', 'needs_user_action', true];
const NOT_SET_UP: Meaning = ['account_not_set_up', 'needs_user_action', true];
const NO_PASSWORDS: Meaning = ['method_disabled', 'method_disabled', true];
const CLIENT: Meaning = ['client_refused', 'needs_user_action', true];
const SCOPE: Meaning = ['scope_refused', 'needs_user_action', true];
const REUSED = 'Maximum allowed refresh token reuse exceeded';

const TABLE: readonly (readonly [situation: string, error: string, description: string, login: Meaning])[] = [
  ['wrong user or password, or a temporary lock', 'invalid_grant', 'Invalid user credentials', BAD],
  ['account disabled', 'invalid_grant', 'Account disabled', DISABLED],
  ['the same in capitals', 'invalid_grant', 'ACCOUNT DISABLED', DISABLED],
  ['required action', 'invalid_grant', 'Account is not fully set up', NOT_SET_UP],
  ['password grant off', 'unauthorized_client', 'Client not allowed for direct access grants', NO_PASSWORDS],
  ['password grant unknown', 'unsupported_grant_type', 'Unsupported grant_type', NO_PASSWORDS],
  ['wrong client id', 'invalid_client', 'Invalid client or Invalid client credentials', CLIENT],
  ['wrong scope', 'invalid_scope', 'Invalid scopes: openid service-energy', SCOPE],
  ['refresh token expired', 'invalid_grant', 'Token is not active', BAD],
  ['session ended', 'invalid_grant', 'Session not active', BAD],
  ['token used twice', 'invalid_grant', REUSED, BAD],
  ['token used twice, in capitals', 'invalid_grant', REUSED.toUpperCase(), BAD],
  ['the good token after that', 'invalid_grant', "Session doesn't have required client", BAD],
  ['older token', 'invalid_grant', 'Stale token', BAD],
  ['user disabled meanwhile', 'invalid_grant', 'User disabled', DISABLED],
  ['no description at all', 'invalid_grant', '', BAD],
  ['an unknown error', 'access_denied', 'Because', BAD],
];
/** Errors of OAuth itself that say nothing about the credentials. */
const TROUBLE = ['server_error', 'temporarily_unavailable', 'unknown_error', 'slow_down'];

const HEADERS = [undefined, { 'www-authenticate': 'Bearer realm="energy", error="invalid_token"' }];
const ANSWERS = [400, 401].flatMap((status) => HEADERS.map((headers) => [status, headers] as const));

test.each(TABLE)('%s', async (_situation, error, description, [code, state, final]) => {
  const issuer = account.issuer();
  const { refreshToken } = await issuer.login('me@example.org', 'demo');
  for (const [status, headers] of ANSWERS) {
    const fault = { ...oauth(status, error, description), ...(headers ? { headers } : {}) };
    account.simulator.switches.fault(TOKEN_PATH, fault, { times: 2 });
    const refused = await refusalOf(issuer.login('me@example.org', 'demo'));
    expect(refused).toBeInstanceOf(LoginRefused);
    expect(refused).toMatchObject({ code, state, final, retry: 'never', exitCode: 4 });
    expect(refused).toHaveProperty('hint', expect.stringMatching(/./));
    const ended = await refusalOf(issuer.refresh(refreshToken ?? ''));
    expect(ended).toBeInstanceOf(SessionEnded);
    const reused = description.toLowerCase() === REUSED.toLowerCase();
    expect(ended).toMatchObject({ reused, code: 'session_ended' });
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

test('each refusal has a code of its own', () => {
  const codes = Object.values(REFUSALS).map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
});
