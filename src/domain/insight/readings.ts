// The readings of a ledger, which days each of them has in it, and which are estimates.
import { type Micro, toMicro } from '../amount.ts';
import type { Amounts } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysOf } from '../period.ts';

export interface Reading {
  readonly day: Day;
  /** Counts the days of the span that is looked at. */
  readonly at: number;
  readonly amount: Micro;
  /** Days without a reading directly before it; 0 for the first one. */
  readonly missed: number;
}

/** Provider's periods are months: a longer gap between two readings is in none of them. */
export const LONGEST_CARRIED_DAYS = 31;
/** To see the readings on both sides of such a gap. */
const AROUND_DAYS = LONGEST_CARRIED_DAYS + 1;
/** A month tells what days are like, and three months are a season. */
export const FEWEST_DAYS = 30;
export const SEASON_DAYS = 90;
export const YEAR_DAYS = 365;
/** A bill of a year that came late is no longer; and what the first days of a year are compared with is within it. */
export const YEAR_AND_MONTH_DAYS = 400;
/** Two weeks have each weekday twice, and as long a holiday lasts. */
export const TWO_WEEKS_DAYS = 14;
/** A reading of more days tells little of each. */
export const LONGEST_SPAN_DAYS = 7;
/** The same reading so many days in a row is an estimate, and one day more for whole kWh; heat is not used that evenly. */
const FLAT_DAYS = 4;
const KWH = toMicro(1);

type Days<Kind extends keyof Amounts> = ReadonlyMap<Day, Pick<Amounts, Kind>>;

/** Oldest first. */
export function readingsIn<Kind extends keyof Amounts>(
  kind: Kind,
  days: Days<Kind>,
  span: DaySpan,
): Reading[] {
  const found: Reading[] = [];
  let missed = 0;
  for (const [at, day] of daysOf(span).entries()) {
    const amount = days.get(day)?.[kind] ?? null;
    if (amount !== null) found.push({ day, at, amount, missed: found.length === 0 ? 0 : missed });
    missed = amount === null ? missed + 1 : 0;
  }
  return found;
}

/** Which reading has the days of the gap before the reading in it. */
export type HeldBy = (reading: Reading) => 'next' | 'previous' | 'none';

/** For each day of the span the reading that it is in: its own, or that of a gap, as a rule the next one. `null`: in none. */
export function readingOfEachDay<Kind extends keyof Amounts>(
  kind: Kind,
  days: Days<Kind>,
  span: DaySpan,
  heldBy: HeldBy = () => 'next',
): readonly (Reading | null)[] {
  const around = { from: addDays(span.from, -AROUND_DAYS), to: addDays(span.to, AROUND_DAYS) };
  const found = daysOf(around).map((): Reading | null => null);
  let previous: Reading | null = null;
  for (const reading of readingsIn(kind, days, around)) {
    const { at, missed } = reading;
    const isGap = missed > 0 && missed <= LONGEST_CARRIED_DAYS;
    const holder = isGap ? heldBy(reading) : 'none';
    if (holder !== 'none') found.fill(holder === 'next' ? reading : previous, at - missed, at);
    found[at] = reading;
    previous = reading;
  }
  return found.slice(AROUND_DAYS, -AROUND_DAYS);
}

/** The readings of the span's days that were taken by its end, added up. */
export const sumOf = (readings: readonly (Reading | null)[], { to }: DaySpan): Micro =>
  [...new Set(readings)].reduce((sum, one) => sum + (one && one.day < to ? one.amount : 0), 0);

/**
 * Runs of equal readings of energy, which are estimates: from `first` until before `next`. The reading at `next` puts them right, and so do
 * days without energy after it, up to that at `right`.
 */
export function estimatedRuns(energies: readonly Reading[]) {
  const runs: { readonly first: number; readonly next: number; readonly right: number }[] = [];
  let first = 0;
  for (let next = 1; next <= energies.length; next += 1) {
    const amount = energies[first]?.amount ?? 0;
    if (energies[next]?.amount === amount && energies[next]?.missed === 0) continue;
    // A register of whole kWh repeats itself by chance.
    const fewest = amount % KWH === 0 ? FLAT_DAYS + 1 : FLAT_DAYS;
    let right = next;
    while (energies[right]?.amount === 0 && right - next < FLAT_DAYS) right += 1;
    if (amount !== 0 && next - first >= fewest) runs.push({ first, next, right });
    first = next;
  }
  return runs;
}
