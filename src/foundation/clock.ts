// Time as an argument: wall clock, monotonic clock and an interruptible sleep.

export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. May jump (NTP, a Pi without a clock battery). */
  now(): number;
  /** Milliseconds since an arbitrary start. Never jumps, but may stand still while the machine is suspended. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts: the caller looks at the signal. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs the step after `ms` milliseconds, unless the function that it returns is called before. */
  after(ms: number, step: () => void): () => void;
}

/** A Raspberry Pi has no clock battery: until the network has told it the time, it lives in 1970. */
export const isClockSet = (now: number): boolean => now >= Date.UTC(2020, 0, 1);

/** Runs a step with a signal that aborts with a TimeoutError after `ms` on this clock, or as `other` does. */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  other: AbortSignal | undefined,
  step: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(new DOMException('time ran out', 'TimeoutError')));
  const follow = () => late.abort(other?.reason);
  if (other?.aborted) follow();
  other?.addEventListener('abort', follow);
  try {
    return await step(late.signal);
  } finally {
    cancel();
    other?.removeEventListener('abort', follow);
  }
}

// Node's timers overflow above 2^31 - 1 ms and would then fire at once.
const LONGEST_TIMER_MS = 2_147_000_000;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    for (let left = ms; left > 0 && !signal?.aborted; left -= LONGEST_TIMER_MS) {
      await timer(Math.min(left, LONGEST_TIMER_MS), signal);
    }
  },
  after(ms, step) {
    const timeout = setTimeout(step, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timeout);
  },
};

function timer(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timeout);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timeout = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
