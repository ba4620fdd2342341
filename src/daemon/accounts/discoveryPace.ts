// How often an account's properties may be looked for again: once a day when one is refused, once a week for new ones.
import type { Clock } from '../../foundation/clock.ts';
import { ProviderRefused } from '../../provider/request.ts';
import type { JournalPage } from './pollHistory.ts';

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
  return new Pace(journal, clock);
}

class Pace implements DiscoveryPace {
  readonly #journal: Pick<JournalPage, 'discoveredAt'>;
  readonly #clock: Clock;
  #refusedAt: number | null = null;
  #lookedAt: number | null = null;

  constructor(journal: Pick<JournalPage, 'discoveredAt'>, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  forRefused(faults: readonly unknown[]): boolean {
    const stale = faults.some((err) => err instanceof ProviderRefused && [403, 404].includes(err.status));
    if (!stale || this.#isToday(this.#refusedAt)) return false;
    this.#refusedAt = this.#clock.monotonic();
    return true;
  }

  helped(): void {
    this.#refusedAt = null;
  }

  forMore(): boolean {
    const { discoveredAt } = this.#journal;
    if (discoveredAt !== null && Math.abs(this.#clock.now() - discoveredAt) < LOOK_AGAIN_MS) return false;
    if (this.#isToday(this.#lookedAt)) return false;
    this.#lookedAt = this.#clock.monotonic();
    return true;
  }

  #isToday(at: number | null): boolean {
    return at !== null && this.#clock.monotonic() - at < DAY_MS;
  }
}
