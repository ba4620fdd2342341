// How often the public list may be asked, and by how many questions at a time: a flood on MQTT must end here.
import type { Clock } from '../../foundation/clock.ts';
import { Failure } from '../../foundation/failure.ts';
import { openTurns } from '../polling/turns.ts';

export interface FetchPace {
  /** Why nothing may be asked now, and until when (epoch milliseconds); `null` = go ahead. */
  held(): { readonly reason: 'rate_limit' | 'retry_after'; readonly until: number } | null;
  /** Runs it when its turn comes. */
  run<T>(fetchOne: () => Promise<T>): Promise<T>;
}

const WINDOW_MS = 5 * 60_000;
const MOST_IN_WINDOW = 30;
const MOST_AT_ONCE = 4;

export function openFetchPace(clock: Clock): FetchPace {
  // Monotonic: setting the clock must neither open nor lock the gate.
  let begun: number[] = [];
  let patientUntil = Number.NEGATIVE_INFINITY;
  const turns = openTurns(MOST_AT_ONCE);

  function noteRefusal(fault: unknown): void {
    const wait = fault instanceof Failure ? fault.retryAfterMs : undefined;
    if (wait !== undefined) patientUntil = Math.max(patientUntil, clock.monotonic() + wait);
  }

  return {
    held() {
      const now = clock.monotonic();
      begun = begun.filter((at) => now - at < WINDOW_MS);
      if (patientUntil > now) return { reason: 'retry_after', until: clock.now() + patientUntil - now };
      const [first] = begun;
      if (first === undefined || begun.length < MOST_IN_WINDOW) return null;
      return { reason: 'rate_limit', until: clock.now() + first + WINDOW_MS - now };
    },
    async run(fetchOne) {
      begun.push(clock.monotonic());
      try {
        return await turns.take(fetchOne);
      } catch (err) {
        noteRefusal(err);
        throw err;
      }
    },
  };
}
