// How a fleet is, on the database's wire: what is wrong of what was counted, who counts, and transactions that stay open.
import { expect, test } from 'vitest';
import { zone } from '../../src/domain/period.ts';
import { FleetCounts } from '../../src/fleet/health.ts';
import { TransactionWatch } from '../../src/fleet/transactions.ts';
import { openAccountRow } from '../support/accountRow.ts';
import { handClock } from '../support/clock.ts';

const countsOf = (
  { database, clock }: Pick<Awaited<ReturnType<typeof openAccountRow>>, 'database' | 'clock'>,
  timezone = 'UTC',
) => new FleetCounts({ database, clock, fleet: { claim_seconds: 30 }, zone: zone(timezone) });

test.each([
  ['nothing wrong', {}, 'ok', []],
  ['accounts that fail', { failing: 1, codes: [{ code: 'c', accounts: 1 }] }, 'degraded', ['c']],
  [
    'only failing ones that are not paused',
    { failing: 3, codes: [{ code: 'c', accounts: 3 }] },
    'failing',
    ['c'],
  ],
  ['one account that waits too long', { overdue: 1 }, 'degraded', ['overdue']],
  ['one account that is told to wait', { toldToWait: 1 }, 'degraded', ['accounts_told_to_wait']],
  ['a pause', { pausedUntil: '2025-03-10T13:00:00+00:00' }, 'degraded', ['provider_pause']],
])('tells how the fleet is, and why, when it has %s', async (_, over, state, codes) => {
  const { row, database, clock } = await openAccountRow();
  const { failing = 0, overdue = 0, ...counted } = over as Record<string, number>;
  const last_poll_at = '2025-03-10T12:00:00+00:00';
  Object.assign(row.counted, counted, { health: { last_poll_at, failures_in_a_row: failing } });
  Object.assign(row.counted.fleet, { accounts: 4, paused: 1, failing, overdue });
  const { health } = await countsOf({ database, clock }, 'Europe/Vienna').now();
  expect(health.state).toBe(state);
  expect(health.reasons.map(({ code }) => code)).toEqual(codes);
  expect(health.last_poll_at).toBe('2025-03-10T13:00:00+01:00');
});

async function openCounts() {
  const found = await openAccountRow();
  const counts = countsOf(found);
  const timesCounted = () => found.statements.filter(({ text }) => text.includes('"toldToWait"')).length;
  return { ...found, counts, timesCounted };
}

test('counts anew when it keeps, whatever was counted before', async () => {
  const { row, counts, timesCounted, statements } = await openCounts();
  row.countedAgoMs = 1_000;
  await counts.look(true);
  await counts.look(true);
  expect(timesCounted()).toBe(2);
  expect(statements.at(-1)?.text).toContain('UPDATE heat2mqtt.fleet SET counted');
  expect(counts.last?.health.fleet.accounts).toBe(1);
});

test.each([
  ['was never counted', null, 1],
  ['was counted lately', 24_000, 0],
  ['was counted long ago, as by a keeper that does not count for others', 26_000, 1],
])('counts only where it must when it does not keep and the fleet %s', async (_, agoMs, times) => {
  const { row, counts, timesCounted } = await openCounts();
  row.countedAgoMs = agoMs;
  await counts.look(false);
  expect(timesCounted()).toBe(times);
  expect(counts.last?.health.fleet.accounts).toBe(1);
});

test('counts once when several ask at the same moment', async () => {
  const { clock, counts, timesCounted } = await openCounts();
  await Promise.all([counts.now(), counts.now(), counts.now()]);
  await counts.now();
  expect(timesCounted()).toBe(1);
  clock.advance(2_000);
  await counts.now();
  expect(timesCounted()).toBe(2);
});

test('tells of a transaction when it has been open for a minute, whoever has counted', async () => {
  const { row, clock, counts } = await openCounts();
  const codes = () => counts.last?.health.reasons.map(({ code }) => code);
  // A hundred transactions come each ten seconds, and the oldest one stays.
  for (let second = 0; second < 60; second += 10) {
    row.counted.transactions = { next: 1_000 + 10 * second, oldestAge: 10 * second, pid: 77 };
    row.countedAgoMs = second === 30 ? 0 : null;
    await counts.look(second !== 30);
    expect(codes()).toEqual([]);
    clock.advance(10_000);
  }
  row.counted.transactions = { next: 1_600, oldestAge: 601, pid: 77 };
  await counts.look(true);
  expect(codes()).toEqual(['open_transaction']);
  expect(counts.last?.health).toMatchObject({ state: 'degraded' });
  expect(counts.last?.health.last_error).toContain("PostgreSQL's process 77");
  row.counted.transactions = { next: 1_601, oldestAge: 3, pid: 78 };
  await counts.look(true);
  expect(codes()).toEqual([]);
});

test.each([
  ['before the minute', 601, true],
  ['within the minute', 600, false],
  ['before the minute, while nobody looked for an hour', 601, true, 3_600_000],
])('tells of a transaction, or not, when it began %s', (_, oldestAge, isTold, pauseMs = 0) => {
  const clock = handClock('2025-03-10T12:00:00Z');
  const watch = new TransactionWatch(clock);
  watch.note({ next: 400, oldestAge: 0, pid: null }, 0);
  clock.advance(10_000 + pauseMs);
  watch.note({ next: 1_000, oldestAge: 0, pid: null }, 0);
  clock.advance(60_000);
  const reason = watch.note({ next: 1_600, oldestAge, pid: null }, 0);
  expect(reason?.code).toBe(isTold ? 'open_transaction' : undefined);
});
