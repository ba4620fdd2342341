// The four questions on invented buildings: how often each answer is right, how often it accuses, and how long it takes.
import { describe, expect, test } from 'vitest';
import { judgeUse } from '../../src/domain/insight/alarm.ts';
import { type BillCheck, billJudge } from '../../src/domain/insight/bill.ts';
import { forecastMonth } from '../../src/domain/insight/forecast.ts';
import { openHouse } from '../../src/domain/insight/weather.ts';
import { addDays, addMonths, type Day } from '../../src/domain/period.ts';
import { type Billing, Building, DUBLIN, type Event, type TrueBill } from '../support/building.ts';
import { mean, median, seeds, share, tell } from './figures.ts';

const climateOf = (seed: number) => (seed % 2 === 0 ? 'berlin' : 'dublin');

type Judged = { readonly bill: TrueBill; readonly check: BillCheck | undefined };

/** Each bill on the day on which it is the newest, from the 5th on. */
function inTurn(building: Building, bills: readonly TrueBill[]): Judged[] {
  const judge = billJudge();
  const ledgers = [{ origin: building.from, days: building.days }];
  const invoices = bills.map(({ invoice }) => invoice);
  return bills.slice(4).map((bill, at) => {
    const checks = judge(invoices.slice(0, at + 5), ledgers, DUBLIN);
    return { bill, check: checks.get(bill.invoice.id) };
  });
}

const is = (verdict: string) => (one: Judged) => one.check?.verdict === verdict;

test.each<[Billing, number, number, number]>([
  ['nothing', 0, 0.99, 0.002],
  ['vat', 0, 0.99, 0.002],
  ['percent', 0, 0.99, 0.002],
  ['wholeKwh', 0, 0.92, 0.01],
  ['energyVat', 0, 0.95, 0.01],
  ['fee', 0, 0.97, 0.01],
  ['monthly', 0, 0.96, 0.01],
  ['vat', 0.05, 0.95, 0.01],
])('correct bills, %s, carried %d: explained and not accused', (kind, carried, explained, accused) => {
  const all = seeds(100).flatMap((seed) => {
    const building = new Building({ seed, days: 28 * 31, carried, climate: climateOf(seed) });
    return inTurn(building, building.bills({ kind, months: seed % 4 === 3 ? 0 : 1 }));
  });
  const found = { explained: share(all, is('as_expected')), accused: share(all, is('differs')) };
  tell(`bills, ${kind}, carried ${carried}`, { bills: all.length, ...found });
  expect(found.explained).toBeGreaterThanOrEqual(explained);
  expect(found.accused).toBeLessThanOrEqual(accused);
});

test('estimated bills differ, their corrections are as expected, and correct ones are not accused', () => {
  const all = seeds(75).flatMap((seed) => {
    const building = new Building({ seed, days: 28 * 31 });
    return inTurn(building, building.bills({ kind: 'estimated' }));
  });
  const of = (kind: TrueBill['kind']) => all.filter(({ bill }) => bill.kind === kind);
  const found = {
    correct: share(of('correct'), is('as_expected')),
    accused: share(of('correct'), is('differs')),
    told: share(of('estimated'), is('differs')),
    corrections: share(of('correction'), is('as_expected')),
  };
  tell('estimated bills', found);
  expect(found.accused).toBeLessThanOrEqual(0.01);
  expect(found.told).toBeGreaterThan(0.7);
  expect(found.corrections).toBeGreaterThan(0.7);
});

test.each([1, -1, 5, 30])(
  'a bill that is %d EUR wrong is told, and never acquitted beyond the doubt told',
  (eur) => {
    const all = (['vat', 'wholeKwh', 'energyVat', 'fee', 'monthly'] as const).flatMap((kind) =>
      seeds(60).flatMap((seed) => {
        const building = new Building({ seed, days: 20 * 31, climate: climateOf(seed) });
        const bills = building.bills({ kind, wrong: new Map([[7 + (seed % 10), eur]]) });
        return inTurn(building, bills).filter(({ bill }) => bill.kind === 'wrong');
      }),
    );
    tell(`bills ${eur} EUR wrong`, {
      bills: all.length,
      told: share(all, is('differs')),
      acquitted: share(all, is('as_expected')),
    });
    expect(share(all, is('differs'))).toBeGreaterThanOrEqual(0.93);
    for (const { check } of all.filter(is('as_expected')))
      expect(Math.abs(eur) * 1e6).toBeLessThanOrEqual(check?.doubt ?? 0);
  },
);

test('a change of the rule is told on the third bill that has it', () => {
  const told = seeds(75).map((seed) => {
    const building = new Building({ seed, days: 20 * 31 });
    const all = inTurn(building, building.bills({ kind: 'vat', changeAt: 10 }));
    return all.findIndex(is('rule_changed')) + 4;
  });
  tell('change of the rule', { third: share(told, (at) => at === 12) });
  expect(share(told, (at) => at === 12)).toBeGreaterThanOrEqual(0.9);
});

test.each([undefined, 12])(
  'weather-adjusted change: error and coverage, where a house balances at %s °C',
  (balance) => {
    const found = seeds(28).flatMap((seed) =>
      ['2024-01-28', '2024-04-28', '2024-07-28', '2024-10-28'].flatMap((last) => {
        const [from, to] = [addDays(last, -89), addDays(last, 1)];
        const options = {
          seed,
          climate: climateOf(seed),
          holidays: 0,
          ...(balance ? { balance } : {}),
        } as const;
        const usual = new Building(options);
        const saving = new Building({ ...options, saved: { from, factor: 0.85 } });
        const truth = 100 * (saving.used(from, to) / usual.used(from, to) - 1);
        const house = openHouse(saving.until(last), { temperatures: saving.temperatures, base: null });
        const change = house.newestChange();
        if (typeof change === 'string') return [];
        const { percent, low, high } = change;
        return [{ error: Math.abs(percent - truth), isHeld: low <= truth && truth <= high }];
      }),
    );
    const error = mean(found.map((one) => one.error));
    const held = share(found, ({ isHeld }) => isHeld);
    tell(`weather-adjusted change, balance ${balance ?? '12 to 16'}`, { told: found.length, error, held });
    expect(error).toBeLessThan(6);
    expect(held).toBeGreaterThan(0.68);
  },
);

/** The month at its end, foretold on this day. */
function foretold(building: Building, today: Day, since: Day | null = null) {
  const days = new Map(
    [...building.until(addDays(today, -1))].filter(([day]) => since === null || day >= since),
  );
  const { energy } = forecastMonth({ days, today, tariff: null });
  const truth = building.used(`${today.slice(0, 8)}01`, addMonths(today, 1));
  const [low, high] = [(energy?.low ?? 0) / 1e6, (energy?.high ?? 0) / 1e6];
  const missed = Math.max(0, low - truth, truth - high);
  return { isHeld: missed < 0.001, score: high - low + 10 * missed };
}

describe('the forecast of the month', () => {
  const months = Array.from({ length: 12 }, (_, at) => addMonths('2024-01-01', at));

  test.each([
    [1, 85],
    [8, 73],
    [15, 54],
    [22, 38],
  ])('on day %d: its band holds eight months of ten and is narrow', (day, most) => {
    const all = seeds(16).flatMap((seed) => {
      const building = new Building({ seed, climate: climateOf(seed) });
      const month = building.used('2023-07-01', '2024-07-01') / 12;
      return months.map((first) => {
        const { isHeld, score } = foretold(building, addDays(first, day - 1));
        return { isHeld, score: (100 * score) / month };
      });
    });
    const figures = { held: share(all, ({ isHeld }) => isHeld), score: mean(all.map(({ score }) => score)) };
    tell(`forecast on day ${day}`, figures);
    expect(figures.held).toBeGreaterThan(0.7);
    expect(figures.held).toBeLessThan(0.95);
    expect(figures.score).toBeLessThan(most);
  });

  test('40 days after a move-in that is told', () => {
    const held = seeds(12).flatMap((seed) =>
      months.map((first) => {
        const [today, from] = [addDays(first, 7), addDays(first, -33)];
        const building = new Building({ seed, events: [{ kind: 'moved', from, factor: 1.8 }] });
        return foretold(building, today, from).isHeld;
      }),
    );
    tell('forecast 40 days after a move-in', { held: share(held, Boolean) });
    expect(share(held, Boolean)).toBeGreaterThan(0.68);
  });
});

const alarmOn = (building: Building, day: Day, hasWeather = true) =>
  judgeUse(building.until(day), addDays(day, 1), hasWeather ? building.temperatures : null, null)?.unusual ??
  null;

test.each([true, false])('false alarms in a year, weather known: %s', (hasWeather) => {
  const counts = seeds(12).map((seed) => {
    const building = new Building({ seed, climate: climateOf(seed), days: 1096 });
    const year = Array.from({ length: 365 }, (_, at) => addDays(building.from, 731 + at));
    return year.filter((day) => alarmOn(building, day, hasWeather)?.since === day).length;
  });
  tell(`false alarms, weather known: ${hasWeather}`, { median: median(counts), mean: mean(counts) });
  expect(median(counts)).toBeLessThanOrEqual(3);
});

test.each<[string, Event['kind'], Day, number, boolean]>([
  ['nothing comes any more', 'stop', '2024-01-05', 0.95, true],
  ['the heating has failed', 'heating', '2024-01-05', 0.8, true],
  ['40 % more in January', 'more', '2024-01-05', 0.65, true],
  ['6 kWh a day more in July', 'leak', '2024-07-05', 0.7, true],
  ['nothing comes any more', 'stop', '2024-01-05', 0.9, false],
  ['the heating has failed', 'heating', '2024-01-05', 0.7, false],
])('%s: found by the third day (%s, %s)', (what, kind, first, least, hasWeather) => {
  const found = seeds(240).map((seed) => {
    const from = addDays(first, seed % 20);
    const years = { climate: climateOf(seed), holidays: 0, days: 1180 } as const;
    const building = new Building({ seed, ...years, events: [{ kind, from }] });
    return [0, 1, 2].some((at) => (alarmOn(building, addDays(from, at), hasWeather)?.since ?? '') >= from);
  });
  tell(`found by the third day: ${what}, weather known: ${hasWeather}`, { found: share(found, Boolean) });
  expect(share(found, Boolean)).toBeGreaterThanOrEqual(least);
});

test('estimates with what puts them right raise no alarm', () => {
  const alarms = seeds(60).flatMap((seed) => {
    const building = new Building({ seed, flat: 0.02, days: 1096 });
    const trueUps = building.trueUps.filter((day) => day > addDays(building.from, 400));
    return trueUps.map((day) => alarmOn(building, day)?.since === day);
  });
  tell('true-ups that alarm', { trueUps: alarms.length, alarms: share(alarms, Boolean) });
  expect(share(alarms, Boolean)).toBeLessThanOrEqual(0.02);
});
