// The readings of a ledger, which days each of them has in it, and which are estimates.
import { type Micro, toMicro } from '../amount.ts';
import { sumBy } from '../leastSquares.ts';
import { type Amounts, LONGEST_CARRIED_DAYS } from '../ledger.ts';
import { addDays, type Day, type DaySpan, daysOf } from '../period.ts';
import type { Days } from '../tariff/tariff.ts';

export interface Reading {
  readonly day: Day;
  /** Counts the days of the span that is looked at. */
  readonly at: number;
  readonly amount: Micro;
  /** Days without a reading directly before it; 0 for the first one. */
  readonly missed: number;
}

/** Both readings around a gap are to be seen. */
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
/** The same reading so many days in a row is an estimate where readings are seldom equal by chance; heat is not used that evenly. */
const FEWEST_EQUAL = 4;
/**
 * Equal readings are named as estimates if chance gives fewer such runs than this in a year, and doubted for a bill if fewer than
 * the next.
 */
const NAMED_BY_CHANCE = 0.2;
export const DOUBTED_BY_CHANCE = 0.8;
/** A register cannot show what is no multiple of its step: two such readings that are equal are estimates. */
const FEWEST_OFF_STEP = 2;
/** Readings that tell how much days differ. */
const READINGS_COMPARED = SEASON_DAYS;
/** Steps of registers, kWh, coarsest first. */
const STEPS = [10, 5, 1, 0.5, 0.1, 0.01].map(toMicro);
const FINEST_STEP = toMicro(0.001);
/** Estimates and readings that were put right are no multiples. */
const SHARE_OF_STEP = 0.8;

/** Oldest first. */
export function readingsIn(kind: keyof Amounts, days: Days, span: DaySpan): Reading[] {
  const readings: Reading[] = [];
  let missed = 0;
  for (const [at, day] of daysOf(span).entries()) {
    const amount = days.get(day)?.[kind] ?? null;
    if (amount !== null) readings.push({ day, at, amount, missed: readings.length === 0 ? 0 : missed });
    missed = amount === null ? missed + 1 : 0;
  }
  return readings;
}

/** The reading that has the days of the gap before this reading in it. */
export type HeldBy = (reading: Reading) => 'next' | 'previous' | 'none';

/** Each day of the span has a reading that it is in: its own, or that of a gap, as a rule the next one. `null`: none. */
export function readingOfEachDay(
  kind: keyof Amounts,
  days: Days,
  span: DaySpan,
  heldBy: HeldBy = () => 'next',
): readonly (Reading | null)[] {
  const around = { from: addDays(span.from, -AROUND_DAYS), to: addDays(span.to, AROUND_DAYS) };
  const ofDays = daysOf(around).map((): Reading | null => null);
  let previous: Reading | null = null;
  for (const reading of readingsIn(kind, days, around)) {
    const { at, missed } = reading;
    const isGap = missed > 0 && missed <= LONGEST_CARRIED_DAYS;
    const holder = isGap ? heldBy(reading) : 'none';
    if (holder !== 'none') ofDays.fill(holder === 'next' ? reading : previous, at - missed, at);
    ofDays[at] = reading;
    previous = reading;
  }
  return ofDays.slice(AROUND_DAYS, -AROUND_DAYS);
}

/** The readings of the span's days that were taken by its end, added up. */
export const sumOf = (readings: readonly (Reading | null)[], { to }: DaySpan): Micro =>
  sumBy([...new Set(readings)], (reading) => (reading && reading.day < to ? reading.amount : 0));

/** The coarsest step that nearly all readings are multiples of. */
export function registerStep(amounts: readonly Micro[]): Micro {
  const isOf = (step: Micro) =>
    amounts.filter((amount) => amount % step === 0).length >= SHARE_OF_STEP * amounts.length;
  return amounts.length === 0 ? FINEST_STEP : (STEPS.find(isOf) ?? FINEST_STEP);
}

/** Runs of equal readings of energy that are too long to have come by chance; `byChance`: but for so many in a year. */
export function estimatedRuns(energies: readonly Reading[], byChance = NAMED_BY_CHANCE) {
  const runs = equalRuns(energies);
  const step = registerStep(runs.map(({ first }) => energies[first]?.amount ?? 0));
  return runs.flatMap(({ first, next }, at) => {
    const amount = energies[first]?.amount ?? 0;
    const isOfStep = amount % step === 0;
    if (amount === 0 || next - first < (isOfStep ? FEWEST_EQUAL : FEWEST_OFF_STEP)) return [];
    // Only the newest runs are looked at: each has one reading at least.
    const newest = runs.slice(Math.max(0, at - READINGS_COMPARED), at);
    const earlier = newest.filter((run) => first - run.first <= READINGS_COMPARED);
    if (isOfStep && next - first < fewestEqual(energies, earlier, step, byChance)) return [];
    let right = next;
    while (energies[right]?.amount === 0 && right - next < FEWEST_EQUAL) right += 1;
    // The reading at `next` puts it right, and so do days without energy after it, up to that at `right`.
    return [{ first, next, right }];
  });
}

/** The run begins with the reading at `first` and ends before that at `next`. */
export interface Run {
  readonly first: number;
  readonly next: number;
}

/** All readings as runs of equal ones, most of them of one; a reading after missed days begins another run. */
export function equalRuns(energies: readonly Reading[]): Run[] {
  const runs: Run[] = [];
  let first = 0;
  for (let next = 1; next <= energies.length; next += 1) {
    const after = energies[next];
    if (after?.missed === 0 && after.amount === energies[first]?.amount) continue;
    runs.push({ first, next });
    first = next;
  }
  return runs;
}

/**
 * The fewest equal readings that are an estimate. By Laplace's distribution a register of this step shows the same twice so often where days
 * differ as they do, and the lengths of runs that come by chance fall geometrically.
 */
function fewestEqual(
  energies: readonly Reading[],
  earlier: readonly Run[],
  step: Micro,
  byChance: number,
): number {
  const readings = sumBy(earlier, ({ first, next }) => next - first);
  const moved = sumBy(earlier, ({ first, next }) =>
    Math.abs((energies[next]?.amount ?? 0) - (energies[first]?.amount ?? 0)),
  );
  if (moved === 0) return FEWEST_EQUAL;
  const chance = 1 - Math.exp((-step * readings) / (2 * moved));
  const begun = (1 - chance) * YEAR_DAYS;
  return Math.max(FEWEST_EQUAL, 1 + Math.ceil(Math.log(byChance / begun) / Math.log(chance)));
}
