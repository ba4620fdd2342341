// Figures of many simulated runs: medians, shares and errors, and the seeds they come from.

const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

/** The value below which a share of them lies. */
export const quantile = (values: readonly number[], share: number): number =>
  sorted(values)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? Number.NaN;

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / values.length;

export const rootMeanSquare = (values: readonly number[]): number =>
  Math.sqrt(mean(values.map((each) => each ** 2)));

export const share = <T>(all: readonly T[], is: (one: T) => boolean): number =>
  all.filter(is).length / all.length;

/** So many seeds in a row, from HEAT2MQTT_SEED (1) on. */
export const seeds = (count: number): number[] =>
  Array.from({ length: count }, (_, at) => 1000 * Number(process.env.HEAT2MQTT_SEED ?? 1) + at);

/** The figures of a proof, so that whoever runs it sees how near it is. */
export const tell = (what: string, figures: Readonly<Record<string, number | string>>): void => {
  const words = Object.entries(figures).map(
    ([name, value]) => `${name} ${typeof value === 'number' ? Number(value.toPrecision(3)) : value}`,
  );
  process.stdout.write(`${what}: ${words.join(', ')}\n`);
};
