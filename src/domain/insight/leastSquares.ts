// Least squares by the normal equations, and the limits of Student's distribution that go with them.

type Matrix = readonly (readonly number[])[];

export interface LeastSquares {
  readonly coefficients: readonly number[];
  /** Covariance of the coefficients for a residual variance of 1: the inverse of X'X. */
  readonly inverse: Matrix;
}

/** `null`: the terms cannot be told apart. */
export function leastSquares(
  lines: readonly { readonly row: readonly number[]; readonly value: number }[],
): LeastSquares | null {
  const columns = (lines[0]?.row ?? []).map((_, at) => lines.map(({ row }) => row[at] ?? 0));
  const values = lines.map(({ value }) => value);
  const inverse = solved(
    columns.map((one, at) => [
      ...columns.map((other) => dot(one, other)),
      ...columns.map((_, other) => Number(at === other)),
    ]),
  );
  const moments = columns.map((column) => dot(column, values));
  return inverse && { coefficients: inverse.map((line) => dot(line, moments)), inverse };
}

export function dot(one: ArrayLike<number>, other: ArrayLike<number>): number {
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

/** What floating point makes of a pivot that should be 0, as a share of the largest number. */
const SINGULAR = 1e-10;

/**
 * Solves as many equations as unknowns for all right-hand sides, which follow the factors in each line, by Gauss and
 * Jordan; `null`: they do not tell.
 */
export function solved(equations: Matrix): number[][] | null {
  const lines = equations.map((line) => [...line]);
  const size = lines.length;
  let largest = 0;
  for (const line of lines)
    for (let at = 0; at < size; at += 1) largest = Math.max(largest, Math.abs(line[at] ?? 0));
  for (let at = 0; at < size; at += 1) {
    let pivot = at;
    for (let other = at + 1; other < size; other += 1)
      if (Math.abs(lines[other]?.[at] ?? 0) > Math.abs(lines[pivot]?.[at] ?? 0)) pivot = other;
    const line = lines[pivot] as number[];
    lines[pivot] = lines[at] as number[];
    lines[at] = line;
    const divisor = line[at] as number;
    if (!(Math.abs(divisor) > SINGULAR * largest)) return null;
    for (let column = at; column < line.length; column += 1)
      line[column] = (line[column] as number) / divisor;
    for (const other of lines) {
      const factor = other[at] as number;
      if (other === line) continue;
      for (let column = at; column < line.length; column += 1)
        other[column] = (other[column] as number) - factor * (line[column] as number);
    }
  }
  return lines.map((line) => line.slice(size));
}

/** Student's quantile from that of the normal distribution, by the expansion of Cornish and Fisher. */
export function student(z: number, freedom: number): number {
  const [a, b, c] = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
  ];
  return z + a / freedom + b / freedom ** 2 + c / freedom ** 3;
}
