// A share of the time for work that grows with the number of accounts: after each turn it rests a hundred times as long,
// and at most a minute.
import type { Clock } from '../../foundation/clock.ts';

export interface Share {
  /** Milliseconds until the next turn; 0 or less: now. */
  restMs(): number;
  /** A turn begins, and ends with the call of what this returns. */
  begin(): () => void;
}

const REST_FACTOR = 100;
// A disk that stalls for ten seconds is no reason for a quarter of an hour without a word.
const LONGEST_REST_MS = 60_000;

export function openShare(clock: Clock): Share {
  let restsUntil = Number.NEGATIVE_INFINITY;
  return {
    restMs: () => restsUntil - clock.monotonic(),
    begin() {
      const began = clock.monotonic();
      return () => {
        const ended = clock.monotonic();
        restsUntil = ended + Math.min((ended - began) * REST_FACTOR, LONGEST_REST_MS);
      };
    },
  };
}
