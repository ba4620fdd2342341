// What the days of a period cost by the ledgers of an account, and how sure that is.
import type { Micro } from '../../amount.ts';
import type { Ledger } from '../../ledger.ts';
import { addDays, type Day, type DaySpan, daysBetween, daysOf } from '../../period.ts';
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

/** A meter, with the reading that each of its days is in. */
export interface MeterCosts {
  readonly origin: Day;
  /** The first day with a reading. */
  readonly first: Day | null;
  /** From the origin to the newest reading. */
  readonly readings: readonly (CarryingReading | null)[];
}

export function meterCosts({ origin, days }: Pick<Ledger, 'origin' | 'days'>): MeterCosts {
  let first: Day | null = null;
  let newest = origin;
  for (const [day, { energy, cost }] of days) {
    if ((energy ?? cost) === null) continue;
    if (first === null || day < first) first = day;
    if (day > newest) newest = day;
  }
  return {
    origin,
    first,
    readings: readingOfEachDay('cost', days, { from: origin, to: addDays(newest, 1) }),
  };
}

/** `null` where the ledgers begin later than the period, or know no cost in it. A meter of later readings does not count. */
export function costOfDays(all: readonly MeterCosts[], span: DaySpan): DaysCost | null {
  if (all.some(({ origin }) => origin > span.from)) return null;
  const within = daysOf(span);
  const meters = all
    .filter(({ first }) => first !== null && first < span.to)
    .map(({ origin, readings }) => {
      const at = daysBetween(origin, span.from);
      return within.map((_, further) => readings[at + further] ?? null);
    });
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

/** How many days of the span each reading has in it. */
function countDays(readings: readonly (CarryingReading | null)[]): Map<CarryingReading, number> {
  const counts = new Map<CarryingReading, number>();
  for (const reading of readings) if (reading) counts.set(reading, (counts.get(reading) ?? 0) + 1);
  return counts;
}
