// How often an account's properties may be looked for again: once a day when one is refused, once a week for new ones.
import type { Clock } from '../foundation/clock.ts';
import { ProviderRefused } from '../provider/request.ts';
import type { JournalPage } from './journal.ts';

export interface DiscoveryPace {
  /** A known property was refused, and nobody has looked for another one today. */
  forRefused(faults: readonly unknown[]): boolean;
  /** It helped: the next refusal is a new one. */
  helped(): void;
  /** The last discovery is a week old. */
  forMore(): boolean;
}

const DAY_MS = 24 * 3_600_000;
const LOOK_AGAIN_MS = 7 * DAY_MS;

export function openDiscoveryPace(journal: Pick<JournalPage, 'discoveredAt'>, clock: Clock): DiscoveryPace {
  let refusedAt: number | null = null;
  let lookedAt: number | null = null;
  const isToday = (at: number | null) => at !== null && clock.monotonic() - at < DAY_MS;
  return {
    forRefused(faults) {
      const stale = faults.some((err) => err instanceof ProviderRefused && [403, 404].includes(err.status));
      if (!stale || isToday(refusedAt)) return false;
      refusedAt = clock.monotonic();
      return true;
    },
    helped() {
      refusedAt = null;
    },
    forMore() {
      const { discoveredAt } = journal;
      if (discoveredAt !== null && Math.abs(clock.now() - discoveredAt) < LOOK_AGAIN_MS) return false;
      if (isToday(lookedAt)) return false;
      lookedAt = clock.monotonic();
      return true;
    },
  };
}
