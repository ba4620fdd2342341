// What days would have cost by another tariff.
import { inFull, type Micro } from '../amount.ts';
import type { Amounts } from '../ledger.ts';
import { addDays, type Day, type DaySpan } from '../period.ts';

export interface Prices {
  /** Currency units per kWh. */
  readonly unitRate: number;
  /** Of one day, in millionths of a currency unit. */
  readonly standingCharge: Micro;
}

/** A longer gap between two readings is no reading at all. */
export const LONGEST_CARRIED_DAYS = 31;

/**
 * The days of the span that have a reading, and those that a later reading carries, each with a standing charge.
 * `days`: with those around the span, by which gaps at its ends are judged. `null` when nothing of the span is known.
 */
export function costAt(
  { unitRate, standingCharge }: Prices,
  days: ReadonlyMap<Day, Pick<Amounts, 'energy'>>,
  { from, to }: DaySpan,
): Micro | null {
  const energyOn = (day: Day) => days.get(day)?.energy ?? null;
  /** Days to the nearest reading. */
  const unread = (day: Day, step: 1 | -1) => {
    let count = 0;
    while (count <= LONGEST_CARRIED_DAYS && energyOn(addDays(day, step * count)) === null) count += 1;
    return count;
  };
  let energy = 0;
  let charged = 0;
  for (let day = from; day < to; day = addDays(day, 1)) {
    energy += energyOn(day) ?? 0;
    if (unread(day, 1) + unread(day, -1) <= LONGEST_CARRIED_DAYS + 1) charged += 1;
  }
  return charged === 0 ? null : Math.round(unitRate * energy) + charged * standingCharge;
}

/** `0.124 EUR/kWh + 0.686 EUR/day` */
export const pricesInWords = ({ unitRate, standingCharge }: Prices, currency: string): string =>
  `${unitRate} ${currency}/kWh + ${inFull(standingCharge)} ${currency}/day`;
