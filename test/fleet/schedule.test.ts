// Polls of a fleet: as many as the schedule has ticks, each account at a moment of its own after each tick.
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { cronTimes } from '../../src/engine/schedule.ts';
import { openSchedule, type Schedule } from '../../src/fleet/schedule.ts';
import { RUNS } from '../support/property.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2026, 10, 22, 13, 7, 11);

afterEach(() => vi.useRealTimers());

function open(expression: string, timezone = 'UTC') {
  vi.useFakeTimers({ now: NOW, toFake: ['Date'] });
  const cron = cronTimes(expression, timezone);
  return { cron, schedule: openSchedule(cron, NOW) };
}

/** When an account is polled that is polled as soon as it is due. */
function pollsOf(schedule: Schedule, account: string, count: number): number[] {
  const polls = [NOW];
  while (polls.length <= count) {
    const now = polls.at(-1) ?? NOW;
    vi.setSystemTime(now);
    polls.push(schedule.nextPoll(account, now));
  }
  return polls.slice(1);
}

test('polls all within a day when the tick is weekly', () => {
  const { schedule, cron } = open('0 0 3 * * 1');
  const [tick = 0] = cron.next(1);
  const last = Math.max(...Array.from({ length: 50 }, (_, n) => schedule.nextPoll(`flat-${n}`, NOW)));
  expect(last).toBeGreaterThan(tick + 0.8 * DAY_MS);
  expect(last).toBeLessThanOrEqual(tick + DAY_MS);
});

const field = (last: number) =>
  fc.oneof(
    fc.integer({ min: 0, max: last }).map(String),
    fc
      .uniqueArray(fc.integer({ min: 0, max: last }), { minLength: 2, maxLength: 4 })
      .map((all) => all.join(',')),
    fc.integer({ min: 2, max: Math.min(12, last) }).map((step) => `*/${step}`),
  );
const expressions = fc
  .tuple(field(59), field(23), fc.constantFrom('*', '1', '*/2'), fc.constantFrom('*', '1-5', '0'))
  .map(([minute, hour, day, weekday]) => `${minute} ${hour} ${day} * ${weekday}`);

test('polls each account once for each tick when the schedule is any', () => {
  fc.assert(
    fc.property(
      expressions,
      fc.stringMatching(/^[a-z0-9]{1,12}$/),
      fc.constantFrom('UTC', 'Europe/Dublin'),
      (expression, account, zone) => {
        const { schedule, cron } = open(expression, zone);
        const ticks = cron.next(160);
        const polls = pollsOf(schedule, account, 150).filter((at) => at > (ticks[0] ?? 0));
        // By their numbers: when clocks go forward, a delay may be longer than the gap.
        const delays = polls.map((at, n) => Math.round(at - (ticks[n] ?? 0)));
        expect(delays).toEqual(delays.map(() => delays[0]));
        expect(polls[0]).toBeLessThanOrEqual(ticks[1] ?? 0);
      },
    ),
    // The 31st and the 1st are both odd: the hundredth tick and the next one are closer than all before.
    { numRuns: Math.ceil(RUNS / 4), examples: [['0 */5 */2 * *', '8', 'UTC']] },
  );
});

test('polls what the last tick still owes when a process starts between two', () => {
  const { schedule } = open('0 */12 * * *');
  const owed = Array.from({ length: 200 }, (_, n) => schedule.nextPoll(`flat-${n}`, NOW));
  const today = owed.filter((at) => at < Date.UTC(2026, 10, 23)).length;
  expect(today).toBeGreaterThan(150);
  expect(Math.min(...owed)).toBeGreaterThan(NOW);
});

test('goes by the time that it is given when its own clock is ahead, also where ticks are seconds apart', () => {
  const { cron } = open('*/15 * * * * *');
  const now = NOW - HOUR_MS / 6;
  const { nextPoll } = openSchedule(cron, now);
  const first = nextPoll('flat', now);
  expect(first - now).toBeLessThanOrEqual(15_000);
  expect(nextPoll('flat', first) - first).toBeCloseTo(15_000, 0);
});

test('spreads polls evenly over the shortest time between two ticks when there are thousands of accounts', () => {
  const { schedule } = open('0 6,9 * * *');
  const twelfths = new Array<number>(12).fill(0);
  for (let n = 0; n < 12_000; n += 1) {
    const place = (schedule.nextPoll(`flat-${n}`, NOW) % DAY_MS) - 6 * HOUR_MS;
    const at = Math.floor((12 * place) / (3 * HOUR_MS));
    twelfths[at] = (twelfths[at] ?? 0) + 1;
  }
  for (const count of twelfths) expect(count).toBeGreaterThan(850);
});
