// Robust statistics of plain numbers.

/** Four of five normal errors are smaller than so many standard deviations: the bands of 80 %. */
export const BAND = 1.2816;

/** A median absolute deviation of normal noise times this is its standard deviation. */
const NORMAL_PER_DEVIATION = 1.4826;

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
