// Robust statistics of plain numbers.

/** The standard deviation of normal noise is this times its median absolute deviation. */
const PER_MEDIAN_DEVIATION = 1.4826;

export const inOrder = (values: readonly number[]): Float64Array => Float64Array.from(values).sort();

export function median(values: readonly number[]): number {
  const sorted = inOrder(values);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

/** The standard deviation of residuals, as if those far off were none. */
export const robustDeviation = (residuals: readonly number[]): number =>
  PER_MEDIAN_DEVIATION * median(residuals.map(Math.abs));

export const meanOf = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((sum, one) => sum + of(one), 0) / all.length;
