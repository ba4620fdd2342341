// One process among those of a fleet, on the database's wire: its pace, what makes a pause of all, and who keeps.
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { FleetCounts } from '../../src/fleet/health.ts';
import { Membership, NumberTaken } from '../../src/fleet/membership.ts';
import { Pace } from '../../src/fleet/pace.ts';
import { afterFailedRun } from '../../src/fleet/worker.ts';
import { EXIT, failure } from '../../src/foundation/failure.ts';
import { Claim, type ClaimedRow } from '../../src/store/database/claim.ts';
import { DatabaseTrouble, sharedClock } from '../../src/store/database/database.ts';
import { StoredAccount } from '../../src/store/database/storedAccount.ts';
import { openAccountRow } from '../support/accountRow.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { turn } from '../support/waitFor.ts';

async function join(changes = {}) {
  const found = await openAccountRow();
  Object.assign(found.row, changes);
  const { database, clock, claims } = found;
  const own = sharedClock(clock);
  const { log } = logLines();
  const pace = new Pace(20, { database, clock: own, log });
  const counts = new FleetCounts({ database, fleet: { claim_seconds: 30 }, zone: zone('UTC'), clock: own });
  const readSecretsAgain = async () => undefined;
  const membership = await Membership.join({ database, readSecretsAgain, clock: own, log, pace, counts });
  const claim = await found.taken();
  const claimOf = (id: string) =>
    new Claim(
      { ...claim.row, id },
      clock.monotonic() + 3_600_000,
      async () => new StoredAccount(id, found.seal, false),
      found,
    );
  const gate = (to: 'issuer' | 'provider', id = 'a') => {
    const present = id === claim.id ? claim : claimOf(id);
    return pace.gateTo(to, () => present, claims);
  };
  return { ...found, own, pace, counts, membership, claim, gate };
}

test('sends its part of the pace when several processes live', async () => {
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

test('lets a request pass when the claim is not over, and one for a token when the database has renewed it', async () => {
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
  await expect(gate('provider').enter()).rejects.toMatchObject({ code: 'fence_lost' });
});

/** What an account is answered: how many seconds to wait, so long after the one before. */
const answer = (account: string, { status = 429, seconds = 60, afterMs = 0 } = {}) => {
  return { account, status, seconds, afterMs };
};
const late = { afterMs: 61_000 };
test.each([
  ['two accounts', [answer('a'), answer('b')], 0],
  ['three times the same account', [answer('a'), answer('a'), answer('a')], 0],
  [
    'three within a minute',
    [answer('a'), answer('b', { status: 503 }), answer('c', { seconds: 90, afterMs: 30_000 })],
    90_000,
  ],
  [
    'three, and the last one shorter',
    [answer('a'), answer('b'), answer('c', { seconds: 90 }), answer('d', { seconds: 5 })],
    90_000,
  ],
  ['three with too much time between', [answer('a'), answer('b', late), answer('c', late)], 0],
  ['three that ask for no time', [500, 404, 200].map((status, n) => answer(`${n}`, { status })), 0],
])('pauses all, or not, when told to wait are %s', async (_, answers, pausedMs) => {
  const { gate, clock, pace } = await join();
  for (const { account, status, seconds, afterMs } of answers) {
    clock.advance(afterMs);
    gate('provider', account).answered({
      status,
      headers: { 'retry-after': String(seconds) },
      body: Buffer.alloc(0),
    });
  }
  expect(pace.pausedMs()).toBe(pausedMs);
});

test("counts a fault as the account's own when it comes neither of a pause nor of the database", async () => {
  const { gate, claim, clock } = await join({ pausedMs: 600_000 });
  const after = (err: unknown) => afterFailedRun(claim, err, { clock, random: () => 0.5 });
  const noFailure = (ms: number) => {
    return { columns: {}, end: { dueAt: new Date(clock.now() + ms), isPolled: false, isPublished: false } };
  };
  const fault = failure('of_its_own', 'A fault.', { exit: EXIT.provider, retry: 'later' });
  expect(after(fault)).toMatchObject({
    columns: { failures: 1, last_error: 'of_its_own' },
    end: { isPolled: true, isPublished: true },
  });
  const trouble = new DatabaseTrouble({ code: '08006' });
  expect(after(trouble)).toEqual(noFailure(2_000));
  expect(
    afterFailedRun({ ...claim, signal: AbortSignal.abort(trouble) }, trouble, { clock, random: () => 0.5 }),
  ).toEqual(noFailure(2_000));
  for (const to of ['provider', 'issuer'] as const)
    await expect(gate(to).enter()).rejects.toMatchObject({ code: 'fleet_paused' });
  expect(after(fault)).toEqual(noFailure(600_000));
  // The run has stopped, and the account is still ours to give back.
  await claim.abandon({}, after(fault).end);
});

test.each<[string, Partial<ClaimedRow> & { readonly inMs: number }, number]>([
  ['a poll that is due', { inMs: 0 }, 3],
  ['a poll that is asked for', { inMs: 1, wanted: 1 }, 3],
  ['what comes between two polls', { inMs: 1 }, 2],
  ['what comes between two polls, of an account that was well', { inMs: 1, failures: 0 }, 1],
])('counts a fault of the whole run once when the run was for %s', (_, { inMs, ...columns }, failures) => {
  const clock = handClock('2025-03-10T12:00:00Z');
  const row = { ...{ poll_at: clock.now() + inMs, wanted: 0, failures: 2 }, ...columns } as ClaimedRow;
  const { signal } = new AbortController();
  const fault = failure('of_its_own', 'A fault.', { exit: EXIT.provider, retry: 'later' });
  const after = afterFailedRun({ row, signal }, fault, { clock, random: () => 0.5 });
  expect(after.columns).toMatchObject({ failures });
});

test('counts keeper and database as gone when the database is silent', async () => {
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

test('goes on when the database did not answer, and not when another has taken its number', async () => {
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
  await expect(membership.beat()).rejects.toThrow(NumberTaken);
});

test("tells the database's time when its own clock jumps", async () => {
  const { clock, own } = await join();
  const now = own.now();
  expect(now).toBe(clock.now());
  clock.jump(7 * 3_600_000);
  clock.advance(1_000);
  expect(own.now()).toBe(now + 1_000);
});
