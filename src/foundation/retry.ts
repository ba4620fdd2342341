// Retries wait with exponential back-off and jitter: capped, and never shorter than asked for.
import { Failure } from './failure.ts';

const FIRST_WAIT_MS = { soon: 15_000, later: 60_000, never: 30 * 60_000 } as const;
/** Nothing waits for longer: a mistake of the other side, or of a clock, must not silence the bridge for a week. */
export const LONGEST_WAIT_MS = 30 * 60_000;

/**
 * Milliseconds to wait after the `failures`-th failure in a row (1 = the first).
 * `random` draws from [0, 1); the result lies within 25 % around the doubled step.
 * A `Retry-After` of the other side is a floor, with the same cap.
 */
export function backOffMs(thrown: unknown, failures: number, random: () => number): number {
  const first = FIRST_WAIT_MS[thrown instanceof Failure ? thrown.retry : 'later'];
  const step = Math.min(first * 2 ** Math.min(Math.max(failures - 1, 0), 20), LONGEST_WAIT_MS);
  const jittered = Math.min(step * (0.75 + random() / 2), LONGEST_WAIT_MS);
  const askedFor = thrown instanceof Failure ? (thrown.retryAfterMs ?? 0) : 0;
  return Math.round(Math.max(jittered, askedFor));
}

/** The waiting time that a `Retry-After` header asks for (seconds or an HTTP date); `null` = none, or unreadable. */
export function retryAfterMs(value: unknown, now: number): number | null {
  const header = String(value ?? '').trim();
  if (header === '') return null;
  const wait = SECONDS.test(header) ? Number(header) * 1000 : dateIn(header) - now;
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), LONGEST_WAIT_MS) : null;
}

const SECONDS = /^\d+$/;

// Node reads "back in 2030" as a date.
const dateIn = (header: string): number => (/\d\d:\d\d:\d\d/.test(header) ? Date.parse(header) : Number.NaN);
