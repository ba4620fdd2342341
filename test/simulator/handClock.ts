// A clock moved by hand: sleepers wake when it is advanced past them.
import type { Clock } from '../../src/foundation/clock.ts';

export interface HandClock extends Clock {
  advance(ms: number): void;
}

export function handClock(start: string): HandClock {
  const begin = Date.parse(start);
  let now = begin;
  const sleepers = new Set<{ until: number; wake: () => void }>();
  return {
    now: () => now,
    monotonic: () => now - begin,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const sleeper = {
          until: now + ms,
          wake: () => {
            sleepers.delete(sleeper);
            resolve();
          },
        };
        sleepers.add(sleeper);
        if (signal?.aborted) sleeper.wake();
        signal?.addEventListener('abort', sleeper.wake, { once: true });
      }),
    advance(ms) {
      now += ms;
      for (const sleeper of [...sleepers]) if (sleeper.until <= now) sleeper.wake();
    },
  };
}
