// Least squares by the normal equations, the limits of Student's distribution that go with them, and medians.

type Matrix = readonly (readonly number[])[];

/** What is known of one observation, and what it came to. */
export interface Line {
  readonly row: readonly number[];
  readonly value: number;
}

/**
 * `inverse`: the covariance of the coefficients for a residual variance of 1; `squares`: the weighted sum of those that are left. `null`:
 * the terms cannot be told apart.
 */
export function leastSquares(lines: readonly Line[], weights?: readonly number[]) {
  const terms = lines[0]?.row ?? [];
  const moments = terms.map(() => terms.map(() => 0));
  const products = terms.map(() => 0);
  let squares = 0;
  for (const [at, { row, value }] of lines.entries()) {
    const weight = weights?.[at] ?? 1;
    for (let term = 0; term < row.length; term += 1)
      addTo(moments[term] as number[], weight * (row[term] as number), row);
    addTo(products, weight * value, row);
    squares += weight * value ** 2;
  }
  const inverse = inverted(moments);
  if (inverse === null) return null;
  const coefficients = inverse.map((line) => dot(line, products));
  return { coefficients, inverse, squares: Math.max(0, squares - dot(coefficients, products)) };
}

/** Huber's constant: 95 % efficient for normal noise. */
const HUBER = 1.345;
/** Until the weights no longer change. */
const HUBER_ROUNDS = 4;

/** Huber's M-estimate by iterated weights; `scatter`: by the median deviation of the residuals. */
export function huber(lines: readonly Line[]) {
  let fit = leastSquares(lines);
  for (let round = 1; fit !== null; round += 1) {
    const { coefficients } = fit;
    const residuals = lines.map((line) => residual(line, coefficients));
    const scatter = medianDeviation(residuals, 0) || Number.MIN_VALUE;
    const weights = residuals.map((one) => Math.min(1, (HUBER * scatter) / Math.abs(one)));
    const next = round < HUBER_ROUNDS ? leastSquares(lines, weights) : null;
    if (next === null) return { ...fit, residuals, scatter };
    fit = next;
  }
  return null;
}

export const residual = ({ row, value }: Line, coefficients: readonly number[]): number =>
  value - dot(row, coefficients);

export function dot(one: readonly number[], other: readonly number[]): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] as number) * (other[at] as number);
  return sum;
}

/** x' M x: the variance of a prediction, with the covariance of its coefficients. */
export const quadratic = (x: readonly number[], matrix: Matrix): number =>
  dot(
    x,
    matrix.map((line) => dot(line, x)),
  );

/** Adds a multiple of other terms, in place. */
export function addTo(sum: number[], factor: number, terms: readonly number[]): void {
  for (let at = 0; at < sum.length; at += 1) sum[at] = (sum[at] as number) + factor * (terms[at] as number);
}

/** What floating point leaves of a square that others explain, as a share of it. */
const SINGULAR = 1e-10;

/** Gauss and Jordan; sums of squares and products need no pivoting. */
function inverted(matrix: Matrix): Matrix | null {
  const lines = matrix.map((line, at) => [...line, ...line.map((_, other) => Number(at === other))]);
  for (const [at, line] of lines.entries()) {
    const pivot = line[at] as number;
    if (!(pivot > SINGULAR * (matrix[at]?.[at] as number))) return null;
    addTo(line, 1 / pivot - 1, line);
    for (const other of lines) if (other !== line) addTo(other, -(other[at] as number), line);
  }
  return lines.map((line) => line.slice(matrix.length));
}

/** Student's quantile from that of the normal distribution, by the expansion of Cornish and Fisher. */
export const student = (z: number, freedom: number): number =>
  z +
  (z ** 3 + z) / (4 * freedom) +
  (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
  (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3);

/** Four of five normal errors are smaller than so many standard deviations: the bands of 80 %. */
export const BAND = 1.2816;

/** A median absolute deviation of normal noise times this is its standard deviation. */
export const NORMAL_PER_DEVIATION = 1.4826;

/** The upper one of two in the middle; 0 of none. */
export function median(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[sorted.length >> 1] ?? 0;
}

/** The median absolute deviation from the center, as the standard deviation of normal noise. */
export const medianDeviation = (values: readonly number[], center: number): number =>
  NORMAL_PER_DEVIATION * median(values.map((value) => Math.abs(value - center)));

export const meanOf = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((sum, one) => sum + of(one), 0) / all.length;
