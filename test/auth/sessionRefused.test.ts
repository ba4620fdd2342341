// A session when the API refuses its access tokens, when the issuer ends it, and when the login is refused.
import { beforeEach, describe, expect, test } from 'vitest';
import { AccessTokenRejected } from '../../src/auth/refusals.ts';
import { FAULTS } from '../../src/simulator/faults.ts';
import { type Account, expiring, openAccount, refusalOf, TOKEN_PATH } from './account.ts';

const SECOND = 1000;
const HOUR = 3_600_000;
let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

describe('when the API refuses the access token', () => {
  test('once: refresh; twice: login; three times: it gives up', async () => {
    const { session } = account.start();
    const rejected = [await session.accessToken()];
    rejected.push(await session.accessToken(rejected));
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
    rejected.push(await session.accessToken(rejected));
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(new Set(rejected).size).toBe(3);
    expect(await refusalOf(session.accessToken(rejected))).toBeInstanceOf(AccessTokenRejected);
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(session.status().state).toBe('backoff');
  });

  test('a token that came meanwhile is good enough', async () => {
    const { session } = account.start();
    const first = await session.accessToken();
    const second = await session.accessToken([first]);
    expect(await session.accessToken([first])).toBe(second);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  });

  test('day in, day out: no more than a login every six hours', async () => {
    const { session } = account.start();
    const begin = account.asked().logins;
    for (let hour = 0; hour < 24; hour += 1) {
      const rejected: string[] = [];
      for (let done = false; !done; ) {
        const token = await session.accessToken(rejected).catch(() => null);
        if (token === null) done = true;
        else rejected.push(token);
      }
      account.clock.advance(1600 * SECOND);
      await session.renew();
      account.clock.advance(1600 * SECOND);
      await session.renew();
      account.clock.advance(400 * SECOND);
    }
    // The first of a day comes on top: there were no tokens yet.
    expect(account.asked().logins - begin).toBeLessThanOrEqual(1 + 4);
  });
});

test('a refused login is over once the API accepts the tokens that there are after all', async () => {
  const { session } = account.start();
  const rejected = [await session.accessToken()];
  rejected.push(await session.accessToken(rejected));
  account.password = 'wrong';
  await refusalOf(session.accessToken(rejected));
  expect(session.isSuspended).toBe(true);
  session.accepted();
  expect([session.isSuspended, session.fault, session.status().state]).toEqual([false, null, 'ok']);
});

test('a late answer of the API does not hide that the session has ended', async () => {
  const session = await expiring(account);
  account.password = 'wrong';
  account.simulator.switches.fault(TOKEN_PATH, FAULTS.sessionNotActive, { times: 1 });
  await refusalOf(session.accessToken());
  session.accepted();
  expect(session.status().state).toBe('bad_credentials_or_locked');
});

describe('when a refresh is refused', () => {
  test.each(['tokenNotActive', 'sessionNotActive', 'noRequiredClient', 'staleToken'] as const)(
    '%s: exactly one login, which is no failure',
    async (name) => {
      const session = await expiring(account);
      account.simulator.switches.fault(TOKEN_PATH, FAULTS[name], { times: 1 });
      await expect(session.accessToken()).resolves.toMatch(/^eyJ/);
      expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
      expect(account.messages('error')).toEqual([]);
    },
  );

  test.each([
    ['userDisabled', 'account_disabled', 'needs_user_action'],
    ['methodDisabled', 'client_refused', 'provider_down'],
    ['clientRefused', 'client_refused', 'provider_down'],
    ['scopeRefused', 'scope_refused', 'provider_down'],
    ['realmDisabled', 'issuer_refused', 'provider_down'],
    ['tlsRequired', 'issuer_refused', 'provider_down'],
  ] as const)('%s keeps the tokens, and costs no login', async (name, code, state) => {
    const session = await expiring(account);
    account.simulator.switches.fault(TOKEN_PATH, FAULTS[name], { times: 3 });
    for (let count = 0; count < 3; count += 1) {
      expect(await refusalOf(session.accessToken())).toMatchObject({ code, retry: 'later' });
      expect(session.status().state).toBe(state);
    }
    await expect(session.accessToken()).resolves.toMatch(/^eyJ/);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 4 });
    expect(session.status().state).toBe('ok');
  });

  test('a user disabled for longer than the tokens live: one login, then no more', async () => {
    const { session } = account.start();
    await session.accessToken();
    account.simulator.switches.token.accountStates.set('me@example.org', 'disabled');
    account.clock.advance(1750 * SECOND);
    for (let hour = 0; hour < 24; hour += 1) {
      expect(await refusalOf(session.accessToken())).toHaveProperty('code', 'account_disabled');
      account.clock.advance(HOUR);
    }
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(session.status()).toMatchObject({ state: 'needs_user_action', nextAttemptAt: null });
  });

  test('an ended session is not tried again while the login behind it fails', async () => {
    const { session } = account.start();
    await session.accessToken();
    account.simulator.endSessions();
    account.simulator.changePassword('me@example.org', 'another');
    account.clock.advance(1750 * SECOND);
    for (let count = 0; count < 3; count += 1) await refusalOf(session.accessToken());
    await refusalOf(account.start().session.accessToken());
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(session.status()).toMatchObject({ accessExpiresAt: null, refreshExpiresAt: null });
  });

  test('a token used twice is our own bug: logged as an error, and the pair dropped', async () => {
    const session = await expiring(account);
    account.simulator.switches.fault(TOKEN_PATH, FAULTS.reuseExceeded, { times: 1 });
    await expect(session.accessToken()).resolves.toMatch(/^eyJ/);
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(account.messages('error')).toEqual(['session ended by the issuer']);
    expect(account.tokens.steps).toContain('remove');
  });

  test('a refresh whose reply is lost costs a login, and is no bug', async () => {
    const session = await expiring(account);
    // The issuer carries the refresh out, but its reply is lost: the only good pair with it.
    account.simulator.switches.fault(TOKEN_PATH, { kind: 'reply_lost' }, { times: 1 });
    await refusalOf(session.accessToken());
    await expect(session.accessToken()).resolves.toMatch(/^eyJ/);
    expect(account.asked()).toEqual({ logins: 2, refreshes: 2 });
    expect(account.messages('error')).toEqual([]);
    // Afterwards a token used twice is a bug again.
    account.clock.advance(1750 * SECOND);
    account.simulator.switches.fault(TOKEN_PATH, FAULTS.reuseExceeded, { times: 1 });
    await session.accessToken();
    expect(account.messages('error')).toEqual(['session ended by the issuer']);
  });

  test('trouble of the issuer keeps the pair, and costs no login', async () => {
    const session = await expiring(account);
    account.simulator.switches.fault(TOKEN_PATH, FAULTS.htmlUnavailable, { times: 3 });
    for (let count = 0; count < 3; count += 1) await refusalOf(session.accessToken());
    expect(session.status().state).toBe('provider_down');
    await session.accessToken();
    expect(account.asked()).toEqual({ logins: 1, refreshes: 4 });
  });
});

test('after a refused login the status has its state and the time of the next attempt', async () => {
  account.password = 'wrong';
  const { session } = account.start();
  await refusalOf(session.accessToken());
  const expected = {
    state: 'bad_credentials_or_locked',
    nextAttemptAt: account.clock.now() + HOUR / 4,
    accessExpiresAt: null,
  };
  expect(session.status()).toMatchObject(expected);
  await refusalOf(session.accessToken());
  expect(session.status()).toMatchObject(expected);
  const again = account.start();
  await refusalOf(again.session.accessToken());
  expect(again.session.status()).toMatchObject(expected);
});
