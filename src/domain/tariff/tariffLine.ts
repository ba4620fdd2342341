// The line that the newest days lie on, cost against energy, and since when. The line that most days agree on tells which days these are (RANSAC,
// Fischler and Bolles, 1981, with the same lines each time). All lines that pass each of these within its rounding are its bounds
// (set-membership estimation, Milanese and Vicino, 1991).
import { inFull, type Micro, toMicro } from '../amount.ts';
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

interface TariffLine extends Line {
  /** The largest error of the numbers if rounding is all that moves a day. */
  readonly rateMargin: number;
  readonly standingMargin: Micro;
  /** A day that the line explains is no further off it. */
  readonly tolerance: Micro;
  /** The first day on it. */
  readonly from: Day;
}

type Bounds = readonly [low: number, high: number];

/** Another tariff has begun if a line does not explain so many days in a row. */
export const NEW_TARIFF_DAYS = 3;

/** Bills may be exact, or in whole cents and rounded twice. */
const TOLERANCES: readonly Micro[] = [2, 100, 1_000, 10_000, 20_000];
const WHOLE_CENT = 10_000;
const FEWEST_DAYS = 7;
/** The provider's rounding shows in so many days. */
const SURELY_BILLED_DAYS = 14;
/** One day in five may be odd. */
const ODD_DAY_WEIGHT = 4;
/** One of fifty days may lack a standing charge that is as small as rounding. */
const DAYS_TO_HIDE_CHARGE = 50;
/** The tariff is told when its rate may be off by no more than such a share of it, and its standing charge by three times that. */
const LARGEST_DOUBT = 0.02;
const MOST_ENDS = 16;
const MOST_DECIMALS = 6;

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
  // The line that most days are on may be that of a tariff that has ended: the newer half has to tell its own.
  if (changedAt === 0) return fitNewest(days.slice(Math.ceil(days.length / 2)), tolerance);
  if (changedAt === days.length) return refined(days, line, tolerance);
  const since = days.slice(changedAt);
  const newest = fitNewest(since, tolerance);
  if (newest !== null) return newest;
  return changedAt >= SURELY_BILLED_DAYS ? since.length : null;
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
function refined(billed: readonly BilledDay[], agreed: Line, tolerance: Micro): TariffLine | null {
  const weight = (day: BilledDay) => (isExplained(agreed, day, tolerance) ? 1 : -ODD_DAY_WEIGHT);
  const days = billed.slice(newestStretch(billed, weight));
  const [first] = days;
  const onLine = days.filter((day) => isOn(agreed, day, tolerance));
  if (!first || days.length < FEWEST_DAYS || onLine.length * 3 < days.length * 2) return null;
  // Half a cent of bills in whole cents, and the noise of binary fractions.
  const line = lineWithin(onLine, tolerance / 2 + 0.5);
  if (line === null || !isSure(line, tolerance)) return null;
  // The fewer days, the fewer may be odd; and what looks like no standing charge may hide in the odd ones.
  const oddAllowed =
    line.standing <= tolerance ? days.length / DAYS_TO_HIDE_CHARGE : days.length / (ODD_DAY_WEIGHT + 1) - 1;
  const odd = days.filter((day) => !isExplained(line, day, tolerance)).length;
  if (odd > Math.max(0, Math.floor(oddAllowed))) return null;
  return { ...line, tolerance, from: first.day };
}

type BoundedLine = Pick<TariffLine, 'rate' | 'standing' | 'rateMargin' | 'standingMargin'>;

const isSure = ({ rate, rateMargin, standing, standingMargin }: BoundedLine, tolerance: Micro): boolean =>
  rateMargin <= LARGEST_DOUBT * rate &&
  standingMargin <= Math.max(2 * tolerance, 3 * LARGEST_DOUBT * standing);

/** The line of the shortest numbers that passes every day within the distance; `null`: there is none. */
function lineWithin(days: readonly BilledDay[], distance: Micro): BoundedLine | null {
  const rates = possibleRates(days, distance);
  if (rates === null) return null;
  const rate = shortest(rates);
  const [low, high] = possibleStandings(days, [rate, rate], distance);
  const standing = Math.max(0, toMicro(shortest([inFull(low), inFull(high)])));
  return {
    rate,
    standing,
    rateMargin: farthest(rates, rate),
    standingMargin: farthest(possibleStandings(days, rates, distance), standing),
  };
}

const farthest = ([low, high]: Bounds, value: number): number => Math.max(high - value, value - low);

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

/** A day may be billed without its standing charge. */
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

/** The rates of all lines that pass every day within the distance; `null` when there is no such line. */
function possibleRates(days: readonly BilledDay[], distance: Micro): Bounds | null {
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  // Each with each, which a year makes 67,000 pairs of.
  for (const later of days) {
    for (const earlier of days) {
      if (earlier === later) break;
      const sign = later.energy < earlier.energy ? -1 : 1;
      const energy = sign * (later.energy - earlier.energy);
      const cost = sign * (later.cost - earlier.cost);
      if (energy === 0 && Math.abs(cost) > 2 * distance) return null;
      if (energy === 0) continue;
      low = Math.max(low, (cost - 2 * distance) / energy);
      high = Math.min(high, (cost + 2 * distance) / energy);
    }
  }
  return low <= high && high < Number.POSITIVE_INFINITY ? [low, high] : null;
}

/** The standing charges that go with these rates: the more energy costs, the less a day does. */
function possibleStandings(days: readonly BilledDay[], [low, high]: Bounds, distance: Micro): Bounds {
  const standings = (rate: number) => days.map(({ energy, cost }) => cost - rate * energy);
  return [Math.max(...standings(high)) - distance, Math.min(...standings(low)) + distance];
}
