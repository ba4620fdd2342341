// Unusual use on simulated winters: how seldom a usual one raises an alarm, and how soon a stuck valve does.
import { expect, test } from 'vitest';
import { toMicro } from '../../src/domain/amount.ts';
import { judgeUse } from '../../src/domain/insight/use/unusualUse.ts';
import { fittedWeather, type Temperatures } from '../../src/domain/insight/use/weather.ts';
import type { DayRecord, Ledger } from '../../src/domain/ledger.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import { drawFor } from '../../src/simulator/random.ts';

const WINTERS = 50;
const WINTER_DAYS = 200;
const DAYS_BEFORE = 400;
const START = '2024-10-01';
const NOISE = 0.15;
const VALVES_AT = [40, 90, 140];

type Noise = (normal: number) => number;
const additive: Noise = (normal) => Math.max(0, 1 + NOISE * normal);
const proportional: Noise = (normal) => Math.exp(NOISE * normal);

interface Winter {
  readonly days: Ledger['days'];
  readonly temperatures: Temperatures;
}

/** `spells`: K by which a day's weather differs from the day before. From `valveAt` on (a day of the winter) 40 % more is used. */
function winter(seed: number, noise: Noise, spells: number, valveAt = Number.POSITIVE_INFINITY): Winter {
  const draw = drawFor(seed, 0, 'unusual use');
  const normal = () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
  const days = new Map<Day, DayRecord>();
  const temperatures = new Map<Day, number>();
  let anomaly = 0;
  for (let at = -DAYS_BEFORE; at < WINTER_DAYS; at += 1) {
    const day = addDays(START, at);
    anomaly = 0.8 * anomaly + spells * normal();
    const mean = 10 + 5 * Math.cos(((at - 100) / 365) * 2 * Math.PI + Math.PI) + anomaly;
    const usual = 3 + 1.9 * Math.max(0, 15.5 - mean);
    const energy = toMicro(usual * noise(normal()) * (at >= valveAt ? 1.4 : 1));
    temperatures.set(day, mean);
    days.set(day, { energy, cost: null, revision: 0, receivedAt: 1 });
  }
  return { days, temperatures };
}

function judge({ days, temperatures }: Winter, at: number, isWeatherKnown: boolean) {
  const before = addDays(START, at + 1);
  const weather = isWeatherKnown ? fittedWeather(days, { temperatures, base: 15.5 }, before) : null;
  return judgeUse(days, before, weather, null);
}

function figures(noise: Noise, isWeatherKnown: boolean, spells = 1.8) {
  const alarms: number[] = [];
  const delays: number[] = [];
  let [inside, judged] = [0, 0];
  for (let seed = 1; seed <= WINTERS; seed += 1) {
    const usual = winter(seed, noise, spells);
    let count = 0;
    for (let at = 0; at < WINTER_DAYS; at += 1) {
      const found = judge(usual, at, isWeatherKnown);
      if (found === null) throw new Error('nothing to judge by');
      const { day, energy, low, high } = found.newest;
      judged += 1;
      inside += Number(energy >= low && energy <= high);
      count += Number(found.unusual?.since === day);
    }
    alarms.push(count);
    for (const valveAt of VALVES_AT) {
      // An alarm that is on already finds nothing.
      if (judge(usual, valveAt - 1, isWeatherKnown)?.unusual) continue;
      const stuck = winter(seed, noise, spells, valveAt);
      const after = [0, 1, 2, 3, 4, 5, 6].find(
        (more) => judge(stuck, valveAt + more, isWeatherKnown)?.unusual?.direction === 'high',
      );
      delays.push(1 + (after ?? Number.POSITIVE_INFINITY));
    }
  }
  alarms.sort((a, b) => a - b);
  const within = (days: number) => delays.filter((delay) => delay <= days).length / delays.length;
  const found = {
    alarms: alarms[WINTERS / 2] ?? 0,
    mean: alarms.reduce((sum, each) => sum + each, 0) / WINTERS,
    inside: inside / judged,
    within3: within(3),
    within7: within(7),
  };
  process.stdout.write(`${JSON.stringify(found)}\n`);
  return found;
}

test.each([
  ['1 + noise', additive],
  ['exp(noise)', proportional],
])('with the weather known, days of %s', (_, noise) => {
  const { alarms, inside, within3 } = figures(noise, true);
  expect(alarms).toBeLessThanOrEqual(1);
  expect(within3).toBeGreaterThanOrEqual(0.9);
  expect(inside).toBeGreaterThan(0.98);
});

test('without it, alarms are as few, and few valves are found: a cold spell looks the same', () => {
  const { alarms, inside, within3 } = figures(additive, false);
  expect(alarms).toBeLessThanOrEqual(1);
  expect(inside).toBeGreaterThan(0.98);
  expect(within3).toBeGreaterThan(0.1);
});

test('without it, in a winter without spells, nearly as many valves are found', () => {
  const { alarms, inside, within3 } = figures(additive, false, 0);
  expect(alarms).toBeLessThanOrEqual(1);
  expect(inside).toBeGreaterThan(0.98);
  expect(within3).toBeGreaterThan(0.8);
});
