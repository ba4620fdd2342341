// Figures of many simulated runs: medians, shares and errors, and the seeds they come from.

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / values.length;

export const share = <T>(all: readonly T[], is: (one: T) => boolean): number =>
  all.filter(is).length / all.length;

/** So many seeds in a row, from HEAT2MQTT_SEED (1) on: enough that the figure of a right method seldom strays over its bound. */
export const seeds = (count: number): number[] =>
  Array.from({ length: count }, (_, at) => 1000 * Number(process.env.HEAT2MQTT_SEED ?? 1) + at);

/** The figures of a proof, so that whoever runs it sees how near it is. */
export const tell = (what: string, figures: Readonly<Record<string, number | string>>): void => {
  const words = Object.entries(figures).map(
    ([name, value]) => `${name} ${typeof value === 'number' ? Number(value.toPrecision(3)) : value}`,
  );
  process.stdout.write(`${what}: ${words.join(', ')}\n`);
};
