// Robust statistics of plain numbers.

/** A median absolute deviation of normal noise times this is its standard deviation. */
const NORMAL_PER_DEVIATION = 1.4826;

/** The value below which this share of them lies; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
}

export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = values.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

/** The median absolute deviation from the median, as the standard deviation of normal noise. */
export function medianDeviation(values: readonly number[], middle = median(values)): number {
  return NORMAL_PER_DEVIATION * median(values.map((value) => Math.abs(value - middle)));
}

export const meanOf = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((sum, one) => sum + of(one), 0) / all.length;
