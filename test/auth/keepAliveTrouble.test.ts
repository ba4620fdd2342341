// A session kept alive through outages of the issuer, ends of sessions, and a machine that is suspended.
import { beforeEach, describe, expect, test } from 'vitest';
import { FAULTS, tooMany } from '../../src/simulator/faults.ts';
import { type Account, TOKEN_PATH } from './account.ts';
import { grants, HOUR, loggedIn, MINUTE, openLongAccount, SECOND } from './keeping.ts';

let account: Account;
beforeEach(async () => {
  account = await openLongAccount();
});

describe('when the issuer is in trouble', () => {
  test.each(['htmlUnavailable', 'captivePage', 'empty', 'serverError'] as const)(
    'an outage of five minutes costs no login: %s',
    async (name) => {
      await loggedIn(account);
      await account.pass(22 * MINUTE);
      account.simulator.switches.fault(TOKEN_PATH, FAULTS[name]);
      await account.pass(6 * MINUTE);
      const during = account.asked().refreshes;
      expect(during).toBeGreaterThan(0);
      expect(during).toBeLessThan(30);
      account.simulator.switches.clearFaults();
      await account.pass(2 * HOUR);
      expect(account.asked().logins).toBe(1);
      expect(account.messages('warn')).toEqual(['refresh ahead of expiry failed']);
      expect(account.messages('info').filter((message) => /refresh|tokens/.test(message))).toEqual([
        'the session has new tokens again',
      ]);
    },
  );

  test('a longer outage: no login by itself, and the next poll logs in once', async () => {
    const { session } = await loggedIn(account);
    account.simulator.switches.fault('/auth/', { kind: 'reset' });
    await account.pass(3 * HOUR);
    const during = account.asked().refreshes;
    expect(during).toBeLessThan(60);
    account.simulator.switches.clearFaults();
    await account.pass(HOUR);
    expect(account.asked()).toEqual({ logins: 1, refreshes: during });
    await session.accessToken();
    await account.pass(2 * HOUR);
    expect(account.asked().logins).toBe(2);
  });

  test('a session of a month outlives an outage of a day, with fewer and fewer requests', async () => {
    account.simulator.switches.token.refreshSeconds = 30 * 86_400;
    account.simulator.switches.token.sessionMaxSeconds = 60 * 86_400;
    await loggedIn(account);
    account.simulator.switches.fault('/auth/', FAULTS.serverError);
    await account.pass(24 * HOUR);
    expect(account.simulator.requests.length).toBeGreaterThan(48);
    expect(account.simulator.requests.length).toBeLessThan(90);
    account.simulator.switches.clearFaults();
    await account.pass(HOUR);
    expect(account.asked().logins).toBe(1);
    expect(account.messages('info')).toContain('the session has new tokens again');
  });

  test('Retry-After is honoured, and the session does not lapse meanwhile', async () => {
    await loggedIn(account, () => 0);
    account.simulator.switches.fault(TOKEN_PATH, tooMany(180), { times: 1 });
    await account.pass(2 * HOUR);
    const { gaps } = grants(account);
    expect(gaps[0]).toBe(1440 * SECOND);
    expect(gaps[1]).toBe(180 * SECOND);
    expect(account.asked().logins).toBe(1);
  });

  test.each([
    ['', false],
    [', announced in the lifetimes', true],
  ])(
    'a realm that ends each session after 10 h%s: one login for each, and no error',
    async (_, announced) => {
      const limits = { sessionMaxSeconds: 36_000, sessionMaxAnnounced: announced };
      Object.assign(account.simulator.switches.token, limits);
      await loggedIn(account);
      await account.pass(29 * HOUR);
      expect(account.asked().logins).toBe(3);
      expect(account.messages('error')).toEqual([]);
      expect(account.messages('warn')).toEqual([]);
    },
  );

  test('a realm that ends every session at its first refresh is left alone until the next poll', async () => {
    await loggedIn(account);
    account.simulator.switches.token.sessionMaxSeconds = 60;
    await account.pass(24 * HOUR);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  });

  test('a password that was changed meanwhile costs one attempt', async () => {
    account.simulator.switches.token.sessionMaxSeconds = 36_000;
    await loggedIn(account);
    account.simulator.changePassword('me@example.org', 'another');
    await account.pass(24 * HOUR);
    expect(account.asked().logins).toBe(2);
    expect(account.budgetStore.kept).toMatchObject({ refusals: 1 });
  });
});

describe('a machine that is suspended', () => {
  // The wall clock, and with it the issuer, moves on while this machine's timers stand still.
  test('for a quarter of an hour: refreshes soon after waking, without a login', async () => {
    await loggedIn(account);
    await account.pass(20 * MINUTE);
    account.clock.jump(10 * MINUTE);
    const woken = account.clock.now();
    await account.pass(MINUTE);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
    expect((grants(account).at.at(-1) ?? 0) - woken).toBeLessThanOrEqual(30 * SECOND);
  });

  test('overnight: one refused refresh, one login, then all is well again', async () => {
    const { session } = await loggedIn(account);
    await account.pass(HOUR);
    const before = account.asked().refreshes;
    account.clock.jump(8 * HOUR);
    await account.pass(MINUTE);
    expect(account.asked()).toEqual({ logins: 2, refreshes: before + 1 });
    await account.pass(2 * HOUR);
    expect(account.asked().logins).toBe(2);
    expect(session.status().state).toBe('ok');
  });
});
