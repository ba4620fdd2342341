// Bands, headlines and alarms of dwellings that the methods were not made by: how often each holds what it says.
import { expect, test } from 'vitest';
import { judgeUse } from '../../src/domain/insight/alarm.ts';
import { estimatedRuns, readingsIn } from '../../src/domain/insight/readings.ts';
import { openHouse } from '../../src/domain/insight/weather.ts';
import { addDays, addMonths } from '../../src/domain/period.ts';
import { Dwelling } from './dwelling.ts';
import { mean, median, seeds, share, tell } from './figures.ts';

const DAYS = 1_461;
const MONTHS = Array.from({ length: 24 }, (_, at) => addMonths('2023-01-01', at));

test('the band of heating and hot water holds what it says when months are split', () => {
  // Months of a dwelling stray together: a quarter of all that 24 dwellings tell is chance.
  const held = seeds(480).flatMap((seed) => {
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
  expect(share(held, Boolean)).toBeGreaterThan(0.78);
  expect(share(held, Boolean)).toBeLessThan(0.84);
});

test('a headline is seldom told when nothing has changed, and mostly when a third of the heating was saved', () => {
  const changes = (factor: number) =>
    seeds(120).flatMap((seed) => {
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
    nothing: share(changes(1), ({ isSure }) => isSure),
    saved: share(changes(0.7), ({ isSure, percent }) => isSure && percent < 0),
  };
  tell('headlines', figures);
  expect(figures.nothing).toBeLessThan(0.07);
  expect(figures.saved).toBeGreaterThan(0.75);
});

test.each([0.001, 1, 10])(
  'usual days are held and alarms are few when a register counts by %d kWh',
  (step) => {
    const dwellings = seeds(18).map((seed) => {
      const dwelling = new Dwelling({ seed, days: 1_096, step, outages: 0 });
      const year = Array.from({ length: 365 }, (_, at) => addDays(dwelling.from, 731 + at));
      const judged = year.flatMap((day) => {
        const judgement = judgeUse(dwelling.until(day), addDays(day, 1), dwelling.temperatures, null);
        return judgement === null ? [] : [{ day, ...judgement }];
      });
      const newest = judged.filter(({ day, newest }) => newest.day === day).map(({ newest }) => newest);
      return {
        held: share(newest, ({ energy, low, high }) => energy >= low && energy <= high),
        alarms: judged.filter(({ day, unusual }) => unusual?.since === day).length,
      };
    });
    const figures = {
      held: mean(dwellings.map(({ held }) => held)),
      alarms: median(dwellings.map(({ alarms }) => alarms)),
      mean: mean(dwellings.map(({ alarms }) => alarms)),
    };
    tell(`register of ${step} kWh`, figures);
    expect(figures.held).toBeGreaterThan(0.93);
    expect(figures.held).toBeLessThan(0.97);
    expect(figures.alarms).toBeLessThanOrEqual(3);
  },
);

test.each([0.001, 1, 10])(
  'few months have days that look estimated when a register counts by %d kWh',
  (step) => {
    const shares = seeds(60).map((seed) => {
      const dwelling = new Dwelling({ seed, days: 1_096, step, outages: 0 });
      const span = { from: dwelling.from, to: addDays(dwelling.from, 1_096) };
      const readings = readingsIn('energy', dwelling.days, span);
      const estimated = estimatedRuns(readings).flatMap(({ first, next }) => readings.slice(first, next));
      return new Set(estimated.map(({ day }) => day.slice(0, 7))).size / 36;
    });
    tell(`months with estimates, register of ${step} kWh`, { named: mean(shares) });
    expect(mean(shares)).toBeLessThan(0.05);
  },
);
