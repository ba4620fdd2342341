// One process among those of a fleet, on the database's wire: its pace, what makes a pause of all, who keeps, and how the fleet is.
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { joinFleet, readHealth } from '../../src/fleet/membership.ts';
import { sharedClock } from '../../src/store/database/database.ts';
import { openAccountRow } from '../support/accountRow.ts';
import { logLines } from '../support/logLines.ts';
import { turn } from '../support/waitFor.ts';

async function join(changes = {}) {
  const found = await openAccountRow();
  Object.assign(found.row, changes);
  const { database, clock, claims } = found;
  const own = sharedClock(clock);
  const membership = await joinFleet(
    { database, readSecretsAgain: async () => undefined },
    { claim_seconds: 30, requests_per_second: 20 },
    { clock: own, zone: zone('UTC'), log: logLines().log },
  );
  const claim = await found.taken();
  const gate = (to: 'issuer' | 'provider', id = 'a') => membership.gateOf({ ...claim, id }, claims)(to);
  return { ...found, own, membership, claim, gate };
}

test('the requests of all processes together keep the pace: each process has its part', async () => {
  const { clock, gate } = await join({ processes: 2 });
  let entered = 0;
  const { enter } = gate('provider');
  for (let count = 0; count < 3; count += 1) void enter().then(() => (entered += 1));
  const seen = [];
  for (const ms of [0, 99, 1, 99, 1]) {
    clock.advance(ms);
    await turn();
    seen.push(entered);
  }
  expect(seen).toEqual([1, 1, 2, 2, 3]);
});

test('a token is asked for once the database has renewed the claim; what is read needs none', async () => {
  const { gate, row, claim, clock, statements } = await join();
  const before = statements.length;
  await gate('provider').enter();
  expect(statements.length).toBe(before);
  clock.advance(1_000);
  await gate('issuer').enter();
  expect(statements.at(-1)?.text).toContain('SET claimed_until');
  clock.advance(1_000);
  row.fence += 1;
  await expect(gate('issuer').enter()).rejects.toMatchObject({ code: 'fence_lost' });
  expect(claim.signal.aborted).toBe(true);
});

test('no request is sent for a run that was stopped', async () => {
  const { gate, claim, clock } = await join();
  clock.advance(claim.remainingMs());
  await expect(gate('provider').enter()).rejects.toMatchObject({ code: 'fence_lost' });
});

type Told = readonly (readonly [account: string, status: number, seconds: number, after?: number])[];
test.each<[string, Told, number]>([
  [
    'two accounts',
    [
      ['a', 429, 60],
      ['b', 429, 60],
    ],
    0,
  ],
  [
    'three times the same account',
    [
      ['a', 429, 60],
      ['a', 429, 60],
      ['a', 429, 60],
    ],
    0,
  ],
  [
    'three within a minute',
    [
      ['a', 429, 60],
      ['b', 503, 60],
      ['c', 429, 90, 30_000],
    ],
    90_000,
  ],
  [
    'three, and the last one shorter',
    [
      ['a', 429, 60],
      ['b', 429, 60],
      ['c', 429, 90],
      ['d', 429, 5],
    ],
    90_000,
  ],
  [
    'three with too much time between',
    [
      ['a', 429, 60],
      ['b', 429, 60, 61_000],
      ['c', 429, 60, 61_000],
    ],
    0,
  ],
  [
    'three that ask for no time',
    [
      ['a', 500, 60],
      ['b', 404, 60],
      ['c', 200, 60],
    ],
    0,
  ],
])('told to wait, %s: a pause of all or not', async (_, told, pausedMs) => {
  const { gate, clock, membership } = await join();
  for (const [account, status, seconds, after = 0] of told) {
    clock.advance(after);
    gate('provider', account).answered({
      status,
      headers: { 'retry-after': String(seconds) },
      body: Buffer.alloc(0),
    });
  }
  expect(membership.pausedMs()).toBe(pausedMs);
});

test('the keeper and the database count as there only as long as it answers', async () => {
  const { clock, membership } = await join({ isKeeper: true });
  const seen = () => [membership.isKeeper(), membership.isDatabaseGone()];
  expect(seen()).toEqual([true, false]);
  clock.advance(9_999);
  expect(seen()).toEqual([true, false]);
  clock.advance(1);
  expect(seen()).toEqual([false, false]);
  clock.advance(20_001);
  expect(seen()).toEqual([false, true]);
});

test('a database that does not answer is counted and forgiven, a number that another has taken is not', async () => {
  const { row, membership } = await join();
  row.refuses = '08006';
  for (const failuresInARow of [1, 2]) {
    await membership.beat();
    expect(membership.trouble()).toMatchObject({ failuresInARow });
  }
  row.refuses = null;
  await membership.beat();
  expect(membership.trouble()).toBeNull();
  row.refuses = '23505';
  await expect(membership.beat()).rejects.toMatchObject({ code: 'database_trouble' });
});

test("a process tells the database's time, though its own clock jumps", async () => {
  const { clock, own } = await join();
  const now = own.now();
  expect(now).toBe(clock.now());
  clock.jump(7 * 3_600_000);
  clock.advance(1_000);
  expect(own.now()).toBe(now + 1_000);
});

test.each([
  ['nothing', {}, 'ok', []],
  ['some that fail', { failing: 1, codes: [{ code: 'c', accounts: 1 }] }, 'degraded', ['c']],
  ['all that are not paused fail', { failing: 3, codes: [{ code: 'c', accounts: 3 }] }, 'failing', ['c']],
  ['one that waits too long', { overdue: 1 }, 'degraded', ['overdue']],
  ['one that is told to wait', { toldToWait: 1 }, 'degraded', ['accounts_told_to_wait']],
  ['a pause', { pausedUntil: Date.UTC(2025, 2, 10, 13) }, 'degraded', ['provider_pause']],
])('the health of a fleet with %s', async (_, over, state, codes) => {
  const { row, database } = await openAccountRow();
  const { failing = 0, overdue = 0, ...counted } = over as Record<string, number>;
  const last_poll_at = '2025-03-10T12:00:00+00:00';
  Object.assign(row.counted, counted, { health: { last_poll_at, failures_in_a_row: failing } });
  Object.assign(row.counted.fleet, { accounts: 4, paused: 1, failing, overdue });
  const { health } = await readHealth(database, 30, zone('Europe/Vienna'));
  expect(health.state).toBe(state);
  expect(health.reasons.map(({ code }) => code)).toEqual(codes);
  expect(health.last_poll_at).toBe('2025-03-10T13:00:00+01:00');
});
