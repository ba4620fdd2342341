// What the days of a period cost by the ledgers of an account, and how sure that is.
import type { Micro } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { type Day, type DaySpan, daysOf } from '../period.ts';
import { type CarryingReading, readingOfEachDay } from './carriedDays.ts';

export interface DaysCost {
  readonly sum: Micro;
  /** Days without a cost that no later reading carries. */
  readonly missing: number;
  /** Days without a cost of their own: a later reading carries them. */
  readonly estimated: number;
  /** How much of the readings around the first and the last day may belong to the other side of them. */
  readonly edge: Micro;
}

/** `null` where the ledgers begin later than the period, or know no cost in it. A meter of later readings does not count. */
export function costOfDays(
  ledgers: readonly Pick<Ledger, 'origin' | 'days'>[],
  span: DaySpan,
): DaysCost | null {
  if (ledgers.some(({ origin }) => origin > span.from)) return null;
  const present = ledgers.filter(({ days }) => hasReadingBefore(days, span.to));
  const meters = present.map(({ days }) => readingOfEachDay('cost', days, span));
  const within = daysOf(span);
  const isMissing = within.map((_, at) => meters.some((readings) => readings[at] === null));
  const isEstimated = within.map((day, at) => meters.some((readings) => readings[at]?.day !== day));
  let [sum, read, edge] = [0, 0, 0];
  for (const [reading, inside] of meters.flatMap((readings) => [...countDays(readings)])) {
    const isRead = reading.day < span.to;
    const others = isRead ? reading.days - inside : inside;
    edge += Math.round((Math.abs(reading.amount) * others) / reading.days);
    if (!isRead) continue;
    sum += reading.amount;
    read += 1;
  }
  if (read === 0) return null;
  const missing = isMissing.filter(Boolean).length;
  return { sum, missing, estimated: isEstimated.filter(Boolean).length - missing, edge };
}

function hasReadingBefore(days: Ledger['days'], end: Day): boolean {
  for (const [day, { energy, cost }] of days) if (day < end && (energy ?? cost) !== null) return true;
  return false;
}

/** How many days of the span each reading has in it. */
function countDays(readings: readonly (CarryingReading | null)[]): Map<CarryingReading, number> {
  const counts = new Map<CarryingReading, number>();
  for (const reading of readings) if (reading) counts.set(reading, (counts.get(reading) ?? 0) + 1);
  return counts;
}
