// A lost ledger is restored from the history retained on the broker, as if it had never been lost.
import { type Amounts, type DayRecord, type Ledger, newerAmounts, openLedger } from './ledger.ts';
import type { Day } from './period.ts';
import type { ReadingCloses } from './readingCloses.ts';

/** Every day of a ledger as it was published last, and how its days were cut. */
export interface RetainedHistory {
  readonly timezone: string;
  readonly readingCloses: ReadingCloses;
  readonly origin: Day;
  readonly days: ReadonlyMap<Day, Amounts>;
}

/**
 * The retained days, and over them whatever the provider has given since: the newest amounts count, and absence never
 * erases. If the retained origin is not the ledger's own, the history is still to be read from there.
 */
export function restoreLedger(ledger: Ledger, { origin, days }: RetainedHistory, at: number): Ledger {
  const all = new Map<Day, DayRecord>();
  for (const [day, { energy, cost }] of days) all.set(day, { energy, cost, revision: 0, receivedAt: at });
  for (const [day, read] of ledger.days) {
    if (day < origin) continue;
    all.set(day, { ...read, ...newerAmounts(read, days.get(day)) });
  }
  return { ...(ledger.origin === origin ? ledger : openLedger(origin)), days: all };
}
