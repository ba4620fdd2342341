// A ledger that was lost goes on from the history that stands on the broker, as if it had never been lost.
import { type Amounts, type DayRecord, type Ledger, openLedger } from './ledger.ts';
import type { Day } from './period.ts';

/** Every day of a ledger as it was published last, and how its days were cut. */
export interface Remembered {
  readonly timezone: string;
  readonly readingCloses: 'same_day' | 'previous_day';
  readonly origin: Day;
  readonly days: ReadonlyMap<Day, Amounts>;
}

/**
 * The remembered days, and over them whatever the provider has said meanwhile: the newest word counts, and absence
 * never erases. From another origin than the ledger's own, the history is still to be read.
 */
export function recall(ledger: Ledger, { origin, days }: Remembered, at: number): Ledger {
  const all = new Map<Day, DayRecord>();
  for (const [day, { energy, cost }] of days) all.set(day, { energy, cost, revision: 0, receivedAt: at });
  for (const [day, read] of ledger.days) {
    if (day < origin) continue;
    const known = days.get(day);
    const energy = read.energy ?? known?.energy ?? null;
    all.set(day, { ...read, energy, cost: read.cost ?? known?.cost ?? null });
  }
  return { ...(ledger.origin === origin ? ledger : openLedger(origin)), days: all };
}
