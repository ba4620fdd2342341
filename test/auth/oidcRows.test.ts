// Every row of the Keycloak table over the wire, with status 400 and 401, at both steps; and with a header in the way.
import { beforeEach, describe, expect, test } from 'vitest';
import { IssuerUnreachable } from '../../src/auth/oidc.ts';
import { LoginRefused, SessionEnded } from '../../src/auth/refusals.ts';
import { oauth } from '../../src/simulator/faults.ts';
import { type Account, openAccount, refusalOf, TOKEN_PATH } from './account.ts';
import { TABLE, TROUBLE } from './keycloakTable.ts';

let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

const HEADERS = [undefined, { 'www-authenticate': 'Bearer realm="energy", error="invalid_token"' }];
const ANSWERS = [400, 401].flatMap((status) => HEADERS.map((headers) => [status, headers] as const));

describe.each(TABLE)('$situation', ({ error, description, login, reused }) => {
  test('with any status, and a WWW-Authenticate header or none', async () => {
    const issuer = account.issuer();
    const { refreshToken } = await issuer.login('me@example.org', 'demo');
    for (const [status, headers] of ANSWERS) {
      const fault = { ...oauth(status, error, description), ...(headers ? { headers } : {}) };
      account.simulator.switches.fault(TOKEN_PATH, fault, { times: 2 });
      const refused = await refusalOf(issuer.login('me@example.org', 'demo'));
      expect(refused).toBeInstanceOf(LoginRefused);
      const [code, state, final] = login;
      expect(refused).toMatchObject({ code, state, final });
      const ended = await refusalOf(issuer.refresh(refreshToken ?? ''));
      expect(ended).toBeInstanceOf(SessionEnded);
      expect(ended).toMatchObject({ reused });
    }
    await expect(issuer.login('me@example.org', 'demo')).resolves.toMatchObject({ expiresInSeconds: 1800 });
  });
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

describe('the issuer itself', () => {
  test.each([400, 401] as const)('a wrong password with status %i', async (status) => {
    account.simulator.switches.token.wrongPasswordStatus = status;
    expect(await refusalOf(account.issuer().login('me@example.org', 'wrong'))).toMatchObject({
      code: 'bad_credentials_or_locked',
      final: false,
    });
  });

  test('a lock looks like a wrong password, also to the right one', async () => {
    account.simulator.switches.token.lockAfterWrongPasswords = 1;
    const issuer = account.issuer();
    const wrong = await refusalOf(issuer.login('me@example.org', 'wrong'));
    const locked = await refusalOf(issuer.login('me@example.org', 'demo'));
    expect(locked).toEqual(wrong);
  });

  test.each([
    ['disabled', 'account_disabled'],
    ['not_fully_set_up', 'account_not_set_up'],
  ] as const)('an account that is %s', async (state, code) => {
    account.simulator.switches.token.accountStates.set('me@example.org', state);
    expect(await refusalOf(account.issuer().login('me@example.org', 'demo'))).toMatchObject({ code });
  });

  test('a client without the password grant, another client, another scope', async () => {
    const { switches } = account.simulator;
    switches.token.passwordGrantAllowed = false;
    expect(await refusalOf(account.issuer().login('me@example.org', 'demo'))).toMatchObject({
      code: 'method_disabled',
    });
    switches.token.passwordGrantAllowed = true;
    const other = account.issuer({ clientId: 'somebody-else' });
    expect(await refusalOf(other.login('me@example.org', 'demo'))).toMatchObject({ code: 'client_refused' });
    const greedy = account.issuer({ scopes: ['openid', 'everything'] });
    expect(await refusalOf(greedy.login('me@example.org', 'demo'))).toMatchObject({ code: 'scope_refused' });
  });
});
