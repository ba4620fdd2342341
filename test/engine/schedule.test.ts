// The times of the schedule: one question for each of them, whatever the clock does in between.
import { expect, test } from 'vitest';
import { nextSlot, nextTimes, ticksOf } from '../../src/engine/schedule.ts';

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;

/** A schedule of every four hours, and how often it was asked. */
function open() {
  const state = { now: 0, questions: 0 };
  const tick = ticksOf({
    next(count) {
      state.questions += 1;
      const first = Math.floor(state.now / (4 * HOUR) + 1) * 4 * HOUR;
      return Array.from({ length: count }, (_, at) => first + at * 4 * HOUR);
    },
  });
  return {
    state,
    at(now: number) {
      state.now = now;
      return tick(now).at;
    },
  };
}

test('asks once for each time when it looks every second of a day', () => {
  const { state, at } = open();
  for (let now = 56 * YEAR; now < 56 * YEAR + 24 * HOUR; now += 1_000) at(now);
  expect(state.questions).toBe(6);
});

test.each([
  ['from 1970 to today', 1_000, 56 * YEAR],
  ['five years ahead', 56 * YEAR, 61 * YEAR],
  ['an hour back', 56 * YEAR + 5 * HOUR, 56 * YEAR + 3 * HOUR],
  ['back from years ahead', 61 * YEAR, 56 * YEAR],
])(
  'a clock that is set %s costs one question, and the next time is that of the clock as it is now',
  (_name, before, after) => {
    const { state, at } = open();
    at(before);
    const next = at(after);
    at(after + 1_000);
    expect(state.questions).toBe(2);
    expect(next - after).toBeGreaterThan(0);
    expect(next - after).toBeLessThanOrEqual(4 * HOUR);
  },
);

test('delays a poll by half of the time to the next tick at most, however large the jitter is', () => {
  const tick = { at: 12 * HOUR, stepMs: HOUR };
  expect([nextSlot(tick, HOUR / 4), nextSlot(tick, 2 * HOUR)]).toEqual([12.25 * HOUR, 12.5 * HOUR]);
});

test.each([
  ['23 */4 * * *', 'Europe/Dublin', 3],
  ['15 1 29 3 0', 'Europe/Dublin', 0],
  ['15 1 29 3 0', 'UTC', 3],
  ['61 * * * *', 'UTC', null],
])('%s in %s has %s times to come', (expression, timezone, count) => {
  expect(nextTimes(expression, timezone, 3)?.length ?? null).toBe(count);
});
