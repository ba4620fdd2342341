// Least squares by the normal equations, and the limits of Student's distribution that go with them.

export interface LeastSquares {
  readonly coefficients: readonly number[];
  /** Covariance of the coefficients for a residual variance of 1: the inverse of X'WX. */
  readonly inverse: readonly (readonly number[])[];
}

/** `null`: the terms cannot be told apart. */
export function leastSquares(
  rows: readonly (readonly number[])[],
  values: readonly number[],
  weights: readonly number[] = rows.map(() => 1),
): LeastSquares | null {
  const terms = rows[0]?.length ?? 0;
  const over = Array.from({ length: terms }, (_, one) => one);
  const sum = (of: (row: readonly number[], at: number) => number) =>
    rows.reduce((all, row, at) => all + (weights[at] ?? 0) * of(row, at), 0);
  const normal = over.map((one) => over.map((other) => sum((row) => (row[one] ?? 0) * (row[other] ?? 0))));
  const moments = over.map((one) => sum((row, at) => (row[one] ?? 0) * (values[at] ?? 0)));
  const inverse = solved(
    normal,
    over.map((one) => over.map((other) => (one === other ? 1 : 0))),
  );
  return inverse && { coefficients: inverse.map((line) => dot(line, moments)), inverse };
}

export function dot(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] as number) * (other[at] as number);
  return sum;
}

/** x' M x: the variance of a prediction, with the covariance of its coefficients. */
export const quadratic = (x: readonly number[], matrix: readonly (readonly number[])[]): number =>
  dot(
    x,
    matrix.map((line) => dot(line, x)),
  );

/** What floating point makes of a pivot that should be 0, as a share of the largest number. */
const SINGULAR = 1e-10;

/** Solves as many equations as unknowns for several right-hand sides, by Gauss and Jordan; `null`: they do not tell. */
export function solved(
  rows: readonly (readonly number[])[],
  rights: readonly (readonly number[])[],
): number[][] | null {
  const size = rows.length;
  const lines = rows.map((row, at) => [...row, ...(rights[at] ?? [])]);
  const least = SINGULAR * Math.max(...rows.flat().map(Math.abs));
  for (let at = 0; at < size; at += 1) {
    let largest = at;
    for (let row = at + 1; row < size; row += 1)
      if (Math.abs(lines[row]?.[at] ?? 0) > Math.abs(lines[largest]?.[at] ?? 0)) largest = row;
    const line = lines[largest] as number[];
    lines[largest] = lines[at] as number[];
    const pivot = line[at] as number;
    if (!(Math.abs(pivot) > least)) return null;
    lines[at] = line.map((value) => value / pivot);
    for (let row = 0; row < size; row += 1) {
      const factor = lines[row]?.[at] ?? 0;
      if (row !== at)
        lines[row] = (lines[row] ?? []).map((value, column) => value - factor * (lines[at]?.[column] ?? 0));
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
