// A session when the API refuses its access tokens, when the issuer ends it, and when the login is refused.
import { beforeEach, describe, expect, test } from 'vitest';
import { FAULTS } from '../../src/simulator/faults.ts';
import { look } from '../simulator/visitor.ts';
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
    await session.accepted();
    rejected.push(await session.accessToken(rejected));
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
    rejected.push(await session.accessToken(rejected));
    expect(account.asked()).toEqual({ logins: 2, refreshes: 1 });
    expect(new Set(rejected).size).toBe(3);
    expect(await refusalOf(session.accessToken(rejected))).toMatchObject({ code: 'key_rejected' });
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

  /** One exchange with an API that refuses whatever token comes. */
  async function exchange({ session }: ReturnType<Account['start']>): Promise<void> {
    const rejected: string[] = [];
    for (;;) {
      const token = await session.accessToken(rejected).catch((err) => {
        expect(err).toMatchObject({ code: 'key_rejected', exitCode: 5 });
        return null;
      });
      if (token === null) return;
      rejected.push(token);
    }
  }

  test.each([
    ['in one process', true],
    ['opened anew for each exchange', false],
  ])('day in, day out, %s: four logins a day, an hour apart', async (_, isOne) => {
    const one = account.start();
    const days = 3;
    for (let half = 0; half < days * 48; half += 1) {
      const now = isOne ? one : account.start();
      await exchange(now);
      account.clock.advance(900 * SECOND);
      await now.session.renew();
      account.clock.advance(900 * SECOND);
    }
    const logins = account.simulator.requests
      .filter(({ body }) => look(body, 'grant_type') === 'password')
      .map(({ at }) => at);
    expect(logins).toHaveLength(days * 4);
    for (const [index, at] of logins.entries())
      expect(at - (logins[index - 1] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(HOUR);
  });

  test('of the first login, before it has accepted anything: no second one within the hour', async () => {
    await exchange(account.start());
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
    account.clock.advance(HOUR);
    await exchange(account.start());
    expect(account.asked()).toEqual({ logins: 2, refreshes: 2 });
  });

  test('a session that a person has brought is not said to be missing', async () => {
    const { session } = account.start();
    account.signIn = 'device';
    const { session: ofPerson } = account.start();
    await session.accessToken();
    await exchange({ ...account.start(), session: ofPerson });
    expect(account.asked().logins).toBe(1);
  });

  test('logins whose tokens it accepts are not limited', async () => {
    account.simulator.switches.token.withoutRefreshToken = true;
    for (let poll = 0; poll < 12; poll += 1) {
      const { session } = account.start();
      await session.accessToken();
      await session.accepted();
      account.clock.advance(HOUR / 2);
    }
    expect(account.asked().logins).toBe(12);
    expect(account.budgetStore.kept).toBeNull();
  });
});

test('a refused login is over once the API accepts the tokens that there are after all', async () => {
  const { session } = account.start();
  const rejected = [await session.accessToken()];
  await session.accepted();
  rejected.push(await session.accessToken(rejected));
  account.password = 'wrong';
  await refusalOf(session.accessToken(rejected));
  expect(session.isSuspended).toBe(true);
  await session.accepted();
  expect([session.isSuspended, session.fault, session.status().state]).toEqual([false, null, 'ok']);
});

test('a late answer of the API does not hide that the session has ended', async () => {
  const session = await expiring(account);
  account.password = 'wrong';
  account.simulator.switches.fault(TOKEN_PATH, FAULTS.sessionNotActive, { times: 1 });
  await refusalOf(session.accessToken());
  await session.accepted();
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
