// The weather: daily means, a saving that is found whatever the winters were like, and nothing told that is not known.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toMicro } from '../../../src/domain/amount.ts';
import {
  dailyMeans,
  feltOver,
  houses,
  openHouse,
  type Temperatures,
  type Weather,
} from '../../../src/domain/insight/weather.ts';
import type { DayRecord, Ledger } from '../../../src/domain/ledger.ts';
import { addDays, type Day, zone } from '../../../src/domain/period.ts';
import { DUBLIN, Household, type HouseholdOptions } from '../../support/household.ts';
import { holds } from '../../support/property.ts';

const BASE = 15.5;
const END = '2025-03-31';
const FROM = addDays(END, -89);
const seeds = fc.integer({ min: 1, max: 1e6 });

const household = (options: Omit<HouseholdOptions, 'from' | 'days'>) =>
  new Household({ holidays: 0, ...options, from: '2023-07-01', days: 640 });
const compared = (days: Ledger['days'], temperatures: Temperatures) => {
  const found = openHouse(days, { temperatures, base: BASE }).newestChange();
  return typeof found === 'string' ? null : found;
};
const changeOf = ({ days, temperatures }: Household) => compared(days, temperatures);
const reasonOf = ({ days, temperatures }: Pick<Household, 'days' | 'temperatures'>) =>
  openHouse(days, { temperatures, base: null }).newestChange();

test('a saving is found again, without noise within what the felt temperature makes', () => {
  holds(seeds, fc.double({ min: 0.5, max: 1.5, noNaN: true }), (seed, factor) => {
    const exact = { seed, noise: 0, setback: 1, weekend: 1 };
    const change = changeOf(household({ ...exact, changes: [{ from: FROM, factor }] }));
    expect(Math.abs((change?.percent ?? 1e9) - 100 * (factor - 1))).toBeLessThan(1.5);
    expect(change).toMatchObject({ from: FROM, to: END, days: 90 });
    expect((change?.high ?? 1e9) - (change?.low ?? 0)).toBeLessThan(5);
  });
});

test('with noise it is near, and the band holds it or nearly does', () => {
  for (const [seed, factor] of [0.7, 0.8, 0.9, 1, 1.1, 1.2].entries()) {
    const change = changeOf(household({ seed, changes: [{ from: FROM, factor }] }));
    const half = ((change?.high ?? 0) - (change?.low ?? 0)) / 2;
    expect(half).toBeLessThan(9);
    expect(Math.abs((change?.percent ?? 1e9) - 100 * (factor - 1))).toBeLessThan(4 * half);
  }
});

test('a change before the year of comparison is none of this year', () => {
  const change = changeOf(household({ seed: 9, changes: [{ from: '2023-12-01', factor: 0.6 }] }));
  expect(Math.abs(change?.percent ?? 1e9)).toBeLessThan(8);
});

test('a change in the middle of the year before is one', () => {
  const change = changeOf(household({ seed: 9, changes: [{ from: '2024-09-01', factor: 0.8 }] }));
  expect(Math.abs((change?.percent ?? 1e9) + 20)).toBeLessThan(6);
});

test('a reading each second day, and missing ones, compare the same spans', () => {
  const sparse = changeOf(household({ seed: 2, readEvery: 2, changes: [{ from: FROM, factor: 0.8 }] }));
  expect(Math.abs((sparse?.percent ?? 1e9) + 20)).toBeLessThan(6);
  const missed = changeOf(household({ seed: 2, missed: 0.2, changes: [{ from: FROM, factor: 0.8 }] }));
  expect(Math.abs((missed?.percent ?? 1e9) + 20)).toBeLessThan(6);
});

describe('nothing is told', () => {
  const { days, temperatures } = household({ seed: 1 });
  const without = (isLeft: (day: Day) => boolean) => ({
    days: new Map([...days].filter(([day]) => !isLeft(day))),
    temperatures: new Map([...temperatures].filter(([day]) => !isLeft(day))),
  });

  test.each([
    ['in the first year', { days: without((day) => day < '2024-06-01').days, temperatures }],
    [
      'without temperatures of a year ago',
      { days, temperatures: without((day) => day < '2024-03-01').temperatures },
    ],
    ['without any reading', { days: new Map(), temperatures }],
    ['without any temperature', { days, temperatures: new Map() }],
  ])('%s', (_, known) => {
    expect(reasonOf(known)).toBe('days_missing');
  });

  test('of a household whose use has nothing to do with the weather', () => {
    expect(reasonOf(household({ seed: 6, slope: 0, hotWater: 9 }))).toBe('not_heated');
  });

  test('of one whose credits outweigh what it used', () => {
    const { days, temperatures } = household({ seed: 6, noise: 0 });
    const credited = new Map(
      [...days].map(([day, one]) => [day, day < FROM ? one : { ...one, energy: -1_000_000 }]),
    );
    expect(reasonOf({ days: credited, temperatures })).toBe('not_sure');
  });

  test('of one that used next to nothing in the year before', () => {
    const away = household({ seed: 6, changes: [{ from: '2023-07-01', to: FROM, factor: 0 }] });
    expect(reasonOf(away)).toBe('not_heated');
  });
});

test('one whose days say too little is not told of a saving', () => {
  expect(reasonOf(household({ seed: 1, noise: 2.5 }))).toBe('not_sure');
});

test('a house keeps a third of yesterday where that is known', () => {
  const means = new Map([
    ['2025-01-01', 0],
    ['2025-01-02', 6],
    ['2025-01-04', 3],
  ]);
  expect(feltOver(means, { from: '2025-01-01', to: '2025-01-05' })).toEqual([0, 4, Number.NaN, 3]);
});

test('the base is the one that is given, else that of the house, else the custom', () => {
  const { days, temperatures } = household({ seed: 3 });
  const [winter, day] = [
    { from: '2025-01-01', to: '2025-02-01' },
    { from: '2025-01-01', to: '2025-01-02' },
  ];
  const given = openHouse(days, { temperatures, base: 9 });
  expect(given.lineBefore('2025-02-01')).toMatchObject({ base: 9 });
  const own = openHouse(days, { temperatures, base: null });
  expect(own.lineBefore('2025-02-01')).toMatchObject({ base: BASE });
  expect(given.degreeDays(winter)?.sum).toBeLessThan((own.degreeDays(winter)?.sum ?? 0) / 1.5);
  for (const [base, sum] of [
    [9, 4],
    [null, 10.5],
  ] as const) {
    const unread = openHouse(new Map(), { temperatures: new Map([['2025-01-01', 5]]), base });
    expect(unread.degreeDays(day)).toEqual({ sum, days: 1 });
  }
});

test('heating and hot water add up to what was used, and neither may be more', () => {
  for (const hotWater of [0.05, 2, 6]) {
    const { days, temperatures, readings } = household({ seed: 5, hotWater });
    const parts = openHouse(days, { temperatures, base: BASE }).split({
      from: '2025-01-01',
      to: '2025-02-01',
    });
    if (typeof parts === 'string') throw new Error(parts);
    const used =
      readings.reduce((sum, { day, energy }) => sum + (day.startsWith('2025-01') ? energy : 0), 0) / 1e6;
    expect(parts.heating.energy + parts.hotWater.energy).toBeCloseTo(used, 3);
    for (const { energy, low, high } of [parts.heating, parts.hotWater]) {
      expect(0 <= low && low <= energy && energy <= high).toBe(true);
      expect(high).toBeLessThanOrEqual(used + 1e-3);
    }
  }
});

test('the newest days are those that have both: older temperatures compare older days', () => {
  const { days, temperatures } = household({ seed: 1 });
  const older = new Map([...temperatures].filter(([day]) => day < '2025-03-01'));
  expect(compared(days, older)?.to).toBe('2025-02-28');
});

test('numbers of any kind: finite ones in order, or nothing', () => {
  const kwh = fc.double({ min: -100, max: 1e5, noNaN: true });
  const degrees = fc.double({ min: -60, max: 60, noNaN: true });
  holds(fc.array(fc.tuple(kwh, degrees), { minLength: 460, maxLength: 700, size: 'max' }), (rows) => {
    const known = rows.map(([energy, mean], at) => [addDays('2023-07-01', at), energy, mean] as const);
    const record = { cost: null, revision: 0, receivedAt: 1 };
    const days = new Map(known.map(([day, energy]) => [day, { ...record, energy: toMicro(energy) }]));
    const change = compared(days, new Map(known.map(([day, , mean]) => [day, mean])));
    if (change === null) return;
    expect(change.low).toBeLessThanOrEqual(change.percent);
    expect(change.percent).toBeLessThanOrEqual(change.high);
    expect(Number.isFinite(change.high - change.low)).toBe(true);
  });
});

const kept = new Household({ seed: 4, from: '2023-01-01', days: 730 });
const MONTHS = [
  { from: '2024-03-01', to: '2024-04-01' },
  { from: '2024-11-01', to: '2024-12-01' },
];
const day = fc.integer({ min: 0, max: 800 }).map((at) => addDays('2023-01-01', at));
const change = fc.oneof(
  fc.record({ kind: fc.constant('read' as const), day, factor: fc.constantFrom(0.5, 3) }),
  fc.record({ kind: fc.constant('lost' as const), day }),
  fc.record({ kind: fc.constant('temperature' as const), day }),
  fc.record({ kind: fc.constant('base' as const), base: fc.constantFrom(null, 12, 15.5) }),
);

test('comparisons that are kept are those that would be made anew, after any change of days, temperatures and base', () => {
  holds(fc.array(change, { maxLength: 3 }), (changes) => {
    const open = houses();
    let { days } = kept;
    let weather: Weather = { temperatures: kept.temperatures, base: BASE };
    for (const one of [null, ...changes]) {
      if (one?.kind === 'read') {
        const record = days.get(one.day) ?? ({ energy: 4_000_000, cost: null } as DayRecord);
        days = new Map([...days, [one.day, { ...record, energy: (record.energy ?? 1e6) * one.factor }]]);
      } else if (one?.kind === 'lost') days = new Map([...days].filter(([known]) => known !== one.day));
      else if (one?.kind === 'temperature')
        weather = { ...weather, temperatures: new Map([...weather.temperatures, [one.day, 3]]) };
      else if (one?.kind === 'base') weather = { ...weather, base: one.base };
      const [known, again] = [open(days, weather), openHouse(days, weather)];
      for (const span of MONTHS) expect(known.changeOver(span)).toEqual(again.changeOver(span));
    }
  });
});

test('a new day and a new temperature leave past months as they are', () => {
  const open = houses();
  const first = open(kept.days, { temperatures: kept.temperatures, base: null });
  const before = MONTHS.map(first.changeOver);
  const next = open(new Map([...kept.days, ['2025-01-01', { energy: 1, cost: 1 } as DayRecord]]), {
    temperatures: new Map([...kept.temperatures, ['2025-01-01', 3]]),
    base: null,
  });
  expect(before[0]).toMatchObject({ from: '2024-03-01' });
  for (const [at, span] of MONTHS.entries()) expect(next.changeOver(span)).toBe(before[at]);
});

const HOUR_MS = 3_600_000;
const hoursFrom = (start: number, count: number, mean: (at: number) => number) =>
  new Map(Array.from({ length: count }, (_, at) => [start + at * HOUR_MS, mean(at)]));

test.each([
  ['2026-01-15', 24],
  ['2026-03-29', 23],
  ['2026-10-25', 25],
])('%s has %i hours', (day, count) => {
  const hours = hoursFrom(DUBLIN.startOf(day), count, (at) => at);
  expect([...dailyMeans(hours, DUBLIN)]).toEqual([[day, (count - 1) / 2]]);
});

test('a zone whose midnight lies within an hour of UTC', () => {
  const kolkata = zone('Asia/Kolkata');
  const hours = hoursFrom(Date.parse('2026-01-14T19:00:00Z'), 24, () => 21.5);
  expect([...dailyMeans(hours, kolkata)]).toEqual([['2026-01-15', 21.5]]);
});

describe('a day of temperatures', () => {
  const start = DUBLIN.startOf('2026-01-15');
  const whole = hoursFrom(start, 24, () => 5);

  test('counts from twenty hours on', () => {
    const daysOf = (hours: number) => [...dailyMeans(new Map([...whole].slice(0, hours)), DUBLIN)];
    expect([daysOf(19), daysOf(20)]).toEqual([[], [['2026-01-15', 5]]]);
  });

  test('has nothing of what no thermometer shows', () => {
    const broken = [85, -127, Number.NaN, Number.POSITIVE_INFINITY];
    const hours = hoursFrom(start, 24, (at) => broken[at] ?? 5);
    expect(dailyMeans(hours, DUBLIN)).toEqual(new Map([['2026-01-15', 5]]));
    const mostly = hoursFrom(start, 24, (at) => (at < 5 ? 85 : 5));
    expect(dailyMeans(mostly, DUBLIN).size).toBe(0);
  });
});

test('any hours in any order: days in order, each between its coldest and its warmest hour', () => {
  const start = DUBLIN.startOf('2026-03-20');
  const mean = fc.double({ min: -200, max: 200, noNaN: true });
  holds(fc.array(fc.tuple(fc.nat(500), mean), { maxLength: 600, size: 'max' }), (rows) => {
    const hours = new Map(rows.map(([at, degrees]) => [start + at * HOUR_MS, degrees]));
    const days = dailyMeans(hours, DUBLIN);
    expect([...days.keys()]).toEqual([...days.keys()].sort());
    for (const [day, degrees] of days) {
      const own = [...hours].filter(([at, one]) => DUBLIN.dayAt(at) === day && Math.abs(one) <= 60);
      expect(degrees).toBeGreaterThanOrEqual(Math.min(...own.map(([, one]) => one)) - 0.005);
      expect(degrees).toBeLessThanOrEqual(Math.max(...own.map(([, one]) => one)) + 0.005);
    }
  });
});
