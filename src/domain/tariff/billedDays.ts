// Days of a ledger that have both energy and cost, and how many standing charges each may carry.
import type { Micro } from '../amount.ts';
import type { Amounts } from '../ledger.ts';
import { addDays, type Day, daysOf } from '../period.ts';

export interface BilledDay {
  readonly day: Day;
  readonly energy: Micro;
  readonly cost: Micro;
  /** Days without a bill directly before it. A missed reading is booked into the next one, perhaps with its charge. */
  readonly missedBefore: number;
  /** Two readings of one day leave the next without any. */
  readonly isFollowed: boolean;
}

export type Days = ReadonlyMap<Day, Amounts>;

const LONGEST_GAP_DAYS = 31;

/** Oldest first: those of the `span` days that end with the newest one. */
export function newestBilledDays(days: Days, span: number): BilledDay[] {
  let newest: Day | null = null;
  for (const [day, amounts] of days) if ((newest === null || day > newest) && isBilled(amounts)) newest = day;
  if (newest === null) return [];
  const within = daysOf({ from: addDays(newest, 1 - span), to: addDays(newest, 1) });
  return within.flatMap((day) => billedDay(days, day) ?? []);
}

/** `null` while energy or cost of the day are not known. */
export function billedDay(days: Days, day: Day): BilledDay | null {
  const amounts = days.get(day);
  if (!isBilled(amounts)) return null;
  let missedBefore = 0;
  while (missedBefore < LONGEST_GAP_DAYS && !isBilled(days.get(addDays(day, -missedBefore - 1)))) {
    missedBefore += 1;
  }
  const isFollowed = isBilled(days.get(addDays(day, 1)));
  return { day, energy: amounts.energy, cost: amounts.cost, missedBefore, isFollowed };
}

type Billed = { readonly energy: Micro; readonly cost: Micro };

const isBilled = (amounts: Amounts | undefined): amounts is Billed =>
  amounts !== undefined && amounts.energy !== null && amounts.cost !== null;
