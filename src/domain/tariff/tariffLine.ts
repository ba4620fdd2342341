// The line that the newest days lie on, cost against energy, and since when. The line that most days agree on tells which days these are (RANSAC,
// Fischler and Bolles, 1981, with the same lines each time), least squares through them how sure it is, and their rounding its numbers.
import { inFull, type Micro, toMicro } from '../amount.ts';
import { dot, leastSquares, student } from '../leastSquares.ts';
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

export interface TariffLine extends Line {
  /** Half-widths of the intervals that hold the true numbers 95 times of a hundred. */
  readonly rateMargin: number;
  readonly standingMargin: Micro;
  /** How far off it a day may be that it explains. */
  readonly tolerance: Micro;
  /** The first day on it. */
  readonly from: Day;
}

/** The line of least squares and its standard errors. */
interface Regression extends Line {
  readonly rateError: number;
  readonly standingError: Micro;
  /** That of the cost at the mean energy, where it is known best. */
  readonly meanError: Micro;
  readonly meanEnergy: Micro;
  /** The standard deviation of a day. */
  readonly scatter: Micro;
  readonly freedom: number;
}

type Bounds = readonly [low: number, high: number];

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
/** One of fifty days may lack a standing charge that is as small as rounding. */
const DAYS_TO_HIDE_CHARGE = 50;
/** The share of the energy in the bills must stand out of the tolerance. */
const LEAST_RANGE = 20;
const SURE_ERRORS = 3;
/** Shares of the rate, by which it may be off, and by which a shorter number may be. */
const LARGEST_DOUBT = 0.02;
const LARGEST_MOVE = 0.01;
/** Rounding scatters 0.3 of the tolerance; days that fill all of it are cut out of a wider scatter. */
const LEAST_SCATTER = 0.25;
const LARGEST_SCATTER = 0.45;
const MOST_ENDS = 16;
const MOST_DECIMALS = 6;
/** Two-sided 95 %. */
const MARGIN = 1.96;

/** The tightest tolerance that will do; `null` when the newest days lie on no line. */
export function findTariffLine(billed: readonly BilledDay[]): TariffLine | null {
  // A day that carries others is explained later; one that used and cost nothing fits every line.
  let days = billed.filter(
    ({ missedBefore, energy, cost }) => missedBefore === 0 && (energy !== 0 || cost !== 0),
  );
  for (const tolerance of tolerancesOf(days)) {
    const newest = fitNewest(days, tolerance);
    if (newest === null) continue;
    if (typeof newest !== 'number') return newest;
    // A looser tolerance would only blur the change: the days before it are done with.
    days = days.slice(-newest);
  }
  return null;
}

/** Bills in whole cents, but for an odd one, cannot be told more exactly than that; some currencies have no cents. */
function tolerancesOf(days: readonly BilledDay[]): readonly Micro[] {
  const step = stepOf(days.map(({ cost }) => cost));
  const possible = TOLERANCES.filter((tolerance) => tolerance >= Math.min(step, WHOLE_CENT));
  return step > WHOLE_CENT ? [...possible, step] : possible;
}

/** The coarsest power of ten up to a unit that nearly all amounts are multiples of: what they are rounded to. */
export function stepOf(amounts: readonly Micro[]): Micro {
  let step = toMicro(1);
  const uneven = () => amounts.filter((amount) => amount % step !== 0).length;
  while (step > 1 && uneven() * (ODD_DAY_WEIGHT + 1) > amounts.length) step /= 10;
  return step;
}

/** The line; or the number of days since a change that are still too few or too strange to tell the new one. */
function fitNewest(days: readonly BilledDay[], tolerance: Micro): TariffLine | number | null {
  if (days.length < FEWEST_DAYS) return null;
  const line = consensus(days, tolerance);
  if (line === null) return null;
  const isOff = (day: BilledDay) => (isOn(line, day, tolerance) ? -2 : 1);
  const changedAt = newestStretch(days, isOff, NEW_TARIFF_DAYS - 1);
  // Of several tariffs the one of most days may have ended: the newer half has to tell its own.
  if (changedAt === 0) return fitNewest(days.slice(Math.ceil(days.length / 2)), tolerance);
  if (changedAt === days.length) return refined(days, line, tolerance);
  const since = days.slice(changedAt);
  const newest = fitNewest(since, tolerance);
  if (newest !== null) return newest;
  const before = days.slice(0, changedAt).filter((day) => isOn(line, day, tolerance));
  const hadTariff = before.length * (ODD_DAY_WEIGHT + 1) >= changedAt * ODD_DAY_WEIGHT;
  return changedAt >= SURELY_BILLED_DAYS && hadTariff ? since.length : null;
}

/** The beginning of the newest days whose weights add up to most; the end of all if that is not above `least`. */
function newestStretch(days: readonly BilledDay[], weight: (day: BilledDay) => number, least = 0): number {
  let start = days.length;
  let most = least;
  let sum = 0;
  for (const [at, day] of [...days.entries()].reverse()) {
    sum += weight(day);
    if (sum <= most) continue;
    start = at;
    most = sum;
  }
  return start;
}

/** The line again by all days that agree on it, as far back as they do, where that tells it surely. */
function refined(all: readonly BilledDay[], agreed: Line, tolerance: Micro): TariffLine | null {
  const weight = (day: BilledDay) => (isExplained(agreed, day, tolerance) ? 1 : -ODD_DAY_WEIGHT);
  const days = all.slice(newestStretch(all, weight));
  const [first] = days;
  const onLine = days.filter((day) => isOn(agreed, day, tolerance));
  if (!first || days.length < FEWEST_DAYS || onLine.length * 3 < days.length * 2) return null;
  const regression = regressionOf(onLine, LEAST_SCATTER * tolerance);
  if (regression === null || !isSure(regression, onLine, tolerance)) return null;
  const line = inShortNumbers(regression, onLine, tolerance);
  // The fewer days, the fewer may be odd; and what looks like no standing charge may hide in the odd ones.
  const oddAllowed =
    line.standing <= tolerance ? days.length / DAYS_TO_HIDE_CHARGE : days.length / (ODD_DAY_WEIGHT + 1) - 1;
  const odd = days.filter((day) => !isExplained(line, day, tolerance)).length;
  if (odd > Math.max(0, Math.floor(oddAllowed))) return null;
  const errors = student(MARGIN, regression.freedom);
  return {
    ...line,
    rateMargin: Math.abs(line.rate - regression.rate) + errors * regression.rateError,
    standingMargin: Math.abs(line.standing - regression.standing) + errors * regression.standingError,
    tolerance,
    from: first.day,
  };
}

function isSure(line: Regression, days: readonly BilledDay[], tolerance: Micro): boolean {
  const { rate, standing, scatter } = line;
  const energies = new Set(days.map(({ energy }) => energy));
  const range = (Math.max(...energies) - Math.min(...energies)) * rate;
  const rateDoubt = SURE_ERRORS * line.rateError;
  const standingDoubt = SURE_ERRORS * line.standingError;
  return (
    energies.size >= FEWEST_ENERGIES &&
    scatter <= LARGEST_SCATTER * tolerance &&
    range >= LEAST_RANGE * tolerance &&
    rateDoubt <= LARGEST_DOUBT * rate &&
    standing >= -standingDoubt &&
    standingDoubt <= Math.max(2 * tolerance, 3 * LARGEST_DOUBT * standing)
  );
}

/** Tariffs are written with few decimals: the shortest numbers that rounding allows, or else the standard errors. */
function inShortNumbers(regression: Regression, days: readonly BilledDay[], tolerance: Micro): Line {
  // Half a cent of bills in whole cents, and the noise of binary fractions.
  const rounding = tolerance / 2 + 0.5;
  const rates = possibleRates(days, rounding);
  const rate = rates
    ? shortest(within(rates, around(regression.rate, LARGEST_MOVE * regression.rate)))
    : shortest(around(regression.rate, regression.rateError));
  const standing = regression.standing + (regression.rate - rate) * regression.meanEnergy;
  const [low, high] = rates
    ? possibleStandings(days, rate, rounding)
    : around(standing, regression.meanError);
  return { rate, standing: Math.max(0, toMicro(shortest([inFull(low), inFull(high)]))) };
}

const around = (value: number, distance: number): Bounds => [value - distance, value + distance];

const within = (one: Bounds, other: Bounds): Bounds => [
  Math.max(one[0], other[0]),
  Math.min(one[1], other[1]),
];

/** The number of fewest decimals between the two. */
function shortest([low, high]: Bounds): number {
  const middle = (low + high) / 2;
  for (let decimals = 0; decimals < MOST_DECIMALS; decimals += 1) {
    const rounded = Number(middle.toFixed(decimals));
    if (low <= rounded && rounded <= high) return rounded;
  }
  return Number(middle.toFixed(MOST_DECIMALS));
}

const isOn = (line: Line, { energy, cost }: BilledDay, tolerance: Micro): boolean =>
  Math.abs(cost - line.rate * energy - line.standing) <= tolerance;

/** On the line, or billed without its standing charge. */
const isExplained = (line: Line, day: BilledDay, tolerance: Micro): boolean =>
  isOn(line, day, tolerance) || isOn({ ...line, standing: 0 }, day, tolerance);

/** RANSAC: of the lines between days of little and of much energy the one that most days agree on. `null`: their energies do not differ. */
function consensus(days: readonly BilledDay[], tolerance: Micro): Line | null {
  const byEnergy = [...days].sort((a, b) => a.energy - b.energy);
  const half = Math.ceil(days.length / 2);
  let best: Line | null = null;
  let fewestOff = days.length;
  for (const low of thinned(byEnergy.slice(0, half))) {
    for (const high of thinned(byEnergy.slice(-half))) {
      const line = lineThrough(low, high);
      if (line === null || line.rate <= 0 || line.standing < -tolerance) continue;
      const off = daysOff(line, days, tolerance, fewestOff);
      if (off >= fewestOff) continue;
      if (off === 0) return line;
      best = line;
      fewestOff = off;
    }
  }
  return best;
}

function lineThrough(low: BilledDay, high: BilledDay): Line | null {
  if (high.energy === low.energy) return null;
  const rate = (high.cost - low.cost) / (high.energy - low.energy);
  return { rate, standing: low.cost - rate * low.energy };
}

/** Days that are not on the line, counted up to `most`. */
function daysOff(line: Line, days: readonly BilledDay[], tolerance: Micro, most: number): number {
  let off = 0;
  for (const day of days) {
    if (!isOn(line, day, tolerance)) off += 1;
    if (off >= most) break;
  }
  return off;
}

/** Evenly thinned out, so that many days cost no more time than a few. */
function thinned(days: readonly BilledDay[]): readonly BilledDay[] {
  const count = Math.min(days.length, MOST_ENDS);
  return Array.from({ length: count }, (_, at) => days[Math.floor((at * days.length) / count)] as BilledDay);
}

/** Least squares; the same amounts twice are rounded alike and count once. `null` when the energies do not differ. */
function regressionOf(days: readonly BilledDay[], leastScatter: Micro): Regression | null {
  const distinct = [...new Map(days.map((day) => [`${day.energy} ${day.cost}`, day])).values()];
  const freedom = distinct.length - 2;
  const energies = distinct.map(({ energy }) => energy);
  const meanEnergy = energies.reduce((sum, energy) => sum + energy, 0) / distinct.length;
  const columns = [distinct.map(() => 1), energies.map((energy) => energy - meanEnergy)];
  const costs = distinct.map(({ cost }) => cost);
  const fit = freedom < 1 ? null : leastSquares(columns, costs);
  if (fit === null) return null;
  const [meanCost, rate] = fit.coefficients as [number, number];
  const scatter = Math.max(leastScatter, Math.sqrt(dot(fit.residuals, fit.residuals) / freedom));
  const [meanError, rateError] = fit.inverse.map((row, at) => scatter * Math.sqrt(row[at] as number)) as [
    number,
    number,
  ];
  return {
    rate,
    standing: meanCost - rate * meanEnergy,
    rateError,
    standingError: Math.hypot(meanError, meanEnergy * rateError),
    meanError,
    meanEnergy,
    scatter,
    freedom,
  };
}

/** The rates of all lines that pass every day within the distance; `null` when there is no such line. */
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
  const standings = days.map(({ energy, cost }) => cost - rate * energy);
  return [Math.max(...standings) - distance, Math.min(...standings) + distance];
}
