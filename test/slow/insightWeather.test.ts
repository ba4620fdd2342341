// The fit of heat on degree days, and the change against last year, on simulated years whose truth is known.
import { expect, test } from 'vitest';
import { fitWeather } from '../../src/domain/insight/use/weather.ts';
import { weatherChange } from '../../src/domain/insight/use/weatherChange.ts';
import { addDays } from '../../src/domain/period.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { median, quantile, rootMeanSquare, seeds, share, tell } from '../support/figures.ts';
import { type Change, Household, type HouseholdOptions, stuckValve } from '../support/household.ts';

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

const SAVED: readonly [string, Omit<HouseholdOptions, 'seed'>, Partial<Change>][] = [
  ['an even use', EVEN, {}],
  ['weekends and setback', { holidays: 0 }, {}],
  ['of the heating alone', { ...EVEN, hotWater: 0.5 }, { of: 'heating' }],
  ['heated below 14 °C', { holidays: 0, heatedBelow: 14 }, {}],
  ['heated below 17 °C', { holidays: 0, heatedBelow: 17 }, {}],
  ['a reading every second day', { holidays: 0, readEvery: 2 }, {}],
  ['missed and lost readings', { holidays: 0, missed: 0.05, lost: 0.02 }, {}],
  ['two holidays a year', {}, {}],
  ['a small, restless flat', { holidays: 0, hotWater: 2, slope: 0.5, noise: 0.3 }, {}],
];

test.each(SAVED)('the band of what was saved holds in four years of five: %s', (name, options, change) => {
  const years = seeds(200).map((seed) => {
    const draw = drawFor(seed, 0, 'saved');
    const factor = 0.75 + 0.45 * draw();
    // In the heating season, when there is something to save; the saving began after last year's days.
    const newest = addDays('2024-11-20', Math.floor(draw() * 140));
    const from = addDays(newest, -100 - Math.floor(draw() * 150));
    const household = new Household({ seed, ...options, changes: [{ ...change, from, factor }] });
    const { temperatures } = household;
    const told = weatherChange(household.until(newest), { temperatures, base: BASE });
    return { seed, truth: 100 * (factor - 1), told };
  });
  const known = years.flatMap(({ told, truth }) => (told ? [{ ...told, truth }] : []));
  const figures = {
    told: known.length / years.length,
    holds: share(known, ({ low, high, truth }) => low <= truth && truth <= high),
    wrong: rootMeanSquare(known.map(({ percent, truth }) => percent - truth)),
    bias: known.reduce((sum, { percent, truth }) => sum + percent - truth, 0) / known.length,
    halfWidth: median(known.map(({ low, high }) => (high - low) / 2)),
  };
  tell(`saved, ${name}`, figures);
  expect(figures.told).toBeGreaterThan(0.95);
  // 80 %, and three standard errors of 200 years.
  expect(figures.holds).toBeGreaterThan(0.72);
  expect(figures.holds).toBeLessThan(0.89);
  expect(figures.wrong).toBeLessThan(name.includes('holidays') ? 10 : 6);
});
