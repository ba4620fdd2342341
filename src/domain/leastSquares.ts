// Sums, means and medians, least squares by the normal equations, and the limits of Student's distribution.

/** The values of one term, or of what the terms explain, observation by observation. */
type Column = readonly number[];
type Matrix = readonly Column[];

/**
 * `columns`: one for each term. `inverse`: the covariance of the coefficients for a residual variance of 1. `null`: the terms cannot be
 * told apart.
 */
export function leastSquares(columns: Matrix, values: Column) {
  const inverse = inverted(columns.map((column) => columns.map((other) => dot(column, other))));
  if (inverse === null) return null;
  const products = columns.map((column) => dot(column, values));
  const coefficients = inverse.map((line) => dot(line, products));
  const residuals = [...values];
  for (const [term, column] of columns.entries()) addTo(residuals, -(coefficients[term] as number), column);
  return { coefficients, inverse, residuals };
}

export function dot(one: Column, other: Column): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] as number) * (other[at] as number);
  return sum;
}

/** x' M x: the variance of a prediction, with the covariance of its coefficients. */
export const quadratic = (x: Column, matrix: Matrix): number =>
  dot(
    x,
    matrix.map((line) => dot(line, x)),
  );

/** Adds a multiple of other terms, in place. */
export function addTo(sum: number[], factor: number, terms: Column): void {
  for (let at = 0; at < sum.length; at += 1) sum[at] = (sum[at] as number) + factor * (terms[at] as number);
}

/** The rounding error of a square that others explain, as a share of it. */
const SINGULAR = 1e-10;

/** Gauss and Jordan; sums of squares and products need no pivoting. */
function inverted(matrix: Matrix): Matrix | null {
  const lines = matrix.map((line, at) => [...line, ...line.map((_, other) => Number(at === other))]);
  for (const [at, line] of lines.entries()) {
    const pivot = line[at] as number;
    if (!(pivot > SINGULAR * (matrix[at]?.[at] as number))) return null;
    const scaled = line.map((entry) => entry / pivot);
    for (const target of lines) addTo(target, -(target[at] as number), scaled);
    lines[at] = scaled;
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
export function median(values: Column): number {
  const sorted = new Float64Array(values).sort();
  return sorted[sorted.length >> 1] ?? 0;
}

/** The median absolute deviation from the center, as the standard deviation of normal noise. */
export const medianDeviation = (values: Column, center: number): number =>
  NORMAL_PER_DEVIATION * median(values.map((value) => Math.abs(value - center)));

export const sumBy = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0);

export const meanOf = <T>(items: readonly T[], of: (item: T) => number): number =>
  sumBy(items, of) / items.length;
