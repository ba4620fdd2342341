// Totals after a lost state directory: the origin and the opening balance come back from what was published last.
import type { Micro } from './amount.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { addDays, type Day, daysBetween } from './period.ts';

/** What a meter's last published state says. */
export interface Remembered {
  readonly origin: Day;
  /** Totals as published, the opening balance included. */
  readonly energy: Micro;
  readonly cost: Micro;
  readonly opening: { readonly energy: Micro; readonly cost: Micro };
  /** The newest day with a reading, and how many days since the origin had none. */
  readonly newestDay: Day;
  readonly missingDays: number;
}

/** A ledger that has nothing of its own takes over the origin; its history is to be read from there. */
export const reopen = (remembered: Remembered): Ledger => openLedger(remembered.origin);

/**
 * The balance to open with, once the history since the remembered origin has been read again. A provider that gives
 * as many days as were known needs none: its own days are the truth. One that has forgotten days gets back what they
 * came to, so that no total ever falls.
 */
export function openingAfter(ledger: Ledger, remembered: Remembered): Ledger['opening'] {
  let known = 0;
  let energy: Micro = 0;
  let cost: Micro = 0;
  for (const [day, record] of ledger.days) {
    if (day > remembered.newestDay) continue;
    if (record.energy !== null) known += 1;
    energy += record.energy ?? 0;
    cost += record.cost ?? 0;
  }
  const span = daysBetween(remembered.origin, addDays(remembered.newestDay, 1));
  if (known >= span - remembered.missingDays) return remembered.opening;
  return {
    energy: Math.max(remembered.opening.energy, remembered.energy - energy),
    cost: Math.max(remembered.opening.cost, remembered.cost - cost),
  };
}
