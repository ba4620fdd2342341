// The search for the line that the newest days lie on, and for the day since when they do.
import type { Micro } from '../amount.ts';
import type { Day } from '../period.ts';
import type { BilledDay } from './billedDays.ts';
import {
  type Bounds,
  consensus,
  type Estimate,
  fits,
  fitsWithoutCharge,
  type Line,
  leastSquares,
  possibleRates,
  possibleStandings,
} from './line.ts';

export interface TariffLine {
  readonly line: Line;
  readonly tolerance: Micro;
  /** The first day on it. */
  readonly from: Day;
}

/** So many days in a row that a line does not explain are another tariff. */
export const NEW_TARIFF_DAYS = 3;

/** From exact bills to those in whole cents, rounded twice. */
const TOLERANCES: readonly Micro[] = [2, 100, 1_000, 10_000, 20_000];
const WHOLE_CENT = 10_000;
/** The newest month may have no day of much or of little energy. */
const SAMPLES = [30, 90, 366];
const FEWEST_DAYS = 7;
const FEWEST_ENERGIES = 5;
/** So many days show how exactly the provider bills. */
const SURELY_BILLED_DAYS = 14;
/** One day in five may be odd. */
const ODD_DAY_WEIGHT = 4;
/** What the energy makes of the bills must stand out of the tolerance. */
const LEAST_RANGE = 20;
const LARGEST_MARGIN = 0.02;
const LARGEST_MOVE = 0.01;
/** Rounding scatters 0.3 of the tolerance; days that fill all of it are cut out of a wider scatter. */
const LARGEST_SCATTER = 0.45;
const MOST_TURNS = 12;

/** The tightest tolerance that will do; `null` when the newest days lie on no line. */
export function findTariffLine(seen: readonly BilledDay[]): TariffLine | null {
  // A day that carries others is explained later; one that used and cost nothing fits every line.
  let plain = seen.filter(
    ({ missedBefore, energy, cost }) => missedBefore === 0 && (energy !== 0 || cost !== 0),
  );
  for (const tolerance of tolerances(plain)) {
    for (const [at, size] of SAMPLES.entries()) {
      if (at > 0 && plain.length <= (SAMPLES[at - 1] ?? 0)) break;
      const found = fitNewest(plain, Math.min(size, plain.length), tolerance);
      if (typeof found === 'object' && found !== null) return found;
      // A looser tolerance would only blur the change: the days before it are done with.
      if (found !== null) plain = plain.slice(-found);
    }
  }
  return null;
}

/** Bills in whole cents, but for an odd one, cannot be told more exactly than that; some currencies have no cents. */
function tolerances(plain: readonly BilledDay[]): readonly Micro[] {
  let step = 1_000_000;
  const uneven = () => plain.filter(({ cost }) => cost % step !== 0).length;
  while (step > 1 && uneven() * (ODD_DAY_WEIGHT + 1) > plain.length) step /= 10;
  const possible = TOLERANCES.filter((tolerance) => tolerance >= Math.min(step, WHOLE_CENT));
  return step > WHOLE_CENT ? [...possible, step] : possible;
}

/** The line, or the number of days since a change that are still too few or too strange to tell the new one. */
function fitNewest(plain: readonly BilledDay[], size: number, tolerance: Micro): TariffLine | number | null {
  const sample = plain.slice(-size);
  if (size < FEWEST_DAYS) return null;
  const line = consensus(sample, tolerance);
  if (line === null) return null;
  const newer = newerTariff(sample, line, tolerance);
  if (newer === 0) return null;
  if (newer === null) return judged(grown(plain, line, tolerance), tolerance);
  // Most of the sample lies on the tariff of before: the days since then have to tell the newer one alone.
  const found = fitNewest(plain, size - newer, tolerance);
  if (found !== null) return found;
  const on = ordinary(sample.slice(0, newer), line, tolerance).length;
  return newer >= SURELY_BILLED_DAYS && on * (ODD_DAY_WEIGHT + 1) >= newer * ODD_DAY_WEIGHT
    ? size - newer
    : null;
}

/** Where the days begin that the line does not explain any more; `null` when it explains the newest ones. */
function newerTariff(sample: readonly BilledDay[], line: Line, tolerance: Micro): number | null {
  let begin: number | null = null;
  let most = NEW_TARIFF_DAYS - 1;
  let odd = 0;
  for (let at = sample.length - 1; at >= 0; at -= 1) {
    odd += fits(line, sample[at] as BilledDay, tolerance) ? -2 : 1;
    if (odd <= most) continue;
    begin = at;
    most = odd;
  }
  return begin;
}

interface Period {
  readonly line: Line;
  readonly days: readonly BilledDay[];
}

/** Follows the line back through the older days for as long as they keep to it, and makes it better by them. */
function grown(plain: readonly BilledDay[], seed: Line, tolerance: Micro): Period {
  let period: Period = { line: seed, days: [] };
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const days = plain.slice(periodStart(plain, period.line, tolerance));
    const isSettled = turn > 1 && days.length === period.days.length;
    const line = leastSquares(ordinary(days, period.line, tolerance), tolerance / 4);
    period = { line: line ?? period.line, days };
    if (isSettled || line === null) break;
  }
  return period;
}

function periodStart(plain: readonly BilledDay[], line: Line, tolerance: Micro): number {
  let start = plain.length;
  let most = 0;
  let sum = 0;
  for (let at = plain.length - 1; at >= 0; at -= 1) {
    sum += isExplained(line, plain[at] as BilledDay, tolerance) ? 1 : -ODD_DAY_WEIGHT;
    if (sum <= most) continue;
    start = at;
    most = sum;
  }
  return start;
}

function judged({ line, days }: Period, tolerance: Micro): TariffLine | null {
  const [first] = days;
  const usual = ordinary(days, line, tolerance);
  const estimate = leastSquares(usual, tolerance / 4);
  if (!first || days.length < FEWEST_DAYS || usual.length * 3 < days.length * 2) return null;
  if (estimate === null || !isSure(estimate, usual, tolerance)) return null;
  const best = simplest(estimate, usual, tolerance);
  // The fewer days, the fewer may be odd; and what looks like no standing charge may hide in the odd ones.
  const oddAllowed = best.standing <= tolerance ? days.length / 50 : days.length / (ODD_DAY_WEIGHT + 1) - 1;
  const odd = days.filter((day) => !isExplained(best, day, tolerance)).length;
  return odd <= Math.max(0, Math.floor(oddAllowed)) ? { line: best, tolerance, from: first.day } : null;
}

function isSure(estimate: Estimate, usual: readonly BilledDay[], tolerance: Micro): boolean {
  const { rate, standing, rateMargin, standingMargin, scatter } = estimate;
  const energies = new Set(usual.map(({ energy }) => energy));
  const range = (Math.max(...energies) - Math.min(...energies)) * rate;
  return (
    energies.size >= FEWEST_ENERGIES &&
    scatter <= LARGEST_SCATTER * tolerance &&
    range >= LEAST_RANGE * tolerance &&
    rateMargin <= LARGEST_MARGIN * rate &&
    standing >= -standingMargin &&
    standingMargin <= Math.max(2 * tolerance, 3 * LARGEST_MARGIN * standing)
  );
}

/** Tariffs are written with few decimals: the shortest numbers that rounding allows, or else the margins. */
function simplest(estimate: Estimate, usual: readonly BilledDay[], tolerance: Micro): Line {
  // Half a cent of bills in whole cents, and the noise of binary fractions.
  const rounding = tolerance / 2 + 0.5;
  const rates = possibleRates(usual, rounding);
  const rate = shortest(
    rates ? nearby(rates, estimate.rate) : around(estimate.rate, estimate.rateMargin / 3),
  );
  const standing = estimate.standing + (estimate.rate - rate) * estimate.meanEnergy;
  const standings = rates && possibleStandings(usual, rate, rounding);
  const [low, high] = standings ?? around(standing, estimate.meanMargin / 3);
  return { rate, standing: Math.max(0, Math.round(shortest([low / 1e6, high / 1e6]) * 1e6)) };
}

/** A few days allow many numbers: the shortest one has to stay within 1 %. */
const nearby = ([low, high]: Bounds, value: number): Bounds => [
  Math.max(low, value * (1 - LARGEST_MOVE)),
  Math.min(high, value * (1 + LARGEST_MOVE)),
];

const around = (value: number, margin: number): Bounds => [value - margin, value + margin];

function shortest([low, high]: Bounds): number {
  for (let decimals = 0; decimals < 6; decimals += 1) {
    const rounded = Number(((low + high) / 2).toFixed(decimals));
    if (low <= rounded && rounded <= high) return rounded;
  }
  return Number(((low + high) / 2).toFixed(6));
}

const ordinary = (days: readonly BilledDay[], line: Line, tolerance: Micro): BilledDay[] =>
  days.filter((day) => fits(line, day, tolerance));

const isExplained = (line: Line, day: BilledDay, tolerance: Micro): boolean =>
  fits(line, day, tolerance) || fitsWithoutCharge(line, day, tolerance);
