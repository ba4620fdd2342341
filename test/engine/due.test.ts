// When an account is polled: a table of what came of the last poll, and of what the clocks do meanwhile.
import { expect, test } from 'vitest';
import {
  type Due,
  dueAfterPoll,
  dueAtStart,
  isPaused,
  keptDue,
  msUntilPoll,
  notAfter,
} from '../../src/engine/due.ts';
import { EXIT, failure } from '../../src/foundation/failure.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.parse('2026-11-26T12:00:00Z');
const START = { now: NOW, monotonic: 5_000 };
const SLOT = NOW + 4 * HOUR;
/** By both clocks, and by one of them. */
const after = (ms: number, jumpMs = 0) => ({ now: NOW + ms + jumpMs, monotonic: 5_000 + ms });

const down = (retryAfterMs?: number) =>
  failure('provider_unreachable', 'Down.', {
    exit: EXIT.provider,
    retry: 'soon',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

test.each<[string, unknown, number | null, number]>([
  ['went well', null, null, 4 * HOUR],
  ['failed: the retry comes first', down(), MINUTE, MINUTE],
  ['failed, and the schedule comes first', down(), 6 * HOUR, 4 * HOUR],
  ['failed, and waiting does not help', down(), null, 4 * HOUR],
  ['asked to wait for longer than the retry', down(30 * MINUTE), 30 * MINUTE, 30 * MINUTE],
])('after a poll that %s', (_name, fault, retryMs, waitMs) => {
  expect(msUntilPoll(dueAfterPoll({ fault, retryMs }, SLOT, START), START)).toBe(waitMs);
});

test('waits for the end of a pause when a time of the schedule is within it', () => {
  const due = dueAfterPoll({ fault: down(30 * MINUTE), retryMs: 30 * MINUTE }, NOW + 10 * MINUTE, START);
  const moment = after(10 * MINUTE);
  expect([msUntilPoll(due, moment), isPaused(due, moment)]).toEqual([20 * MINUTE, true]);
});

const WELL = dueAfterPoll({ fault: null, retryMs: null }, SLOT, START);
const RETRY = dueAfterPoll({ fault: down(), retryMs: MINUTE }, SLOT, START);
const PAUSE = dueAfterPoll({ fault: down(30 * MINUTE), retryMs: 30 * MINUTE }, SLOT, START);

/** `slot`: the next time of the schedule by the clock as it is then. */
test.each<[string, Due, number, number, number, number]>([
  ['jumps five years ahead', WELL, 1_000, 5 * 365 * 24 * HOUR, NOW + 10 ** 12, 0],
  ['steps back an hour', WELL, 1_000, -HOUR, SLOT - 4 * HOUR + 1_000, 1 * HOUR],
  ['steps back from years ahead', { ...WELL, slotAt: NOW + 10 ** 11 }, 1_000, 0, SLOT, 4 * HOUR - 1_000],
  ['stood still for four seconds over the time', { ...WELL, slotAt: NOW + 2_000 }, 1_000, 4_000, SLOT, 0],
  ['steps back during a retry, which is told in seconds', RETRY, 1_000, -HOUR, SLOT, MINUTE - 1_000],
  [
    'jumps ahead during a pause, which is told in seconds',
    PAUSE,
    1_000,
    9 * HOUR,
    SLOT + 9 * HOUR,
    30 * MINUTE - 1_000,
  ],
])('a clock that %s', (_name, due, passedMs, jumpMs, slot, waitMs) => {
  const moment = after(passedMs, jumpMs);
  expect(Math.max(0, msUntilPoll(notAfter(slot, due), moment))).toBe(waitMs);
});

test.each([
  ['nothing is known', { pollAt: null, retryAfter: null }, false, 0],
  ['the last good poll is recent', { pollAt: null, retryAfter: null }, true, 4 * HOUR],
  [
    'it was due later in the delay of a tick',
    { pollAt: NOW + 5 * MINUTE, retryAfter: null },
    true,
    5 * MINUTE,
  ],
  ['it was due while nothing ran', { pollAt: NOW - HOUR, retryAfter: null }, true, 0],
  ['a clock that was ahead has written it', { pollAt: NOW + 10 ** 11, retryAfter: null }, true, 4 * HOUR],
  ['the provider has asked for a pause', { pollAt: NOW, retryAfter: NOW + 10 * MINUTE }, false, 10 * MINUTE],
  ['a pause of years is a mistake', { pollAt: NOW, retryAfter: NOW + 10 ** 11 }, false, 30 * MINUTE],
])('after a start, %s', (_name, kept, isRecent, waitMs) => {
  expect(Math.max(0, msUntilPoll(dueAtStart(kept, isRecent, SLOT, START), START))).toBe(waitMs);
});

test('keeps the next poll, and the pause while it lasts, when it is restarted', () => {
  expect(keptDue(RETRY, START)).toEqual({ pollAt: NOW + MINUTE, retryAfter: null });
  expect(keptDue(PAUSE, START)).toEqual({ pollAt: NOW + 30 * MINUTE, retryAfter: NOW + 30 * MINUTE });
  expect(keptDue(PAUSE, after(HOUR)).retryAfter).toBeNull();
});
