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
export const AROUND_DAYS = LONGEST_CARRIED_DAYS + 1;
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
export const FLAT_DAYS = 4;
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

/** For each day of the span the reading that it is in: its own, or the next one after a gap. `null`: in none. */
export function readingOfEachDay<Kind extends keyof Amounts>(
  kind: Kind,
  days: Days<Kind>,
  span: DaySpan,
): readonly (Reading | null)[] {
  const around = { from: addDays(span.from, -AROUND_DAYS), to: addDays(span.to, AROUND_DAYS) };
  const found = daysOf(around).map((): Reading | null => null);
  for (const reading of readingsIn(kind, days, around)) {
    const carried = reading.missed <= LONGEST_CARRIED_DAYS ? reading.missed : 0;
    found.fill(reading, reading.at - carried, reading.at + 1);
  }
  return found.slice(AROUND_DAYS, -AROUND_DAYS);
}

/** The readings of the span's days that were taken by its end, added up. */
export const sumOf = (readings: readonly (Reading | null)[], { to }: DaySpan): Micro =>
  [...new Set(readings)].reduce((sum, one) => sum + (one && one.day < to ? one.amount : 0), 0);

/** Runs of equal readings of energy: where each begins, and where the reading is that puts it right. */
export function estimatedRuns(
  energies: readonly Reading[],
): { readonly first: number; readonly next: number }[] {
  const runs: { readonly first: number; readonly next: number }[] = [];
  let first = 0;
  for (let next = 1; next <= energies.length; next += 1) {
    const amount = energies[first]?.amount ?? 0;
    if (energies[next]?.amount === amount && energies[next]?.missed === 0) continue;
    // A register of whole kWh repeats itself by chance.
    const fewest = amount % KWH === 0 ? FLAT_DAYS + 1 : FLAT_DAYS;
    if (amount !== 0 && next - first >= fewest) runs.push({ first, next });
    first = next;
  }
  return runs;
}

/**
 * Answers about spans of days, which are kept while none of the days before `to` has changed. Each of the maps that the answers are made
 * of has its place in the list.
 */
export function keptAnswers<Answer>() {
  let known: readonly ReadonlyMap<Day, unknown>[] = [];
  const kept = new Map<string, { readonly to: Day; readonly answer: Answer }>();
  return (maps: readonly ReadonlyMap<Day, unknown>[]) => {
    const changed = maps.map((map, at) => firstDifference(known[at] ?? new Map(), map)).sort()[0] ?? '';
    for (const [key, { to }] of kept) if (to > changed || known.length !== maps.length) kept.delete(key);
    known = maps;
    return (key: string, to: Day, find: () => Answer): Answer => {
      const { answer } = kept.get(key) ?? { answer: find() };
      kept.set(key, { to, answer });
      return answer;
    };
  };
}

/** The first day of which the two tell something else; the end of time: there is none. */
function firstDifference(before: ReadonlyMap<Day, unknown>, after: ReadonlyMap<Day, unknown>): Day {
  let first = '9999';
  const look = (day: Day) => {
    if (day < first && before.get(day) !== after.get(day)) first = day;
  };
  if (before !== after) for (const days of [before, after]) for (const day of days.keys()) look(day);
  return first;
}
