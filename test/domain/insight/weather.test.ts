// The weather: a saving that is found whatever the winters were like, and nothing told that is not known.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toMicro } from '../../../src/domain/amount.ts';
import { feltOver, openHouse, type Temperatures } from '../../../src/domain/insight/weather.ts';
import type { Ledger } from '../../../src/domain/ledger.ts';
import { addDays, type Day } from '../../../src/domain/period.ts';
import { Household, type HouseholdOptions } from '../../support/household.ts';
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

test('tells a saving when the days have no noise, within what the felt temperature makes', () => {
  holds(seeds, fc.double({ min: 0.5, max: 1.5, noNaN: true }), (seed, factor) => {
    const exact = { seed, noise: 0, setback: 1, weekend: 1 };
    const change = changeOf(household({ ...exact, changes: [{ from: FROM, factor }] }));
    expect(Math.abs((change?.percent ?? 1e9) - 100 * (factor - 1))).toBeLessThan(1.5);
    expect(change).toMatchObject({ from: FROM, to: END, days: 90 });
    expect((change?.high ?? 1e9) - (change?.low ?? 0)).toBeLessThan(5);
  });
});

const SAVED = { seed: 2, changes: [{ from: FROM, factor: 0.8 }] };
test.each<[string, Partial<HouseholdOptions>, number, number]>([
  [
    'before the year of comparison is none',
    { seed: 9, changes: [{ from: '2023-12-01', factor: 0.6 }] },
    0,
    8,
  ],
  ['in the middle of it is one', { seed: 9, changes: [{ from: '2024-09-01', factor: 0.8 }] }, -20, 6],
  ['is found in readings of each second day', { ...SAVED, readEvery: 2 }, -20, 6],
  ['is found though one reading in five is missing', { ...SAVED, missed: 0.2 }, -20, 6],
])('a change %s', (_, options, percent, within) => {
  const change = changeOf(household({ seed: 1, ...options }));
  expect(Math.abs((change?.percent ?? 1e9) - percent)).toBeLessThan(within);
});

const { days: DAYS, temperatures: TEMPERATURES } = household({ seed: 1 });
const since = <T>(known: ReadonlyMap<Day, T>, from: Day) =>
  new Map([...known].filter(([day]) => day >= from));
const CREDITED = new Map(
  [...DAYS].map(([day, one]) => [day, day < FROM ? one : { ...one, energy: -1_000_000 }]),
);

test.each<[string, string, Pick<Household, 'days' | 'temperatures'>]>([
  ['in the first year', 'days_missing', { days: since(DAYS, '2024-06-01'), temperatures: TEMPERATURES }],
  [
    'no temperatures a year ago',
    'days_missing',
    { days: DAYS, temperatures: since(TEMPERATURES, '2024-03-01') },
  ],
  ['no reading', 'days_missing', { days: new Map(), temperatures: TEMPERATURES }],
  ['no temperature', 'days_missing', { days: DAYS, temperatures: new Map() }],
  [
    'use that has nothing to do with the weather',
    'not_heated',
    household({ seed: 6, slope: 0, hotWater: 9 }),
  ],
  [
    'next to nothing used in the year before',
    'not_heated',
    household({ seed: 6, changes: [{ from: '2023-07-01', to: FROM, factor: 0 }] }),
  ],
  ['credits that outweigh the use', 'not_sure', { days: CREDITED, temperatures: TEMPERATURES }],
  ['days that say too little', 'not_sure', household({ seed: 1, noise: 2.5 })],
])('tells nothing when the case is: %s', (_, reason, known) => {
  expect(reasonOf(known)).toBe(reason);
});

test('keeps a third of yesterday when its temperature is known', () => {
  const means = new Map([
    ['2025-01-01', 0],
    ['2025-01-02', 6],
    ['2025-01-04', 3],
  ]);
  expect(feltOver(means, { from: '2025-01-01', to: '2025-01-05' })).toEqual([0, 4, Number.NaN, 3]);
});

test('takes the base of the house when none is given, and the custom when the house tells none', () => {
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

test('tells of no heating when no day was colder than the base, and no degree days when no temperature is known', () => {
  const warm = new Map([...TEMPERATURES].map(([day]) => [day, 25] as const));
  const { lineBefore, degreeDays } = openHouse(DAYS, { temperatures: warm, base: BASE });
  expect(lineBefore(END)).toBe('not_heated');
  expect(degreeDays({ from: FROM, to: END })).toEqual({ sum: 0, days: 89 });
  expect(degreeDays({ from: '2031-01-01', to: '2031-02-01' })).toBeNull();
});

test('splits a month into parts that add up when it has heat and weather', () => {
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

test('splits a month when one day has no temperature, and not when most have none', () => {
  const january = { from: '2025-01-01', to: '2025-02-01' };
  const apart = (isKnown: (day: Day) => boolean) => {
    const temperatures = new Map([...TEMPERATURES].filter(([day]) => isKnown(day)));
    return openHouse(DAYS, { temperatures, base: BASE }).split(january);
  };
  expect(apart((day) => day !== '2025-01-12')).toHaveProperty('heating');
  expect(apart((day) => day < '2025-01-12' || day >= '2025-02-01')).toBe('days_missing');
});

test('compares older days when the newest have no temperature', () => {
  const older = new Map([...TEMPERATURES].filter(([day]) => day < '2025-03-01'));
  expect(compared(DAYS, older)?.to).toBe('2025-02-28');
});

test('tells finite numbers in order, or nothing, when days and temperatures are any numbers', () => {
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
