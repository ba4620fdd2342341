// Robust statistics of plain numbers.

/** Four of five normal errors are smaller than so many standard deviations: the bands of 80 %. */
export const BAND = 1.2816;

/** A median absolute deviation of normal noise times this is its standard deviation. */
const NORMAL_PER_DEVIATION = 1.4826;

/** The value below which this share of them lies; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
}

export const median = (values: ArrayLike<number>): number => middle(Float64Array.from(values));

/** The median absolute deviation from the center, as the standard deviation of normal noise. */
export const medianDeviation = (values: ArrayLike<number>, center = median(values)): number =>
  NORMAL_PER_DEVIATION * middle(Float64Array.from(values, (value) => Math.abs(value - center)));

function middle(values: Float64Array): number {
  values.sort();
  const half = values.length / 2;
  return ((values[Math.ceil(half) - 1] ?? 0) + (values[Math.floor(half)] ?? 0)) / 2;
}

export const meanOf = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((sum, one) => sum + of(one), 0) / all.length;
