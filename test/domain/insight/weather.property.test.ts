// The line of heat on degree days: known truths are found again, whatever the order, the outliers and the gaps.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toMicro } from '../../../src/domain/amount.ts';
import {
  degreeDays,
  expectedHeat,
  fitWeather,
  heatSpans,
  type WeatherFit,
} from '../../../src/domain/insight/use/weather.ts';
import type { DayRecord } from '../../../src/domain/ledger.ts';
import { addDays, type Day } from '../../../src/domain/period.ts';
import { drawFor } from '../../../src/simulator/random.ts';
import { Household } from '../../support/household.ts';
import { holds } from '../../support/property.ts';

const BASE = 15.5;
const END = '2025-07-01';
const seeds = fc.integer({ min: 1, max: 1e6 });
const household = (seed: number, options: object = {}) =>
  new Household({ seed, from: '2024-06-01', days: 395, setback: 1, weekend: 1, ...options });
const fitted = ({ days, temperatures }: Household, before = END) =>
  fitWeather(days, temperatures, BASE, before);
const record = (kwh: number): DayRecord => ({
  energy: toMicro(kwh),
  cost: null,
  revision: 0,
  receivedAt: 1,
});

function expectClose(fit: WeatherFit | null, slope: number, hotWater: number, share: number): void {
  const off = { slope: (fit?.slope ?? 1e9) - slope, hotWater: (fit?.hotWater ?? 1e9) - hotWater };
  expect(Math.abs(off.slope)).toBeLessThan(slope * share + hotWater * 0.02);
  expect(Math.abs(off.hotWater)).toBeLessThan(hotWater * share + slope * 0.3);
}

describe('degree days', () => {
  test('are what is missing to the base, and never negative', () => {
    holds(fc.double({ min: -60, max: 60, noNaN: true }), (mean) => {
      expect(degreeDays(mean, BASE)).toBe(mean < BASE ? BASE - mean : 0);
    });
  });
});

describe('a year of a household', () => {
  const hotWaters = fc.double({ min: 1, max: 8, noNaN: true });
  const slopes = fc.double({ min: 0.6, max: 4, noNaN: true });

  test('hot water and slope are found again', () => {
    holds(seeds, hotWaters, slopes, (seed, hotWater, slope) => {
      expectClose(fitted(household(seed, { hotWater, slope })), slope, hotWater, 0.15);
    });
  });

  test('without noise they are exact', () => {
    holds(seeds, hotWaters, slopes, (seed, hotWater, slope) => {
      const fit = fitted(household(seed, { hotWater, slope, noise: 0, holidays: 0 }));
      expect(fit?.slope).toBeCloseTo(slope, 3);
      expect(fit?.hotWater).toBeCloseTo(hotWater, 2);
      expect(fit?.scatter).toBeLessThan(0.002);
      expect(fit).toMatchObject({ days: 365, base: BASE });
    });
  });

  test('every tenth day is far off', () => {
    holds(seeds, fc.double({ min: 0, max: 6, noNaN: true }), (seed, factor) => {
      const { days, temperatures } = household(seed);
      const off = new Map(
        [...days].map(([day, { energy }], at) => [
          day,
          at % 10 === 4 ? record(((energy ?? 0) / 1e6) * factor) : record((energy ?? 0) / 1e6),
        ]),
      );
      expectClose(fitWeather(off, temperatures, BASE, END), 1.6, 4, 0.25);
    });
  });

  test('the order in which days came does not matter', () => {
    holds(seeds, (seed) => {
      const { days, temperatures } = household(seed);
      const draw = drawFor(seed, 0, 'shuffled');
      const shuffled = <T>(all: ReadonlyMap<Day, T>) =>
        new Map(
          [...all]
            .map((one) => [draw(), one] as const)
            .sort(([a], [b]) => a - b)
            .map(([, one]) => one),
        );
      expect(fitWeather(shuffled(days), shuffled(temperatures), BASE, END)).toEqual(
        fitWeather(days, temperatures, BASE, END),
      );
    });
  });

  test('a reading each second or third day, and some that are missing: the same line', () => {
    holds(seeds, fc.integer({ min: 2, max: 3 }), (seed, readEvery) => {
      expectClose(fitted(household(seed, { readEvery })), 1.6, 4, 0.2);
      const { days, temperatures } = household(seed, { readEvery });
      const zeros = new Map([...temperatures.keys()].map((day) => [day, days.get(day) ?? record(0)]));
      expectClose(fitWeather(zeros, temperatures, BASE, END), 1.6, 4, 0.4);
      expectClose(fitted(household(seed, { missed: 0.15, lost: 0.02 })), 1.6, 4, 0.2);
    });
  });

  test('what comes on the day itself or later changes nothing', () => {
    holds(seeds, fc.double({ min: 0, max: 500, noNaN: true }), (seed, kwh) => {
      const { days, temperatures } = household(seed);
      const before = '2025-01-15';
      const fit = fitWeather(days, temperatures, BASE, before);
      const later = new Map([...days].map(([day, one]) => [day, day < before ? one : record(kwh)]));
      expect(fitWeather(later, temperatures, BASE, before)).toEqual(fit);
    });
  });
});

describe('nothing is told', () => {
  test('of a household that uses the same on warm and cold days', () => {
    holds(seeds, fc.double({ min: 0, max: 0.6, noNaN: true }), (seed, noise) => {
      expect(fitted(household(seed, { slope: 0, hotWater: 9, noise }))).toBeNull();
    });
  });

  test('of one that uses less on cold days', () => {
    const { days, temperatures } = household(3);
    const upside = new Map([...days.keys()].map((day) => [day, record(5 + (temperatures.get(day) ?? 0))]));
    expect(fitWeather(upside, temperatures, BASE, END)).toBeNull();
  });

  test('without readings or temperatures, or where it is always equally cold, or warm', () => {
    const { days, temperatures } = household(5);
    expect(fitWeather(new Map(), temperatures, BASE, END)).toBeNull();
    expect(fitWeather(days, new Map(), BASE, END)).toBeNull();
    expect(fitted(household(5, { climate: { swing: 0, anomaly: 0 } }))).toBeNull();
    expect(fitted(household(5, { climate: { mean: 40 } }))).toBeNull();
  });

  test('of 59 days, but of 60 it is', () => {
    const { days, temperatures } = household(5);
    const kept = new Map([...days].filter(([day]) => day >= '2024-12-02' && day < '2025-02-01'));
    expect(fitWeather(kept, temperatures, BASE, '2025-02-01')?.days).toBe(60);
    expect(fitWeather(kept, temperatures, BASE, '2025-01-31')).toBeNull();
  });
});

test('numbers of any kind: a line that neither falls nor begins below zero, or none', () => {
  const kwh = fc.double({ min: -1000, max: 1e6, noNaN: true });
  const degrees = fc.double({ min: -60, max: 60, noNaN: true });
  const table = fc.array(fc.tuple(kwh, degrees), { minLength: 60, maxLength: 400, size: 'max' });
  holds(table, (rows) => {
    const start = addDays(END, -rows.length);
    const days = new Map(rows.map(([energy], at) => [addDays(start, at), record(energy)]));
    const temperatures = new Map(rows.map(([, mean], at) => [addDays(start, at), mean]));
    const fit = fitWeather(days, temperatures, BASE, END);
    if (fit === null) return;
    expect(fit.slope).toBeGreaterThan(0);
    expect(fit.hotWater).toBeGreaterThanOrEqual(0);
    expect(Number.isFinite(expectedHeat(fit, 20)) && Number.isFinite(fit.scatter)).toBe(true);
  });
});

describe('spans', () => {
  const temperatures = new Map(Array.from({ length: 30 }, (_, at) => [addDays('2025-01-01', at), 5.5]));
  const spans = (known: readonly number[], from = '2025-01-01') => {
    const days = new Map(known.map((at) => [addDays('2025-01-01', at), record(10)]));
    const all = heatSpans(days, { temperatures, base: BASE }, { from, to: '2025-01-31' });
    return all.map(({ day, days: count, energy, degreeDays: sum }) => [day, count, energy, sum]);
  };

  test('a reading after missing days stands for all of them; the first of a ledger for none', () => {
    expect(spans([0, 1, 4, 5])).toEqual([
      ['2025-01-02', 1, 10, 10],
      ['2025-01-05', 3, 10, 30],
      ['2025-01-06', 1, 10, 10],
    ]);
  });

  test('a day or two of 0 go with the reading after it', () => {
    const kwh = [10, 0, 20, 0, 0, 0, 30, 0];
    const days = new Map(kwh.map((one, at) => [addDays('2025-01-01', at), record(one)]));
    const all = heatSpans(days, { temperatures, base: BASE }, { from: '2025-01-01', to: '2025-01-31' });
    expect(all.map(({ day, days: count, energy }) => [day.slice(8), count, energy])).toEqual([
      ['03', 2, 20],
      ['04', 1, 0],
      ['07', 3, 30],
      ['08', 1, 0],
    ]);
  });

  test('one that reaches out of the span, or over more than a week, stands for none', () => {
    expect(spans([0, 1, 4, 5], '2025-01-04').map(([day]) => day)).toEqual(['2025-01-06']);
    expect(spans([0, 7, 15, 16]).map(([day]) => day)).toEqual(['2025-01-08', '2025-01-17']);
  });
});
