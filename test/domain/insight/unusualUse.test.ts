// Unusual use on invented households: what is found, what is none, and when it is over.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toMicro } from '../../../src/domain/amount.ts';
import { judgeUse } from '../../../src/domain/insight/alarm.ts';
import type { Temperatures } from '../../../src/domain/insight/weather.ts';
import type { Ledger } from '../../../src/domain/ledger.ts';
import { addDays, type Day, daysBetween } from '../../../src/domain/period.ts';
import { fitTariff, type Tariff } from '../../../src/domain/tariff/tariff.ts';
import { Household, type HouseholdOptions } from '../../support/household.ts';
import { type Line, ledgerOf, row } from '../ledgers.ts';

const FROM = '2023-09-01';
const NEWEST = '2025-01-15';

const live = (options: Partial<HouseholdOptions> = {}) =>
  new Household({ seed: 7, from: FROM, days: 560, holidays: 0, ...options });
const HOME = live();
/** On the evening of the day. */
function judge(
  days: Ledger['days'],
  newest: Day,
  weather: Temperatures | null = HOME.temperatures,
  tariff: Tariff | null = null,
) {
  return judgeUse(days, addDays(newest, 1), weather, tariff);
}

/** The days on which an episode was noticed, and those on which it lasted. */
function watch(home: Household, from: Day, count: number) {
  const began: Day[] = [];
  const on: Day[] = [];
  for (let at = 0, day = from; at < count; at += 1, day = addDays(day, 1)) {
    const since = judge(home.days, day, home.temperatures)?.unusual?.since;
    if (since !== undefined) on.push(day);
    if (since === day) began.push(day);
  }
  return { began, on };
}

const withDay = (days: Ledger['days'], day: Day, kwh: number): Ledger['days'] =>
  new Map([...days, [day, { energy: toMicro(kwh), cost: null, revision: 0, receivedAt: 1 }]]);
const kwhOn = (days: Ledger['days'], day: Day): number => (days.get(day)?.energy ?? 0) / 1e6;

describe('one day far off', () => {
  test('is told, and is over two days later', () => {
    const direction = 'high';
    const days = withDay(HOME.days, NEWEST, kwhOn(HOME.days, NEWEST) * 4);
    const found = judge(days, NEWEST);
    expect(found?.unusual).toEqual({ since: NEWEST, direction, reason: 'day' });
    expect(found?.newest).toMatchObject({ day: NEWEST, by: 'weather' });
    expect(judge(days, addDays(NEWEST, 2))?.unusual).toBeNull();
  });

  test('is none when the reading carries the day before, or may do so', () => {
    const before = addDays(NEWEST, -1);
    const kwh = kwhOn(HOME.days, before) + kwhOn(HOME.days, NEWEST);
    const carried = withDay(HOME.days, NEWEST, 2 * kwh);
    const missed = new Map([...carried].filter(([day]) => day !== before));
    for (const days of [missed, withDay(carried, before, 0)]) {
      const found = judge(days, NEWEST);
      expect([found?.newest.day, found?.unusual]).toEqual([addDays(NEWEST, -2), null]);
    }
  });

  test('is none when its standing charges tell that it carries another', () => {
    const twice = new Map(HOME.days);
    const [one, other] = [HOME.days.get(NEWEST), HOME.days.get(addDays(NEWEST, 1))];
    if (!one || !other) throw new Error('no such days');
    const both = { energy: 2 * ((one.energy ?? 0) + (other.energy ?? 0)), cost: 0 };
    both.cost = Math.round(0.124 * both.energy) + 2 * 686_000;
    twice.set(NEWEST, { ...one, ...both });
    const known = new Map([...twice].filter(([day]) => day <= NEWEST));
    const found = judge(known, NEWEST, HOME.temperatures, fitTariff(known));
    expect(found?.newest.day).toBe(addDays(NEWEST, -1));
    expect(judge(known, NEWEST)?.unusual).not.toBeNull();
  });
});

test('raises no alarm when a register of whole kWh makes a step', () => {
  // Some 1.2 kWh a day, as such a register shows them; then a day a little above, and two of them together.
  const kwh = Array.from({ length: 200 }, (_, at) => Math.floor(1.2 * (at + 1)) - Math.floor(1.2 * at));
  const days = new Map(
    [...kwh, 2, 2, 1, 2].map((one, at) => [
      addDays(FROM, at),
      { energy: toMicro(one), cost: null, revision: 0, receivedAt: 1 },
    ]),
  );
  const mild = new Map([...days.keys()].map((day) => [day, 17]));
  for (const newest of [...days.keys()].slice(-4)) {
    expect(judgeUse(days, addDays(newest, 1), mild, null)?.unusual).toBeNull();
    expect(judgeUse(days, addDays(newest, 1), null, null)?.unusual).toBeNull();
  }
});

describe('what lasts', () => {
  const week = { from: NEWEST, to: addDays(NEWEST, 8), factor: 1.6 };
  const away = { from: NEWEST, to: addDays(NEWEST, 10) };

  /** Noticed once, within `late` days; how many days of the forty it is told on, and the last one. */
  test.each<[string, Partial<HouseholdOptions>, number, [number, number], number]>([
    [
      'a stuck valve is the new usual after some weeks',
      { changes: [{ from: NEWEST, factor: 1.4 }] },
      4,
      [11, 36],
      39,
    ],
    ['a repaired one is over some days later', { changes: [week] }, 4, [1, 12], 11],
    ['nothing is told of coming home from a holiday', { holidays: [away] }, 1, [9, 13], 14],
  ])('%s', (_, options, late, [fewest, most], last) => {
    const { began, on } = watch(live(options), NEWEST, 40);
    expect(began).toHaveLength(1);
    expect(daysBetween(NEWEST, began[0] ?? '')).toBeLessThanOrEqual(late);
    expect(on.length).toBeGreaterThanOrEqual(fewest);
    expect(on.length).toBeLessThanOrEqual(most);
    expect(daysBetween(NEWEST, on.at(-1) ?? '')).toBeLessThanOrEqual(last);
  });

  test('a dead meter is low from its third day on: the first one may be a missed reading', () => {
    const days = [0, 1, 2].reduce((all, at) => withDay(all, addDays(NEWEST, at), 0), HOME.days);
    expect(judge(days, addDays(NEWEST, 1))?.unusual).toBeNull();
    expect(judge(days, addDays(NEWEST, 2))?.unusual).toMatchObject({ direction: 'low' });
  });

  test('the same reading for days in a row is an estimate, and what puts it right is judged as little', () => {
    const flat = [0, 1, 2, 3, 4].reduce((all, at) => withDay(all, addDays(NEWEST, at), 25), HOME.days);
    const days = withDay(flat, addDays(NEWEST, 5), 90);
    expect(judge(days, addDays(NEWEST, 5))?.newest.day).toBe(addDays(NEWEST, -1));
  });
});

describe('what it is judged by', () => {
  test('nothing, for fewer than 30 days', () => {
    const { days } = ledgerOf(row('2025-01-01', 31, 5, 1));
    expect(judge(days, '2025-01-31', null)).toBeNull();
    const lines = Array.from({ length: 32 }, (_, at): Line => [addDays('2025-01-01', at), 5 + (at % 3), 1]);
    expect(judge(ledgerOf(lines).days, '2025-02-01', null)?.newest).toMatchObject({
      by: 'season',
      expected: expect.closeTo(6_000_000, -6),
    });
    expect(judgeUse(new Map(), '2025-02-01', null, null)).toBeNull();
  });

  test('a meter that tells every second day is never judged', () => {
    const sparse = live({ readEvery: 2 });
    expect(judge(sparse.days, NEWEST, sparse.temperatures)).toBeNull();
  });

  test('the season, once no temperature has come for more than three days', () => {
    const until = (last: Day): Temperatures => new Map([...HOME.temperatures].filter(([day]) => day <= last));
    const late = judge(HOME.days, NEWEST, until(addDays(NEWEST, -3)));
    expect(late?.newest).toMatchObject({ day: addDays(NEWEST, -3), by: 'weather' });
    expect(judge(HOME.days, NEWEST, until(addDays(NEWEST, -4)))?.newest).toMatchObject({
      day: NEWEST,
      by: 'season',
    });
  });

  test('three cold days, where no weather is known, which is no fault; one day far off is', () => {
    const even = row('2025-01-01', 90, 0, null).map(([day], at): Line => [day, 9 + (at % 3), null]);
    const judged = (kwh: number) => {
      const cold = Array.from({ length: 3 }, (_, at): Line => [addDays('2025-04-01', at), kwh, null]);
      return judge(ledgerOf([...even, ...cold]).days, '2025-04-03', null)?.unusual;
    };
    expect(judged(14)).toBeNull();
    expect(judged(60)).toMatchObject({ direction: 'high', reason: 'day' });
  });

  test('days before it alone: what it used itself changes nothing in what was expected', () => {
    const known = new Map([...HOME.days].filter(([day]) => day <= NEWEST));
    for (const weather of [HOME.temperatures, null]) {
      const usual = judge(known, NEWEST, weather)?.newest;
      fc.assert(
        fc.property(fc.double({ min: 0.01, max: 100, noNaN: true }), (kwh) => {
          const { energy, ...expected } = judge(withDay(known, NEWEST, kwh), NEWEST, weather)?.newest ?? {};
          expect({ ...expected, energy: usual?.energy }).toEqual(usual);
          expect(energy).toBe(toMicro(kwh));
        }),
        { numRuns: 20 },
      );
    }
  });
});

test('surrounds the expectation with its band when the days hold anything', () => {
  const day = fc.option(fc.oneof(fc.constant(0), fc.double({ min: 0, max: 200, noNaN: true })), {
    freq: 10,
  });
  fc.assert(
    fc.property(fc.array(day, { minLength: 31, maxLength: 120 }), (all) => {
      const lines = all.map((kwh, at) => [addDays('2025-01-01', at), kwh, null] as const);
      const { days } = ledgerOf(lines);
      const temperatures = new Map(lines.map(([each], at) => [each, (at % 23) - 4]));
      for (const weather of [null, temperatures]) {
        const found = judge(days, '2025-05-31', weather);
        if (found === null) continue;
        const { low, expected, high } = found.newest;
        expect([low, expected, high].every(Number.isSafeInteger)).toBe(true);
        expect(0 <= low && low <= expected && expected <= high).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
