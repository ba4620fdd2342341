// The system clock's interruptible sleep, and deadlines on any clock.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Clock, systemClock, withDeadline } from '../../src/foundation/clock.ts';
import { handClock } from '../support/clock.ts';

const LONGEST_NODE_TIMER_MS = 2 ** 31 - 1;

/** Did it resolve, once all that is due has had its turn? */
async function isOver(sleeping: Promise<void>): Promise<boolean> {
  let over = false;
  void sleeping.then(() => {
    over = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return over;
}

describe('the system clock', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('wakes at once when the signal aborts, leaving neither timer nor listener', async () => {
    const stop = new AbortController();
    const removed = vi.spyOn(stop.signal, 'removeEventListener');
    const sleeping = systemClock.sleep(60_000, stop.signal);
    stop.abort();
    expect(await isOver(sleeping)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    expect(removed).toHaveBeenCalledOnce();
  });

  test.each([
    ['when the signal has aborted before', 60_000, AbortSignal.abort()],
    ['for no time', 0, undefined],
    ['for less than no time', -1, undefined],
  ])('does not fall asleep %s', async (_, ms, signal) => {
    expect(await isOver(systemClock.sleep(ms, signal))).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([60_000, LONGEST_NODE_TIMER_MS + 60_000])('sleeps for %i ms', async (ms) => {
    const sleeping = systemClock.sleep(ms);
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(await isOver(sleeping)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await isOver(sleeping)).toBe(true);
  });

  test('takes no step at once when it is for a far day, and none when it is called off', async () => {
    const step = vi.fn();
    const cancel = systemClock.after(LONGEST_NODE_TIMER_MS + 60_000, step);
    await vi.advanceTimersByTimeAsync(60_000);
    cancel();
    expect([step.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

/** A step that has begun, and the function that ends it. */
async function begin(clock: Clock, other?: AbortSignal) {
  let end = (): void => undefined;
  let given = AbortSignal.abort();
  const ended = withDeadline(clock, 30_000, other, (signal) => {
    given = signal;
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  const clear = () => {
    end();
    return ended;
  };
  return { signal: given, clear };
}

describe('a deadline', () => {
  test.each(['2026-03-10T12:00:00Z', '1970-01-01T00:00:10Z'])(
    'aborts with a TimeoutError when its time is over, not before, whatever a wall clock at %s does',
    async (start) => {
      const clock = handClock(start);
      const limit = await begin(clock);
      clock.jump(Date.parse('2026-03-10T12:00:00Z') - clock.now());
      await clock.pass(29_999, async () => undefined);
      expect(limit.signal.aborted).toBe(false);
      await clock.pass(1, async () => undefined);
      expect(limit.signal.aborted).toBe(true);
      expect(limit.signal.reason).toMatchObject({ name: 'TimeoutError' });
    },
  );

  test.each([
    ['before', true],
    ['after', false],
  ])('aborts as another signal does, also one that did %s', async (_, isBefore) => {
    const other = new AbortController();
    if (isBefore) other.abort('the end');
    const limit = await begin(handClock('2026-03-10T12:00:00Z'), other.signal);
    expect(limit.signal.aborted).toBe(isBefore);
    other.abort('the end');
    expect(limit.signal.reason).toBe('the end');
  });

  test('never aborts once the step has ended, and leaves nobody asleep', async () => {
    const clock = handClock('2026-03-10T12:00:00Z');
    const limit = await begin(clock);
    await limit.clear();
    expect(clock.sleepers).toBe(0);
    await clock.pass(60_000, async () => undefined);
    expect(limit.signal.aborted).toBe(false);
  });
});
