// Straight lines through days: cost against energy, found by consensus although some days lie elsewhere.
import type { Micro } from '../amount.ts';

export interface Point {
  readonly energy: Micro;
  readonly cost: Micro;
}

/** Cost of energy and cost of a day. */
export interface Line {
  readonly rate: number;
  readonly standing: Micro;
}

/** A line with how far off it may be: margins of three standard errors. */
export interface Estimate extends Line {
  readonly rateMargin: number;
  readonly standingMargin: Micro;
  /** The margin of the cost at the mean energy, where it is known best. */
  readonly meanMargin: Micro;
  readonly meanEnergy: Micro;
  /** Standard error of one point. */
  readonly scatter: Micro;
}

const MOST_ENDS = 16;
const MARGIN_ERRORS = 3;

export const fits = (line: Line, { energy, cost }: Point, tolerance: Micro): boolean =>
  Math.abs(cost - line.rate * energy - line.standing) <= tolerance;

/** The day was billed without its standing charge. */
export const fitsWithoutCharge = (line: Line, { energy, cost }: Point, tolerance: Micro): boolean =>
  Math.abs(cost - line.rate * energy) <= tolerance;

/**
 * The line that most points agree on, each within the tolerance; `null` when their energies do not differ. Tries lines
 * between points of little and of much energy, always the same ones.
 */
export function consensus(points: readonly Point[], tolerance: Micro): Line | null {
  const byEnergy = [...points].sort((a, b) => a.energy - b.energy);
  const half = Math.ceil(points.length / 2);
  let best: Line | null = null;
  let bestVotes = 0;
  for (const low of thinned(byEnergy.slice(0, half))) {
    for (const high of thinned(byEnergy.slice(-half))) {
      if (high.energy === low.energy) continue;
      const rate = (high.cost - low.cost) / (high.energy - low.energy);
      const line = { rate, standing: low.cost - rate * low.energy };
      if (rate <= 0 || line.standing < -tolerance) continue;
      const votes = votesFor(line, points, tolerance, bestVotes);
      if (votes > bestVotes) {
        best = line;
        bestVotes = votes;
      }
      if (bestVotes === points.length) return best;
    }
  }
  return best;
}

/** How many points lie on the line; 0 as soon as it cannot be more than there were for another. */
function votesFor(line: Line, points: readonly Point[], tolerance: Micro, before: number): number {
  let against = 0;
  for (const point of points) {
    if (fits(line, point, tolerance)) continue;
    against += 1;
    if (points.length - against <= before) return 0;
  }
  return points.length - against;
}

/** Least squares; the same amounts twice are rounded alike and count once. `null` when the energies do not differ. */
export function leastSquares(points: readonly Point[], leastScatter: Micro): Estimate | null {
  const distinct = withoutDoubles(points);
  const count = distinct.length;
  let [energies, costs] = [0, 0];
  for (const { energy, cost } of distinct) {
    energies += energy;
    costs += cost;
  }
  const meanEnergy = energies / count;
  const meanCost = costs / count;
  let squares = 0;
  let products = 0;
  for (const { energy, cost } of distinct) {
    squares += (energy - meanEnergy) ** 2;
    products += (energy - meanEnergy) * (cost - meanCost);
  }
  if (count < 3 || squares === 0) return null;
  const rate = products / squares;
  const standing = meanCost - rate * meanEnergy;
  let off = 0;
  for (const { energy, cost } of distinct) off += (cost - rate * energy - standing) ** 2;
  const scatter = Math.max(leastScatter, Math.sqrt(off / (count - 2)));
  return {
    rate,
    standing,
    rateMargin: (MARGIN_ERRORS * scatter) / Math.sqrt(squares),
    standingMargin: MARGIN_ERRORS * scatter * Math.sqrt(1 / count + meanEnergy ** 2 / squares),
    meanMargin: (MARGIN_ERRORS * scatter) / Math.sqrt(count),
    meanEnergy,
    scatter,
  };
}

function withoutDoubles(points: readonly Point[]): Point[] {
  const costs = new Map<Micro, Micro>();
  // Days of one energy and several costs are few: only they are worth a text each.
  const others = new Set<string>();
  return points.filter(({ energy, cost }) => {
    const known = costs.get(energy);
    if (known === undefined) {
      costs.set(energy, cost);
      return true;
    }
    const text = `${energy} ${cost}`;
    if (known === cost || others.has(text)) return false;
    others.add(text);
    return true;
  });
}

/** Between two numbers. */
export type Bounds = readonly [low: number, high: number];

/** The rates of all lines that pass every point within the distance; `null` when there is no such line. */
export function possibleRates(points: readonly Point[], distance: Micro): Bounds | null {
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  // Each with each, which a year makes 67,000 pairs of.
  for (const one of points) {
    for (const other of points) {
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
export function possibleStandings(points: readonly Point[], rate: number, distance: Micro): Bounds {
  const rests = points.map(({ energy, cost }) => cost - rate * energy);
  return [Math.max(...rests) - distance, Math.min(...rests) + distance];
}

/** Evenly thinned out, so that many points cost no more time than a few. */
function thinned(points: readonly Point[]): readonly Point[] {
  const step = points.length / MOST_ENDS;
  if (step <= 1) return points;
  return Array.from({ length: MOST_ENDS }, (_, at) => points[Math.floor(at * step)] as Point);
}
