// Readings of a ledger on the scale of days since today, with the days that each of them has in it.
import type { Micro } from '../amount.ts';
import type { Amounts } from '../ledger.ts';
import { addDays, type Day, daysOf } from '../period.ts';
import type { Days } from '../tariff/billedDays.ts';
import { chargesOn, type Tariff } from '../tariff/tariff.ts';

/** Days since today: -1 is yesterday. */
export type Offset = number;

export interface Reading {
  readonly at: Offset;
  readonly amount: Micro;
  /** Days without a reading directly before it. */
  readonly missed: number;
  /** More than one where it has the use of other days in it, as its standing charges or its rhythm tell. */
  readonly carries: number;
}

/** From the first to before the end. */
export interface OffsetSpan {
  readonly from: Offset;
  readonly to: Offset;
}

const LEARNT_FROM_DAYS = 2 * 366;
const RHYTHM_DAYS = 60;
const LONGEST_RHYTHM_DAYS = 7;

/** The readings of two years, oldest first. `end`: readings from this day on do not count. */
export function readingsOf(
  kind: keyof Amounts,
  days: Days,
  tariff: Tariff | null,
  today: Day,
  end: Offset,
): Reading[] {
  const found: Reading[] = [];
  let missed = 0;
  const span = { from: addDays(today, -LEARNT_FROM_DAYS), to: addDays(today, end) };
  const within = daysOf(span);
  for (const [index, day] of within.entries()) {
    const amount = days.get(day)?.[kind] ?? null;
    if (amount === null) missed += 1;
    else {
      const isAlone = missed === 0 && days.has(within[index + 1] ?? addDays(day, 1));
      const carries = isAlone ? 1 : chargesCarried(tariff, days, day);
      const at = index - LEARNT_FROM_DAYS;
      found.push({ at, amount, carries, missed: found.length === 0 ? 0 : missed });
      missed = 0;
    }
  }
  return isRhythmic(found) ? found.map(withItsGap) : found;
}

/** How many standing charges a reading has in it, at least one. */
export const chargesCarried = (tariff: Tariff | null, days: Days, day: Day): number =>
  Math.max(1, (tariff && chargesOn(tariff, days, day)) ?? 1);

/** Most of the newest readings come after a gap: the provider books several days into one. */
function isRhythmic(readings: readonly Reading[]): boolean {
  const newest = readings.filter(({ at }) => at > -RHYTHM_DAYS);
  return newest.filter(({ missed }) => missed > 0).length * 2 > newest.length;
}

const withItsGap = (reading: Reading): Reading =>
  reading.missed < LONGEST_RHYTHM_DAYS
    ? { ...reading, carries: Math.max(reading.carries, reading.missed + 1) }
    : reading;

/** Days of the span that no reading has in it. */
export function daysLeft({ from, to }: OffsetSpan, readings: readonly Reading[]): Offset[] {
  const covered = new Set<Offset>();
  for (const { at, missed, carries } of readings) {
    if (at < from) continue;
    const before = Math.min(missed, carries - 1);
    // Two readings of one day leave the next without any.
    for (let day = at - before; day < at - before + carries; day += 1) covered.add(day);
  }
  const days = Array.from({ length: to - from }, (_, index) => from + index);
  return days.filter((day) => !covered.has(day));
}
