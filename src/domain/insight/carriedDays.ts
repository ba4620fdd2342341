// Which reading each day of a span is in: its own, or the next one where a few were missed.
import type { Micro } from '../amount.ts';
import type { Amounts } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysOf } from '../period.ts';

/** The same reading so many days in a row is an estimate; heat is not used that evenly. */
export const FLAT_DAYS = 4;
/** A longer gap between two readings is in none of them. */
export const LONGEST_CARRIED_DAYS = 31;
/** To see the readings on both sides of such a gap. */
export const AROUND_DAYS = LONGEST_CARRIED_DAYS + 1;

export interface CarryingReading {
  readonly day: Day;
  readonly amount: Micro;
  /** That are in it, its own and those directly before it. */
  readonly days: number;
}

/** For each day of the span the same object as for the other days of its reading; `null`: in none. */
export function readingOfEachDay<Kind extends keyof Amounts>(
  kind: Kind,
  days: ReadonlyMap<Day, Pick<Amounts, Kind>>,
  { from, to }: DaySpan,
): readonly (CarryingReading | null)[] {
  const around = daysOf({ from: addDays(from, -AROUND_DAYS), to: addDays(to, AROUND_DAYS) });
  const found: (CarryingReading | null)[] = around.map(() => null);
  let last: number | null = null;
  for (const [at, day] of around.entries()) {
    const amount = days.get(day)?.[kind] ?? null;
    if (amount === null) continue;
    const gap = last === null ? 0 : at - last - 1;
    const carried = gap <= LONGEST_CARRIED_DAYS ? gap : 0;
    found.fill({ day, amount, days: carried + 1 }, at - carried, at + 1);
    last = at;
  }
  return found.slice(AROUND_DAYS, -AROUND_DAYS);
}
