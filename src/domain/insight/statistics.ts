// Robust statistics of plain numbers.

/** The standard deviation of normal noise is this times its median absolute deviation. */
const PER_MEDIAN_DEVIATION = 1.4826;

/** Of the values the one that so many are smaller than. By selection: sorting all takes most of the time of a fit. */
function ranked(values: number[], rank: number): number {
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const pivot = values[(low + high) >> 1] as number;
    let [up, down] = [low, high];
    while (up <= down) {
      while ((values[up] as number) < pivot) up += 1;
      while ((values[down] as number) > pivot) down -= 1;
      if (up > down) break;
      const swapped = values[up] as number;
      values[up++] = values[down] as number;
      values[down--] = swapped;
    }
    if (rank <= down) high = down;
    else if (rank >= up) low = up;
    else break;
  }
  return values[rank] ?? 0;
}

/** The value below which this share of them lies; 0 of none. */
export const quantile = (values: readonly number[], share: number): number =>
  ranked([...values], Math.floor(share * values.length));

export function median(values: readonly number[]): number {
  const copy = [...values];
  const middle = values.length / 2;
  return (ranked(copy, Math.ceil(middle) - 1) + ranked(copy, Math.floor(middle))) / 2;
}

/** The standard deviation of residuals, as if those far off were none. */
export const robustDeviation = (residuals: readonly number[]): number =>
  PER_MEDIAN_DEVIATION * median(residuals.map(Math.abs));

export const meanOf = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((sum, one) => sum + of(one), 0) / all.length;
