// The line that the newest days lie on, cost against energy, and since when: the line that most days agree on (RANSAC, with lines that are
// always the same ones), and least squares through these days.
import type { Micro } from '../amount.ts';
import { dot, leastSquares } from '../leastSquares.ts';
import type { Day } from '../period.ts';

/** A day that has both energy and cost. */
export interface BilledDay {
  readonly day: Day;
  readonly energy: Micro;
  readonly cost: Micro;
  /** Days without a bill directly before it. A missed reading is booked into the next one, perhaps with its charge. */
  readonly missedBefore: number;
  /** Two readings of one day leave the next without any. */
  readonly isFollowed: boolean;
}

/** Cost of energy and cost of a day. */
interface Line {
  readonly rate: number;
  readonly standing: Micro;
}

/** A line with how far off it may be: margins of three standard errors. */
interface Estimate extends Line {
  readonly rateMargin: number;
  readonly standingMargin: Micro;
  /** The margin of the cost at the mean energy, where it is known best. */
  readonly meanMargin: Micro;
  readonly meanEnergy: Micro;
  /** Standard error of one day. */
  readonly scatter: Micro;
}

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
const FEWEST_DAYS = 7;
const FEWEST_ENERGIES = 5;
/** So many days show how exactly the provider bills. */
const SURELY_BILLED_DAYS = 14;
/** One day in five may be odd. */
const ODD_DAY_WEIGHT = 4;
/** The share of the energy in the bills must stand out of the tolerance. */
const LEAST_RANGE = 20;
const LARGEST_MARGIN = 0.02;
const LARGEST_MOVE = 0.01;
/** Rounding scatters 0.3 of the tolerance; days that fill all of it are cut out of a wider scatter. */
const LARGEST_SCATTER = 0.45;
const MOST_ENDS = 16;
const MARGIN_ERRORS = 3;

/** The tightest tolerance that will do; `null` when the newest days lie on no line. */
export function findTariffLine(seen: readonly BilledDay[]): TariffLine | null {
  // A day that carries others is explained later; one that used and cost nothing fits every line.
  let plain = seen.filter(
    ({ missedBefore, energy, cost }) => missedBefore === 0 && (energy !== 0 || cost !== 0),
  );
  for (const tolerance of tolerances(plain)) {
    const found = fitNewest(plain, tolerance);
    if (typeof found === 'object' && found !== null) return found;
    // A looser tolerance would only blur the change: the days before it are done with.
    if (found !== null) plain = plain.slice(-found);
  }
  return null;
}

/** Bills in whole cents, but for an odd one, cannot be told more exactly than that; some currencies have no cents. */
function tolerances(plain: readonly BilledDay[]): readonly Micro[] {
  const step = stepOf(plain.map(({ cost }) => cost));
  const possible = TOLERANCES.filter((tolerance) => tolerance >= Math.min(step, WHOLE_CENT));
  return step > WHOLE_CENT ? [...possible, step] : possible;
}

/** The coarsest power of ten up to a unit that nearly all amounts are multiples of: what they are rounded to. */
export function stepOf(amounts: readonly Micro[]): Micro {
  let step = 1_000_000;
  const uneven = () => amounts.filter((amount) => amount % step !== 0).length;
  while (step > 1 && uneven() * (ODD_DAY_WEIGHT + 1) > amounts.length) step /= 10;
  return step;
}

/** The line, or the number of days since a change that are still too few or too strange to tell the new one. */
function fitNewest(days: readonly BilledDay[], tolerance: Micro): TariffLine | number | null {
  if (days.length < FEWEST_DAYS) return null;
  const line = consensus(days, tolerance);
  if (line === null) return null;
  // The first of the days that the line does not explain any more.
  const isOff = (day: BilledDay) => (fits(line, day, tolerance) ? -2 : 1);
  const newer = newestStretch(days, isOff, NEW_TARIFF_DAYS - 1);
  // Of several tariffs the one of most days may have ended: the newer half has to tell its own.
  if (newer === 0) return fitNewest(days.slice(Math.ceil(days.length / 2)), tolerance);
  if (newer === days.length) return judged(days, line, tolerance);
  // Most of the days lie on the tariff of before: those since then have to tell the newer one alone.
  const since = days.slice(newer);
  const found = fitNewest(since, tolerance);
  if (found !== null) return found;
  const on = ordinary(days.slice(0, newer), line, tolerance).length;
  return newer >= SURELY_BILLED_DAYS && on * (ODD_DAY_WEIGHT + 1) >= newer * ODD_DAY_WEIGHT
    ? since.length
    : null;
}

/** The beginning of the newest days whose weights add up to most; the end of all if that is not above `least`. */
function newestStretch(days: readonly BilledDay[], weight: (day: BilledDay) => number, least = 0): number {
  let start = days.length;
  let most = least;
  let sum = 0;
  for (let at = days.length - 1; at >= 0; at -= 1) {
    sum += weight(days[at] as BilledDay);
    if (sum <= most) continue;
    start = at;
    most = sum;
  }
  return start;
}

/** The line again by all days that agree on it, as far back as they do, where that tells it surely. */
function judged(all: readonly BilledDay[], seed: Line, tolerance: Micro): TariffLine | null {
  const weight = (day: BilledDay) => (isExplained(seed, day, tolerance) ? 1 : -ODD_DAY_WEIGHT);
  const days = all.slice(newestStretch(all, weight));
  const usual = ordinary(days, seed, tolerance);
  const estimate = estimateOf(usual, tolerance / 4);
  const [first] = days;
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

const fits = (line: Line, { energy, cost }: BilledDay, tolerance: Micro): boolean =>
  Math.abs(cost - line.rate * energy - line.standing) <= tolerance;

/** The last one: a day that was billed without its standing charge. */
const isExplained = (line: Line, day: BilledDay, tolerance: Micro): boolean =>
  fits(line, day, tolerance) || fits({ ...line, standing: 0 }, day, tolerance);

/**
 * The line that most days agree on, each within the tolerance; `null` when their energies do not differ. Tries lines
 * between days of little and of much energy, always the same ones.
 */
function consensus(days: readonly BilledDay[], tolerance: Micro): Line | null {
  const byEnergy = [...days].sort((a, b) => a.energy - b.energy);
  const half = Math.ceil(days.length / 2);
  let best: Line | null = null;
  let bestVotes = 0;
  for (const low of thinned(byEnergy.slice(0, half))) {
    for (const high of thinned(byEnergy.slice(-half))) {
      if (high.energy === low.energy) continue;
      const rate = (high.cost - low.cost) / (high.energy - low.energy);
      const line = { rate, standing: low.cost - rate * low.energy };
      if (rate <= 0 || line.standing < -tolerance) continue;
      let votes = days.length;
      for (const day of days) {
        if (!fits(line, day, tolerance)) votes -= 1;
        if (votes <= bestVotes) break;
      }
      if (votes <= bestVotes) continue;
      best = line;
      bestVotes = votes;
      if (votes === days.length) return best;
    }
  }
  return best;
}

/** Evenly thinned out, so that many days cost no more time than a few. */
function thinned(days: readonly BilledDay[]): readonly BilledDay[] {
  const step = days.length / MOST_ENDS;
  if (step <= 1) return days;
  return Array.from({ length: MOST_ENDS }, (_, at) => days[Math.floor(at * step)] as BilledDay);
}

/** Least squares; the same amounts twice are rounded alike and count once. `null` when the energies do not differ. */
function estimateOf(days: readonly BilledDay[], leastScatter: Micro): Estimate | null {
  const distinct = [...new Map(days.map((day) => [`${day.energy} ${day.cost}`, day])).values()];
  const energies = distinct.map(({ energy }) => energy);
  const meanEnergy = energies.reduce((all, energy) => all + energy, 0) / distinct.length;
  const columns = [distinct.map(() => 1), energies.map((energy) => energy - meanEnergy)];
  const costs = distinct.map(({ cost }) => cost);
  const line = distinct.length < 3 ? null : leastSquares(columns, costs);
  if (line === null) return null;
  const [meanCost, rate] = line.coefficients as [number, number];
  const [ofMean, ofRate] = line.inverse.map((row, at) => row[at]) as [number, number];
  const scatter = Math.max(
    leastScatter,
    Math.sqrt(dot(line.residuals, line.residuals) / (distinct.length - 2)),
  );
  const margin = MARGIN_ERRORS * scatter;
  return {
    rate,
    standing: meanCost - rate * meanEnergy,
    rateMargin: margin * Math.sqrt(ofRate),
    standingMargin: margin * Math.sqrt(ofMean + meanEnergy ** 2 * ofRate),
    meanMargin: margin * Math.sqrt(ofMean),
    meanEnergy,
    scatter,
  };
}

/** Between two numbers. */
type Bounds = readonly [low: number, high: number];

/** The rates of all lines that pass every point within the distance; `null` when there is no such line. */
function possibleRates(days: readonly BilledDay[], distance: Micro): Bounds | null {
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  // Each with each, which a year makes 67,000 pairs of.
  for (const one of days) {
    for (const other of days) {
      if (other === one) break;
      const sign = one.energy < other.energy ? -1 : 1;
      const energy = sign * (one.energy - other.energy);
      const cost = sign * (one.cost - other.cost);
      if (energy === 0 && Math.abs(cost) > 2 * distance) return null;
      if (energy === 0) continue;
      low = Math.max(low, (cost - 2 * distance) / energy);
      high = Math.min(high, (cost + 2 * distance) / energy);
    }
  }
  return low <= high && high < Number.POSITIVE_INFINITY ? [low, high] : null;
}

/** The standing charges that go with one of those rates. */
function possibleStandings(days: readonly BilledDay[], rate: number, distance: Micro): Bounds {
  const rests = days.map(({ energy, cost }) => cost - rate * energy);
  return [Math.max(...rests) - distance, Math.min(...rests) + distance];
}
