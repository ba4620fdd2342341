// The fit of heat on degree days, and the change against last year, on simulated years whose truth is known.
import { expect, test } from 'vitest';
import { fitWeather } from '../../src/domain/insight/weather.ts';
import { median, quantile, seeds, tell } from '../support/figures.ts';
import { Household, type HouseholdOptions, stuckValve } from '../support/household.ts';

const BASE = 15.5;
const END = '2025-07-01';
const EVEN = { weekend: 1, setback: 1, holidays: 0 } as const;

function fits(options: Omit<HouseholdOptions, 'seed'>) {
  return seeds(100).map((seed) => {
    const household = new Household({ seed, ...options });
    return { household, fit: fitWeather(household.days, household.temperatures, BASE, END) };
  });
}

test.each<[string, Omit<HouseholdOptions, 'seed'>]>([
  ['an even use', EVEN],
  ['holidays', { ...EVEN, holidays: 3 }],
  ['a reading every second day', { ...EVEN, readEvery: 2 }],
  ['missed and lost readings', { ...EVEN, missed: 0.05, lost: 0.02 }],
  ['a small, restless flat', { ...EVEN, hotWater: 2, slope: 0.5, noise: 0.3 }],
])('slope and hot water are found: %s', (name, options) => {
  const found = fits(options);
  const lines = found.flatMap(({ fit }) => (fit ? [fit] : []));
  expect(lines).toHaveLength(found.length);
  const { slope = 1.6, hotWater = 4 } = options;
  const slopes = lines.map((line) => line.slope / slope);
  const bases = lines.map((line) => line.hotWater / hotWater);
  const low = (values: readonly number[]) => quantile(values, 0.05);
  const high = (values: readonly number[]) => quantile(values, 0.95);
  tell(name, {
    slope: median(slopes),
    from: low(slopes),
    to: high(slopes),
    water: median(bases),
    waterFrom: low(bases),
    waterTo: high(bases),
  });
  expect(Math.abs(median(slopes) - 1)).toBeLessThan(0.03);
  expect(Math.abs(median(bases) - 1)).toBeLessThan(0.05);
  expect(Math.max(high(slopes) - 1, 1 - low(slopes))).toBeLessThan(0.15);
  expect(Math.max(high(bases) - 1, 1 - low(bases))).toBeLessThan(0.2);
});

test('weekends and setback are met in the mean of the week', () => {
  const slopes = fits({ holidays: 0 }).map(({ fit }) => fit?.slope ?? 0);
  expect(median(slopes)).toBeGreaterThan(1.6 * 0.9);
  expect(median(slopes)).toBeLessThan(1.6);
});

test('who heats nothing has no fit, and too few days have none either', () => {
  expect(fits({ slope: 0 }).filter(({ fit }) => fit && fit.slope > 0.1)).toEqual([]);
  const { days, temperatures } = new Household({ seed: 1, from: '2025-05-03', days: 100 });
  expect(fitWeather(days, temperatures, BASE, END)?.days ?? 0).toBeLessThan(60);
});

test('a day is judged by the days before it alone', () => {
  const plain = new Household({ seed: 4 });
  const stuck = new Household({ seed: 4, changes: [stuckValve('2025-01-20')] });
  const fitted = ({ days, temperatures }: Household) => fitWeather(days, temperatures, BASE, '2025-01-20');
  expect(fitted(stuck)).toEqual(fitted(plain));
});
