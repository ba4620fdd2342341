// A session that never lapses: refreshed between 80 % and 95 % of its life, all day, until it is stopped.
import { beforeEach, describe, expect, test } from 'vitest';
import { type ConcurrencyLimit, concurrencyLimit } from '../../src/foundation/limits.ts';
import { FAULTS } from '../../src/simulator/faults.ts';
import { type Account, TOKEN_PATH } from './account.ts';
import { grants, HOUR, loggedIn, MINUTE, openLongAccount, SECOND } from './keeping.ts';

let account: Account;
beforeEach(async () => {
  account = await openLongAccount();
});

describe('when nothing is wrong', () => {
  test.each([
    [1800, 2100, 24 * HOUR],
    [6, 8, 20 * MINUTE],
    [300, 1800, 6 * HOUR],
  ])('%d/%d s: one login, and every refresh in good time', async (access, refresh, span) => {
    Object.assign(account.simulator.switches.token, { accessSeconds: access, refreshSeconds: refresh });
    await loggedIn(account);
    await account.pass(span);
    const { logins, refreshes } = account.asked();
    expect(logins).toBe(1);
    expect(refreshes).toBeGreaterThanOrEqual(Math.floor(span / SECOND / access));
    for (const gap of grants(account).gaps) {
      expect(gap).toBeGreaterThanOrEqual(access * SECOND * 0.8);
      expect(gap).toBeLessThanOrEqual(access * SECOND * 0.95);
    }
    expect(new Set(grants(account).gaps).size).toBeGreaterThan(5);
    expect(account.simulator.counters.refreshGrants).toMatchObject({ ok: refreshes, maxInFlight: 1 });
  });

  test('a refresh ahead of expiry does not change the state of the session', async () => {
    await loggedIn(account);
    account.events.splice(0);
    await account.pass(6 * HOUR);
    expect(new Set(account.events)).toEqual(new Set(['refresh', 'ok']));
  });

  test.each([0, 0.999_999])('also when the random number is %d', async (chance) => {
    await loggedIn(account, () => chance);
    await account.pass(6 * HOUR);
    expect(account.asked().logins).toBe(1);
    for (const gap of grants(account).gaps)
      expect(gap / (1800 * SECOND)).toBeCloseTo(chance === 0 ? 0.8 : 0.88, 2);
  });

  test('without tokens it asks for nothing, and it does not log in by itself', async () => {
    account.start().keepAlive();
    await account.pass(24 * HOUR);
    expect(account.simulator.requests).toEqual([]);
  });

  test('woken for the first tokens, it begins at once', async () => {
    Object.assign(account.simulator.switches.token, { accessSeconds: 6, refreshSeconds: 8 });
    const { session, keepAlive } = account.start();
    const alive = keepAlive();
    await account.pass(SECOND);
    await session.accessToken();
    alive.wake();
    await account.pass(MINUTE);
    expect(account.asked().logins).toBe(1);
    expect(account.asked().refreshes).toBeGreaterThanOrEqual(10);
  });

  test('tokens from before a restart are kept alive as well', async () => {
    const first = await loggedIn(account);
    await account.pass(20 * MINUTE);
    await first.alive.stop();
    account.start().keepAlive();
    await account.pass(6 * HOUR);
    expect(account.asked().logins).toBe(1);
    expect(account.asked().refreshes).toBeGreaterThanOrEqual(12);
  });

  test('a token without a life of its own is not refreshed without a pause', async () => {
    account.simulator.switches.fault(TOKEN_PATH, {
      kind: 'change',
      change: (body) => ({ ...Object(body), expires_in: 0 }),
    });
    await loggedIn(account);
    await account.pass(10 * MINUTE);
    expect(account.asked().refreshes).toBeLessThanOrEqual(13);
  });
});

describe('behind a concurrency limit', () => {
  const waitingAtTheLimit = async (limit: ConcurrencyLimit) => {
    const { session, keepAlive } = account.start();
    await session.accessToken();
    const alive = keepAlive(() => 0, limit);
    let leave = (): void => undefined;
    void limit(() => new Promise<void>((resolve) => (leave = resolve)));
    await account.pass(24 * MINUTE);
    expect(limit.pendingCount).toBe(1);
    return { session, alive, leave };
  };

  test('a session that somebody refreshed meanwhile is not refreshed again', async () => {
    const { session, leave } = await waitingAtTheLimit(concurrencyLimit(1));
    await session.renew();
    leave();
    await account.pass(MINUTE);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
    await account.pass(24 * MINUTE);
    expect(account.asked().refreshes).toBe(2);
  });

  test('after a stop nothing is refreshed', async () => {
    const { alive, leave } = await waitingAtTheLimit(concurrencyLimit(1));
    const stopping = alive.stop();
    leave();
    await stopping;
    expect(account.asked()).toEqual({ logins: 1, refreshes: 0 });
  });
});

describe('stop()', () => {
  test('ends a sleep at once, and nothing follows', async () => {
    const { alive } = await loggedIn(account);
    await account.pass(5 * SECOND);
    await alive.stop();
    await alive.stop();
    expect(account.clock.sleepers).toBe(0);
    await account.pass(6 * HOUR);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 0 });
  });

  test('before anything has happened, and while waiting after a failure', async () => {
    await account.start().keepAlive().stop();
    const { alive } = await loggedIn(account);
    account.simulator.switches.fault(TOKEN_PATH, FAULTS.htmlUnavailable);
    await account.pass(28 * MINUTE);
    expect(account.asked().refreshes).toBeGreaterThan(1);
    await alive.stop();
    expect(account.clock.sleepers).toBe(0);
  });

  test('waits for a refresh under way, so that its pair of tokens is not lost', async () => {
    const { alive } = await loggedIn(account);
    account.simulator.switches.fault(TOKEN_PATH, { kind: 'slow', ms: 3 * SECOND }, { times: 1 });
    account.clock.advance(27 * MINUTE);
    while (account.asked().refreshes === 0) await new Promise((resolve) => setImmediate(resolve));
    const stopping = alive.stop();
    const before = account.tokens.kept?.accessToken;
    account.clock.advance(3 * SECOND);
    await stopping;
    expect(account.tokens.kept?.accessToken).not.toBe(before);
    await account.start().session.accessToken();
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  });
});
