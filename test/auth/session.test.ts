// An access token for everybody: valid, else one refresh, else one login.
import { beforeEach, describe, expect, test } from 'vitest';
import { FAULTS } from '../../src/simulator/faults.ts';
import { type Account, openAccount, refusalOf, TOKEN_PATH } from './account.ts';

const SECOND = 1000;
let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

describe('the order of things', () => {
  test('first a login, then the same token until shortly before its end, then a refresh', async () => {
    const { session } = account.start();
    expect(await session.current()).toBeNull();
    const first = await session.accessToken();
    account.clock.advance(1739 * SECOND);
    expect(await session.accessToken()).toBe(first);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 0 });
    account.clock.advance(SECOND);
    const second = await session.accessToken();
    expect(second).not.toBe(first);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  });

  test('every token is known to the scrubber, and in no line of the log', async () => {
    const { session } = account.start();
    const first = await session.accessToken();
    account.clock.advance(1750 * SECOND);
    const second = await session.accessToken();
    for (const token of [first, second, account.tokens.kept?.refreshToken ?? '']) {
      expect(account.scrubber.scrub(Buffer.from(token).toString('base64'))).toBe('[secret]');
      expect(account.lines.join('')).not.toContain(token);
    }
  });

  test('status has the state and the ends of life; every change is reported', async () => {
    const { session } = account.start();
    expect(session.status()).toEqual({
      state: 'ok',
      nextAttemptAt: null,
      accessExpiresAt: null,
      refreshExpiresAt: null,
    });
    await session.accessToken();
    const now = account.clock.now();
    expect(session.status()).toEqual({
      state: 'ok',
      nextAttemptAt: null,
      accessExpiresAt: now + 1800 * SECOND,
      refreshExpiresAt: now + 2100 * SECOND,
    });
    account.clock.advance(1750 * SECOND);
    await session.accessToken();
    expect(account.events).toEqual(['refreshing', 'login', 'ok', 'refreshing', 'refresh', 'ok']);
  });
});

describe('fifty at a time', () => {
  const fifty = <T>(ask: () => Promise<T>) => Promise.all(Array.from({ length: 50 }, ask));

  test('one login, one refresh, one answer to all', async () => {
    const { session } = account.start();
    expect(new Set(await fifty(() => session.accessToken())).size).toBe(1);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 0 });
    account.clock.advance(1750 * SECOND);
    expect(new Set(await fifty(() => session.accessToken())).size).toBe(1);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
    expect(account.simulator.counters.refreshGrants.maxInFlight).toBe(1);
  });

  test('renewals and refused access tokens among them', async () => {
    const { session } = account.start();
    const first = await session.accessToken();
    const all = await Promise.all([
      session.renew(),
      ...Array.from({ length: 25 }, () => session.accessToken([first])),
      session.renew(),
      ...Array.from({ length: 25 }, () => session.accessToken([first])),
    ]);
    expect(new Set(all.filter((token) => typeof token === 'string')).size).toBe(1);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  });

  test('a failure reaches all of them, and the next caller asks anew', async () => {
    const { session } = account.start();
    account.simulator.switches.fault(TOKEN_PATH, FAULTS.htmlUnavailable, { times: 1 });
    const all = await fifty(() => refusalOf(session.accessToken()));
    expect(new Set(all.map(String)).size).toBe(1);
    expect(account.asked().logins).toBe(1);
    expect(session.status().state).toBe('provider_down');
    await expect(session.accessToken()).resolves.toMatch(/^eyJ/);
    expect(session.status().state).toBe('ok');
  });
});
