// Least squares by the normal equations, and the limits of Student's distribution that go with them.

type Matrix = readonly (readonly number[])[];

/** What is known of one observation, and what it came to. */
export interface Line {
  readonly row: readonly number[];
  readonly value: number;
}

export interface LeastSquares {
  readonly coefficients: readonly number[];
  /** Covariance of the coefficients for a residual variance of 1: the inverse of X'X. */
  readonly inverse: Matrix;
  /** Sum of the squares that are left. */
  readonly squares: number;
}

/** `null`: the terms cannot be told apart. */
export const leastSquares = (lines: readonly Line[]): LeastSquares | null =>
  regression(
    (lines[0]?.row ?? []).map((_, at) => lines.map(({ row }) => row[at] as number)),
    lines.map(({ value }) => value),
  );

/** The same from a column for each term. */
export function regression(columns: Matrix, values: readonly number[]): LeastSquares | null {
  const inverse = inverted(columns.map((one) => columns.map((other) => dot(one, other))));
  if (inverse === null) return null;
  const moments = columns.map((column) => dot(column, values));
  const coefficients = inverse.map((line) => dot(line, moments));
  const squares = Math.max(0, dot(values, values) - dot(coefficients, moments));
  return { coefficients, inverse, squares };
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
