// The due times of an account, for polls and retries: data, and the one place that says them.
//
//   the schedule        by the wall clock as it is now, never later than the next of its times
//   a retry, a pause    told in seconds, and so by the monotonic clock, which no step of the wall clock moves
//   Retry-After         nothing is asked before, whatever else is due
import type { Clock } from '../foundation/clock.ts';
import { Failure } from '../foundation/failure.ts';
import { LONGEST_WAIT_MS } from '../foundation/retry.ts';

/** Both clocks. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly monotonic: number;
}

export const momentOf = (clock: Pick<Clock, 'now' | 'monotonic'>): Moment => ({
  now: clock.now(),
  monotonic: clock.monotonic(),
});

export interface Due {
  /** The next poll of the schedule, epoch milliseconds. */
  readonly slotAt: number;
  /** The next try after a failure, on the monotonic clock; `null`: none but that of the schedule. */
  readonly retryAt: number | null;
  /** The provider wants no request before, on the monotonic clock. */
  readonly notBefore: number;
}

/** The times that are kept over a restart. Epoch milliseconds; `null`: not known. */
interface KeptDue {
  readonly pollAt: number | null;
  readonly retryAfter: number | null;
}

/** The outcome of a poll. `retryMs`: until the next try, `null` where waiting does not help. */
interface PollEnd {
  readonly fault: unknown;
  readonly retryMs: number | null;
}

/** The program has started. `isRecent`: everything was read so lately that the schedule is soon enough. */
export function dueAtStart(stored: KeptDue, isRecent: boolean, slot: number, moment: Moment): Due {
  const pauseMs = Math.min((stored.retryAfter ?? moment.now) - moment.now, LONGEST_WAIT_MS);
  return {
    slotAt: isRecent ? Math.min(stored.pollAt ?? slot, slot) : moment.now,
    retryAt: null,
    notBefore: moment.monotonic + pauseMs,
  };
}

/** A time that lies after the next one of the schedule comes from a clock that was wrong. */
export function notAfter(slot: number, due: Due): Due {
  return due.slotAt > slot ? { ...due, slotAt: slot } : due;
}

export function dueAfterPoll({ fault, retryMs }: PollEnd, slot: number, { monotonic }: Moment): Due {
  const pauseMs = fault instanceof Failure ? (fault.retryAfterMs ?? 0) : 0;
  return {
    slotAt: slot,
    retryAt: fault === null || retryMs === null ? null : monotonic + retryMs,
    notBefore: monotonic + pauseMs,
  };
}

export const isPaused = ({ notBefore }: Due, { monotonic }: Moment): boolean => monotonic < notBefore;

/** Milliseconds until the account is polled; 0 or less: now. */
export function msUntilPoll({ slotAt, retryAt, notBefore }: Due, { now, monotonic }: Moment): number {
  const untilRetry = retryAt === null ? Number.POSITIVE_INFINITY : retryAt - monotonic;
  return Math.max(Math.min(slotAt - now, untilRetry), notBefore - monotonic);
}

export function keptDue(due: Due, moment: Moment): KeptDue {
  const { notBefore } = due;
  const isWaiting = notBefore > moment.monotonic;
  return {
    pollAt: Math.round(moment.now + msUntilPoll(due, moment)),
    retryAfter: isWaiting ? Math.round(moment.now + notBefore - moment.monotonic) : null,
  };
}
