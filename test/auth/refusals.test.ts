// Every row of what Keycloak's token endpoint answers, at the login and at the refresh; and over the wire, with status 400
// and 401, and with a WWW-Authenticate header in the way.
import { expect, test } from 'vitest';
import {
  classifyCodeError,
  classifyLoginError,
  classifyRefreshError,
  LoginRefused,
  REFUSALS,
  RefusedForNow,
  SessionEnded,
} from '../../src/auth/refusals.ts';
import { oauth } from '../support/faults.ts';
import { openAccount, refusalOf, TOKEN_PATH } from './account.ts';

/** What a login is refused with: code and state, and what it was about. */
type Meaning = readonly [code: string, state: string, about?: string];
const BAD: Meaning = ['bad_credentials_or_locked', 'bad_credentials_or_locked', 'password'];
const DISABLED: Meaning = ['account_disabled', 'needs_user_action', 'person'];
const NOT_SET_UP: Meaning = ['account_not_set_up', 'needs_user_action', 'person'];
const NO_PASSWORDS: Meaning = ['method_disabled', 'method_disabled', 'client'];
const CLIENT: Meaning = ['client_refused', 'needs_user_action', 'client'];
const SCOPE: Meaning = ['scope_refused', 'needs_user_action', 'client'];
const FULL: Meaning = ['session_limit', 'backoff', 'otherwise'];
const OTHER: Meaning = ['refused_otherwise', 'backoff', 'otherwise'];
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
  ['account disabled', 'invalid_grant', 'ACCOUNT DISABLED', DISABLED, 'account_disabled'],
  ['required action', 'invalid_grant', 'Account is not fully set up', NOT_SET_UP, ENDED],
  ['password grant off', 'unauthorized_client', 'Client not allowed', NO_PASSWORDS, 'client_refused'],
  ['password grant unknown', 'unsupported_grant_type', 'Unsupported', NO_PASSWORDS, 'client_refused'],
  ['wrong client id, or one that is off', 'invalid_client', 'Invalid client', CLIENT, 'client_refused'],
  ['wrong scope', 'invalid_scope', 'Invalid scopes: openid service-energy', SCOPE, 'scope_refused'],
  ['no offline session for this user', 'not_allowed', 'Offline tokens not allowed', SCOPE, 'scope_refused'],
  ['realm disabled', 'access_denied', 'Realm not enabled', ISSUER, 'issuer_refused'],
  ['realm that wants TLS', 'invalid_request', 'HTTPS required', ISSUER, 'issuer_refused'],
  ['session ended', 'invalid_grant', 'Session not active', BAD, ENDED],
  ['token used twice', 'invalid_grant', REUSED, BAD, ENDED],
  ['token used twice, in capitals', 'invalid_grant', REUSED.toUpperCase(), BAD, ENDED],
  ['user disabled meanwhile', 'invalid_grant', 'User disabled', DISABLED, 'account_disabled'],
  ['something else is disabled', 'invalid_grant', 'Password login is disabled', BAD, ENDED],
  ['no description at all', 'invalid_grant', '', BAD, ENDED],
  ['a limit of sessions', 'There are too many sessions', '', FULL, 'issuer_refused'],
  [
    'a limit of sessions, in newer words',
    'generic_authentication_error',
    'Session limit',
    FULL,
    'issuer_refused',
  ],
  ['a limit in words of its own', 'Genug ist genug', '', OTHER, 'issuer_refused'],
  ['an unknown error', 'out_of_order', 'Because', OTHER, 'issuer_refused'],
];
test.each(TABLE)('%s', (_situation, error, description, [code, state, about], refresh) => {
  const refused = classifyLoginError(error, description);
  expect(refused).toBeInstanceOf(about === undefined ? RefusedForNow : LoginRefused);
  expect(refused).toMatchObject({ code, state, hint: expect.stringMatching(/./) });
  if (about !== undefined) expect(refused).toMatchObject({ about, retry: 'never', exitCode: 4 });
  const notRefreshed = classifyRefreshError(error, description);
  expect(notRefreshed).toBeInstanceOf(refresh === ENDED ? SessionEnded : RefusedForNow);
  expect(notRefreshed).toHaveProperty('code', refresh);
  const reused = description.toLowerCase() === REUSED.toLowerCase();
  if (refresh === ENDED) expect(notRefreshed).toHaveProperty('reused', reused);
});

test.each([
  ['the client is unknown', 'invalid_client', 'client_refused'],
  ['the client may not sign in so', 'unauthorized_client', 'client_refused'],
  ['a scope is refused', 'invalid_scope', 'scope_refused'],
  ['the issuer refuses everything', 'invalid_request', 'issuer_refused'],
  ['the code is too old', 'expired_token', 'code_refused'],
  ['the issuer is in trouble', 'server_error', undefined],
])('judges a code that a person brings when %s', (_, error, code) => {
  expect(classifyCodeError(error, '')?.code).toBe(code);
});

test('judges by the body when status and WWW-Authenticate say something else', async () => {
  const account = await openAccount();
  const issuer = account.issuer();
  const refused = async (status: number, error: string, headers = {}) => {
    const fault = { ...oauth(status, error, 'Invalid user credentials'), headers };
    account.simulator.switches.fault(TOKEN_PATH, fault, { times: 2 });
    return [
      await refusalOf(issuer.login('me@example.org', 'demo')),
      await refusalOf(issuer.refresh('some-token')),
    ];
  };
  const authenticate = { 'www-authenticate': 'Bearer realm="energy", error="invalid_token"' };
  for (const status of [400, 401, 403])
    for (const headers of [{}, authenticate])
      expect(await refused(status, 'invalid_grant', headers)).toEqual([
        expect.any(LoginRefused),
        expect.any(SessionEnded),
      ]);
  const unreachable = expect.objectContaining({ code: 'issuer_unreachable' });
  const trouble = [unreachable, unreachable];
  for (const error of ['server_error', 'temporarily_unavailable', 'unknown_error', 'slow_down'])
    expect(await refused(400, error), error).toEqual(trouble);
  for (const status of [429, 500, 502, 503])
    expect(await refused(status, 'invalid_grant'), String(status)).toEqual(trouble);
  await expect(issuer.login('me@example.org', 'demo')).resolves.toMatchObject({ expiresInSeconds: 1800 });
});

test('repeats nothing of what the issuer says when it is no code', () => {
  const said = (error: string, description: string) => {
    const all = [classifyLoginError, classifyCodeError].map((classify) => classify(error, description));
    return all.map((refusal) => `${refusal?.message} ${refusal?.hint}`).join(' ');
  };
  expect(said('invalid_grant', 'user me@example.org is unknown')).not.toContain('me@example.org');
  for (const error of ['Orla', 'orla', 'orla.invented', 'Too much, Orla', `${'a_'.repeat(40)}a`, 'C-17_orla'])
    expect(said(error, 'me@example.org')).not.toMatch(new RegExp(`${error}|me@`));
  expect(said('mfa_required', 'Orla')).toContain('(mfa_required)');
});

test('says nothing about the password when an error is outside of the table, and nothing to do on the page that takes the session', () => {
  for (const error of ['There are too many sessions', 'mfa_required']) {
    const { message, hint = '' } = classifyLoginError(error, '') ?? {};
    expect(message).toContain('says nothing about the password');
    expect(hint).toContain('at last every six hours');
    expect(`${message} ${hint}`).not.toMatch(/Check username|has locked/);
    // A person who brings a code is not told that something happens by itself.
    const code = classifyCodeError(error, '');
    expect(code).toBeInstanceOf(RefusedForNow);
    expect(code).toMatchObject({ message, hint: expect.stringMatching(/Begin again later\.$/) });
  }
});

test('tells what to do when a login is refused', () => {
  for (const { hint } of Object.values(REFUSALS)) expect(hint).toMatch(/Poll now|heat2mqtt login/);
});
