// A session that never lapses: refreshed between 80 % and 95 % of its life, through outages, suspended machines and stops.
import { beforeEach, describe, expect, test } from 'vitest';
import { RefreshPlan } from '../../src/auth/refreshPlan.ts';
import { concurrencyLimit } from '../../src/foundation/limits.ts';
import { look } from '../simulator/visitor.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { type Account, HOUR, MINUTE, openAccount, SECOND, TOKEN_PATH } from './account.ts';

let account: Account;
beforeEach(async () => {
  account = await openAccount();
  Object.assign(account.simulator.switches.token, { sessionMaxSeconds: 10 * 86_400 });
});

const lives = (accessSeconds: number, refreshSeconds: number) =>
  Object.assign(account.simulator.switches.token, { accessSeconds, refreshSeconds });

/** Milliseconds between one token request and the next. */
function gaps(): number[] {
  const at = account.simulator.requests
    .filter(({ body }) => look(body, 'grant_type') !== undefined)
    .map((request) => request.at);
  return at.slice(1).map((time, index) => time - (at[index] ?? 0));
}

/** Numbers that look drawn, the same in each run. */
function drawn(): () => number {
  let seed = 17;
  return () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
}

async function loggedIn() {
  const { session, keepAlive } = account.start();
  await session.accessToken();
  return { session, ...keepAlive(drawn()) };
}

describe('when nothing is wrong', () => {
  test.each([
    [1800, 2100, 4 * HOUR],
    [6, 8, 2 * MINUTE],
  ])('%d/%d s: one login, and every refresh in good time', async (access, refresh, span) => {
    lives(access, refresh);
    await loggedIn();
    account.events.splice(0);
    await account.pass(span);
    const { logins, refreshes } = account.asked();
    expect(logins).toBe(1);
    expect(refreshes).toBeGreaterThanOrEqual(Math.floor(span / SECOND / access));
    for (const gap of gaps()) {
      expect(gap).toBeGreaterThanOrEqual(access * SECOND * 0.8);
      expect(gap).toBeLessThanOrEqual(access * SECOND * 0.95);
    }
    expect(new Set(gaps()).size).toBeGreaterThan(5);
    expect(account.simulator.counters.refreshGrants).toMatchObject({ ok: refreshes, maxInFlight: 1 });
    // The state of the session does not change with each.
    expect(new Set(account.events)).toEqual(new Set(['refresh', 'ok']));
  });

  test('asks for nothing when there are no tokens, and begins with the first ones', async () => {
    const { session, keepAlive } = account.start();
    keepAlive();
    await account.pass(HOUR + SECOND);
    expect(account.simulator.requests).toEqual([]);
    await session.accessToken();
    await account.pass(HOUR);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 2 });
  });
});

describe('behind a concurrency limit', () => {
  const waitingAtTheLimit = async () => {
    const limit = concurrencyLimit(1);
    const { session, keepAlive } = account.start();
    await session.accessToken();
    keepAlive(() => 0.5, limit);
    let leave = (): void => undefined;
    void limit(() => new Promise<void>((resolve) => (leave = resolve)));
    await account.pass(27 * MINUTE);
    expect(limit.pendingCount).toBe(1);
    return { session, leave };
  };

  test('does not refresh when something else has done so meanwhile', async () => {
    const { session, leave } = await waitingAtTheLimit();
    await session.renew();
    leave();
    await account.pass(MINUTE);
    expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
    await account.pass(27 * MINUTE);
    expect(account.asked().refreshes).toBe(2);
  });
});

describe('when the issuer is in trouble', () => {
  test('makes no login by itself when the issuer is away for long, and one at the next poll', async () => {
    const { session } = await loggedIn();
    account.simulator.switches.fault('/auth/', { kind: 'reset' });
    await account.pass(3 * HOUR);
    const during = account.asked().refreshes;
    expect(during).toBeLessThan(60);
    account.simulator.switches.clearFaults();
    await account.pass(HOUR);
    expect(account.asked()).toEqual({ logins: 1, refreshes: during });
    await session.accessToken();
    await account.pass(HOUR);
    expect(account.asked().logins).toBe(2);
  });

  test('keeps a session of a month, with fewer and fewer requests, when the issuer is away for hours', async () => {
    lives(1800, 30 * 86_400);
    account.simulator.switches.token.sessionMaxSeconds = 60 * 86_400;
    await loggedIn();
    account.simulator.switches.fault('/auth/', FAULTS.serverError);
    await account.pass(6 * HOUR);
    expect(account.simulator.requests.length).toBeGreaterThan(15);
    expect(account.simulator.requests.length).toBeLessThan(40);
    account.simulator.switches.clearFaults();
    await account.pass(2 * HOUR);
    expect(account.asked().logins).toBe(1);
    // Each is told once.
    expect(account.messages('warn')).toEqual(['refresh ahead of expiry failed']);
    const told = account.messages('info').filter((message) => /refresh|tokens/.test(message));
    expect(told).toEqual(['the session has new tokens again']);
    expect(account.events.filter((event) => event === 'recovered')).toHaveLength(1);
  });

  test('goes on with the pauses of before when it is started again meanwhile', async () => {
    lives(1800, 30 * 86_400);
    const { stop } = await loggedIn();
    account.simulator.switches.fault('/auth/', FAULTS.serverError);
    await account.pass(3 * HOUR);
    await stop();
    const before = account.asked().refreshes;
    account.start().keepAlive(drawn());
    await account.pass(2 * HOUR);
    expect(account.asked().refreshes - before).toBeLessThan(7);
    account.simulator.switches.clearFaults();
    await account.pass(HOUR);
    expect(account.asked().logins).toBe(1);
    expect(account.messages('warn')).toEqual(['refresh ahead of expiry failed']);
    expect(account.events.filter((event) => event === 'recovered')).toHaveLength(1);
  });

  test('waits and keeps the session when it is told Retry-After', async () => {
    await loggedIn();
    account.simulator.switches.fault(TOKEN_PATH, tooMany(180), { times: 1 });
    await account.pass(HOUR);
    expect(gaps()[1]).toBe(180 * SECOND);
    expect(account.asked().logins).toBe(1);
  });
});

test('tells the same trouble again when a person has signed in meanwhile, and not before', async () => {
  const { session } = account.start();
  await session.accessToken();
  const plan = new RefreshPlan({ ...account, account: 'home', session, random: () => 0.5 });
  account.simulator.switches.fault('/auth/', FAULTS.serverError);
  const isNews = async (ms: number) => {
    account.clock.advance(ms);
    return (await plan.run(new AbortController().signal)).isNews;
  };
  expect([await isNews(27 * MINUTE), await isNews(10 * SECOND)]).toEqual([true, false]);
  account.simulator.switches.clearFaults();
  await session.logIn();
  account.simulator.switches.fault('/auth/', FAULTS.serverError);
  expect(await isNews(27 * MINUTE)).toBe(true);
});

test('leaves a session alone until the next poll when it ends at its first refresh', async () => {
  const { session } = await loggedIn();
  account.simulator.switches.token.sessionMaxSeconds = 60;
  await account.pass(3 * HOUR);
  expect(account.asked()).toEqual({ logins: 1, refreshes: 1 });
  expect(session.status().state).toBe('ok');
});

// The wall clock, and with it the issuer, moves on while this machine's timers stand still.
test('makes one refresh and one login when the machine was suspended overnight', async () => {
  const { session } = await loggedIn();
  await account.pass(HOUR);
  const before = account.asked().refreshes;
  account.clock.jump(8 * HOUR);
  await account.pass(MINUTE);
  expect(account.asked()).toEqual({ logins: 2, refreshes: before + 1 });
  await account.pass(2 * HOUR);
  expect(account.asked().logins).toBe(2);
  expect(session.status().state).toBe('ok');
  expect([account.messages('error'), account.messages('warn')]).toEqual([[], []]);
});
