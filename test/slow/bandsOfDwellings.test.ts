// Bands, headlines and alarms of dwellings that the methods were not made by: how often each holds what it says.
import { expect, test } from 'vitest';
import { judgeUse } from '../../src/domain/insight/alarm.ts';
import { estimatedRuns, readingsIn } from '../../src/domain/insight/readings.ts';
import { openHouse } from '../../src/domain/insight/weather.ts';
import { addDays, addMonths } from '../../src/domain/period.ts';
import { Dwelling } from './dwelling.ts';
import { mean, seeds, share, tell } from './figures.ts';

const DAYS = 1_461;
const MONTHS = Array.from({ length: 24 }, (_, at) => addMonths('2023-01-01', at));

test('heating and hot water apart: the band of 80 % holds what it says', () => {
  const held = seeds(24).flatMap((seed) => {
    const dwelling = new Dwelling({ seed, days: DAYS });
    const house = openHouse(dwelling.days, { temperatures: dwelling.temperatures, base: null });
    return MONTHS.flatMap((from) => {
      const to = addMonths(from, 1);
      const split = house.split({ from, to });
      if (typeof split === 'string') return [];
      const truth = dwelling.within(from, to).reduce((sum, { heating }) => sum + heating, 0);
      return [truth >= split.heating.low - 0.1 && truth <= split.heating.high + 0.1];
    });
  });
  tell('heating apart', { months: held.length, held: share(held, Boolean) });
  expect(share(held, Boolean)).toBeGreaterThan(0.7);
  expect(share(held, Boolean)).toBeLessThan(0.88);
});

test('a headline of more or less is seldom told of nothing, and a quarter less is told', () => {
  const told = (factor: number) =>
    seeds(24).flatMap((seed) => {
      const dwelling = new Dwelling({
        seed,
        days: DAYS,
        holidays: 0,
        outages: 0,
        saved: { from: '2024-01-01', factor },
      });
      const house = openHouse(dwelling.days, { temperatures: dwelling.temperatures, base: null });
      return MONTHS.slice(12).flatMap((from) => {
        const change = house.changeOver({ from, to: addMonths(from, 1) });
        return typeof change === 'string' ? [] : [change];
      });
    });
  const figures = {
    nothing: share(told(1), ({ isSure }) => isSure),
    quarter: share(told(0.7), ({ isSure, percent }) => isSure && percent < 0),
  };
  tell('headlines', figures);
  expect(figures.nothing).toBeLessThan(0.08);
  expect(figures.quarter).toBeGreaterThan(0.7);
});

test.each([0.001, 1, 10])(
  'a register of %d kWh: the band of usual days, alarms, and days that look estimated',
  (step) => {
    const all = seeds(6).map((seed) => {
      const dwelling = new Dwelling({ seed, days: 1_096, step, outages: 0 });
      const year = Array.from({ length: 365 }, (_, at) => addDays(dwelling.from, 731 + at));
      const judged = year.flatMap((day) => {
        const judgement = judgeUse(dwelling.until(day), addDays(day, 1), dwelling.temperatures, null);
        return judgement === null ? [] : [{ day, ...judgement }];
      });
      const newest = judged.filter((one) => one.newest.day === one.day).map((one) => one.newest);
      const readings = readingsIn('energy', dwelling.days, {
        from: dwelling.from,
        to: addDays(dwelling.from, 1_096),
      });
      const estimated = estimatedRuns(readings).flatMap(({ first, next }) => readings.slice(first, next));
      return {
        held: share(newest, ({ energy, low, high }) => energy >= low && energy <= high),
        alarms: judged.filter(({ day, unusual }) => unusual?.since === day).length,
        named: new Set(estimated.map(({ day }) => day.slice(0, 7))).size / 36,
      };
    });
    const figures = {
      held: mean(all.map(({ held }) => held)),
      alarms: mean(all.map(({ alarms }) => alarms)),
      named: mean(all.map(({ named }) => named)),
    };
    tell(`register of ${step} kWh`, figures);
    expect(figures.held).toBeGreaterThan(0.93);
    expect(figures.held).toBeLessThan(0.97);
    expect(figures.alarms).toBeLessThanOrEqual(3);
    expect(figures.named).toBeLessThan(0.05);
  },
);
