// A share of the time for work that grows with the number of accounts: after each turn it rests a hundred times as long.
import type { Clock } from '../foundation/clock.ts';

export interface Share {
  /** Milliseconds until the next turn; 0 or less: now. */
  restMs(): number;
  /** A turn begins, and ends with the call of what this returns. */
  begin(): () => void;
}

const REST_FACTOR = 100;

export function openShare(clock: Clock): Share {
  let restsUntil = Number.NEGATIVE_INFINITY;
  return {
    restMs: () => restsUntil - clock.monotonic(),
    begin() {
      const began = clock.monotonic();
      return () => {
        const ended = clock.monotonic();
        restsUntil = ended + (ended - began) * REST_FACTOR;
      };
    },
  };
}
