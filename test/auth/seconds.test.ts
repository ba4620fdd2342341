// The numbers of seconds that an issuer gives: whatever they are, nobody is asked without a pause, nor waits for ever.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/switches.ts';
import { type Account, HOUR, MINUTE, openAccount, refusalOf, SECOND, TOKEN_PATH } from './account.ts';

let account: Account;
beforeEach(async () => {
  account = await openAccount();
});

const changed = (over: Record<string, unknown>): Fault => ({
  kind: 'change',
  change: (body) => ({ ...Object(body), ...over }),
});
const DEVICE_PATH = `${TOKEN_PATH}/openid-connect/auth/device`;
const ABSURD = [-1, -0.5, 0, 0.001, 1e-300, 1e12, 1e300, '0.001', '-7', 'soon', '', null, [], {}, true].map(
  (given) => [given],
);

describe('the life of tokens', () => {
  test.each([
    [0.001, 5],
    [4, 5],
    [6, 6],
    ['1800', 1800],
    [-1, 60],
    [0, 60],
    ['soon', 60],
    [undefined, 60],
    [1e300, 366 * 86_400],
  ])('of an access token that is said to live for %j seconds: %d', async (expires_in, expiresInSeconds) => {
    account.simulator.switches.fault(TOKEN_PATH, changed({ expires_in }));
    expect(await account.issuer().login('me@example.org', 'demo')).toMatchObject({ expiresInSeconds });
  });

  test.each([
    // A refresh is tried once, however soon it is said to be too late.
    [0.001, 1800],
    [1799, 1800],
    ['2100', 2100],
    [0, null],
    [-1, null],
    ['soon', null],
    [undefined, null],
  ])('of a refresh token that is said to live for %j seconds: %j', async (refresh_expires_in, seconds) => {
    account.simulator.switches.fault(TOKEN_PATH, changed({ refresh_expires_in }));
    const granted = await account.issuer().login('me@example.org', 'demo');
    expect(granted).toMatchObject({ refreshExpiresInSeconds: seconds });
  });

  test('refreshes with a pause, by one login, when tokens die at once', async () => {
    account.simulator.switches.fault(TOKEN_PATH, changed({ expires_in: 0.001, refresh_expires_in: 0.001 }));
    const running = account.start();
    await running.session.accessToken();
    const alive = running.keepAlive();
    await account.pass(MINUTE);
    await alive.stop();
    const { logins, refreshes } = account.asked();
    expect(logins).toBe(1);
    expect(refreshes).toBeGreaterThan(10);
    expect(refreshes).toBeLessThan(16);
  });
});

describe('a sign-in on another device', () => {
  /** Polls within so many seconds. */
  async function polled(seconds: number, over: Record<string, unknown>): Promise<number> {
    const { switches, requests } = account.simulator;
    switches.fault(DEVICE_PATH, changed(over), { times: 1 });
    // Nothing is too early for the issuer.
    switches.token.devicePollSeconds = 0;
    const flow = await account.issuer().beginDevice();
    const ending = new AbortController();
    const waiting = flow.wait(ending.signal).catch(() => undefined);
    const before = requests.length;
    await account.pass(seconds * SECOND);
    const count = requests.length - before;
    ending.abort();
    await waiting;
    return count;
  }

  test.each(ABSURD)('an interval of %j: neither without a pause nor never', async (interval) => {
    const isLong = Number(interval) > 1000;
    const polls = await polled(isLong ? 130 : 20, { interval });
    expect(polls).toBeGreaterThanOrEqual(2);
    expect(polls).toBeLessThanOrEqual(20);
  });

  test.each([
    [undefined, 5],
    [2, 2],
    ['2', 2],
    [0.001, 1],
  ])('an interval of %j is one of %d seconds', async (interval, seconds) => {
    expect(await polled(20, { interval })).toBe(20 / seconds);
  });

  test('asks every ten seconds once it was told to slow down', async () => {
    const { switches, requests } = account.simulator;
    const flow = await account.issuer().beginDevice();
    switches.token.devicePollSeconds = 6;
    const ending = new AbortController();
    const waiting = flow.wait(ending.signal).catch(() => undefined);
    const before = requests.length;
    await account.pass(60 * SECOND);
    expect(requests.length - before).toBe(2 + 5);
    ending.abort();
    await waiting;
  });

  test.each(ABSURD)(
    'a code that lives for %j seconds has an end that can be told, and that ends the wait',
    async (expires_in) => {
      account.simulator.switches.fault(DEVICE_PATH, changed({ expires_in }), { times: 1 });
      const flow = await account.issuer().beginDevice();
      expect(flow.expiresInSeconds).toBeGreaterThanOrEqual(60);
      expect(flow.expiresInSeconds).toBeLessThanOrEqual(24 * 3600);
      const ended = refusalOf(flow.wait(new AbortController().signal));
      account.clock.advance(24 * HOUR);
      expect(await ended).toMatchObject({ code: 'code_refused' });
    },
  );

  test('asks again before the code ends when Retry-After is years', async () => {
    const later = {
      kind: 'reply',
      status: 503,
      body: '',
      headers: { 'retry-after': '99999999999' },
    } as const;
    account.simulator.switches.fault(`${TOKEN_PATH}/openid-connect/token`, later);
    const flow = await account.issuer().beginDevice();
    const ended = refusalOf(flow.wait(new AbortController().signal));
    account.clock.advance(flow.expiresInSeconds * SECOND);
    expect(await ended).toMatchObject({ code: 'code_refused' });
  });
});
