// Polls of a fleet: each account at a moment of its own, once in every interval, evenly over all of it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { untilNextPoll } from '../../src/fleet/work/spread.ts';

const HOUR_MS = 3_600_000;
const TICK = Date.UTC(2026, 10, 22, 8, 23);
const STEP = 4 * HOUR_MS;

test('an account that is polled when it is due is due one interval later, whatever the clock says of ticks', () => {
  const someTick = fc.integer({ min: -50, max: 50 }).map((n) => TICK + n * STEP);
  fc.assert(
    fc.property(
      fc.string(),
      fc.integer({ min: 0, max: 7 * 24 * HOUR_MS }),
      someTick,
      (account, after, tick) => {
        const now = TICK + after;
        const due = now + untilNextPoll(account, now, TICK, STEP);
        expect(due - now).toBeGreaterThanOrEqual(STEP / 2 - 1);
        expect(due - now).toBeLessThan(STEP * 1.5 + 1);
        expect(due + untilNextPoll(account, due, tick, STEP)).toBeCloseTo(due + STEP, 0);
      },
    ),
  );
});

test('thousands of accounts are due evenly over the interval', () => {
  const twelfths = new Array<number>(12).fill(0);
  for (let n = 0; n < 12_000; n += 1) {
    const place = (TICK + untilNextPoll(`flat-${n}`, TICK, TICK, STEP)) % STEP;
    const at = Math.floor((12 * place) / STEP);
    twelfths[at] = (twelfths[at] ?? 0) + 1;
  }
  for (const count of twelfths) expect(count).toBeGreaterThan(850);
});
