// The tariff of days that were billed by a known one, case by case.
import { describe, expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import { fitTariff } from '../../src/domain/tariff/tariff.ts';
import { billed, days, type Fate, type Price, usual } from './tariffs.ts';

const SEEN: Price = { rate: 0.124, standing: 0.686 };
const DEARER: Price = { rate: 0.138, standing: 0.71 };
const prices = (map: Parameters<typeof fitTariff>[0]) => {
  const tariff = fitTariff(map);
  return tariff && [tariff.unitRate, tariff.standingCharge / 1e6];
};
const on = (fates: Readonly<Record<number, Fate>>) => ({ fate: (at: number): Fate => fates[at] ?? 'billed' });

test('the days seen at the provider, one of them without the charge', () => {
  const map = billed([11, 14, 9, 3, 12, 7, 10, 16, 5], SEEN, { decimals: 3, ...on({ 3: 'without charge' }) });
  expect(map.get('2025-01-04')).toEqual({ energy: 3_000_000, cost: 372_000 });
  expect(fitTariff(map)).toEqual({
    unitRate: 0.124,
    standingCharge: 686_000,
    from: '2025-01-02',
    to: '2025-01-09',
    daysExplained: 8,
    daysSeen: 8,
    tolerance: 1000,
  });
});

test.each([
  ['a millionth', 6],
  ['a hundredth of a cent', 4],
  ['a tenth of a cent', 3],
  ['a cent', 2],
])('bills rounded to %s give the tariff exactly', (_name, decimals) => {
  for (const price of [SEEN, DEARER, { rate: 0.09, standing: 1.2 }, { rate: 0.2, standing: 0 }]) {
    expect(prices(billed(days(60), price, { decimals }))).toEqual([price.rate, price.standing]);
  }
});

test('a currency without cents, and round bills in one with', () => {
  const forints = billed(days(60), { rate: 14.5, standing: 80 }, { decimals: 0 });
  expect(fitTariff(forints)).toMatchObject({ unitRate: 14.5, standingCharge: 80_000_000, daysExplained: 59 });
  expect(
    prices(
      billed(
        days(30, (at) => 3 + (at % 6)),
        { rate: 0.1, standing: 0.5 },
      ),
    ),
  ).toEqual([0.1, 0.5]);
});

describe('no tariff, honestly', () => {
  test.each<[string, ReturnType<typeof billed>]>([
    ['no days', new Map()],
    ['a week', billed(days(7), SEEN)],
    [
      'the same energy every day',
      billed(
        days(100, () => 5),
        SEEN,
      ),
    ],
    [
      'nothing used',
      billed(
        days(100, () => 0),
        SEEN,
      ),
    ],
    [
      'two energies, billed in cents',
      billed(
        days(100, (at) => 3 + (at % 2)),
        SEEN,
        { decimals: 2 },
      ),
    ],
    [
      'a charge every month instead of every day',
      billed(days(120), (at) => ({ rate: 0.124, standing: at % 30 === 0 ? 20 : 0 })),
    ],
    ['a charge every other day', billed(days(120), (at) => ({ rate: 0.124, standing: (at % 2) * 1.4 }))],
    [
      'dearer above ten kWh',
      billed(days(120), (at) => ({ rate: 0.124, standing: 0.686 + Math.max(0, usual(at) - 10) * 0.1 })),
    ],
    ['money back for use', billed(days(120), { rate: -0.01, standing: 3 })],
    [
      'bills by chance',
      billed(days(200), { rate: 0, standing: 0 }, { noise: (at) => 2 + Math.sin(at * at) }),
    ],
    [
      'every second reading missed',
      billed(days(120), SEEN, { fate: (at) => (at % 2 ? 'missed' : 'billed') }),
    ],
  ])('%s', (_name, map) => {
    expect(fitTariff(map)).toBeNull();
  });
});

test('gaps, carried readings with and without their charges, odd days: all are seen, most explained', () => {
  const map = billed(days(60), SEEN, {
    decimals: 2,
    ...on({
      9: 'missed',
      20: 'missed',
      21: 'missed',
      30: 'missed, charged once',
      40: 'lost',
      50: 'odd',
      55: 'odd',
    }),
  });
  expect(fitTariff(map)).toMatchObject({
    unitRate: 0.124,
    standingCharge: 686_000,
    daysSeen: 54,
    daysExplained: 52,
  });
});

test('a change in the middle: the newest stretch, since the day of the change', () => {
  const map = billed(days(90), (at) => (at < 50 ? SEEN : DEARER), { decimals: 2 });
  expect(fitTariff(map)).toMatchObject({
    unitRate: 0.138,
    standingCharge: 710_000,
    from: addDays('2025-01-01', 50),
    to: addDays('2025-01-01', 89),
    daysSeen: 40,
    daysExplained: 40,
  });
});

test('after a change: the old one with its last day, then none, then the new one', () => {
  const story = Array.from({ length: 12 }, (_, since) => {
    const map = billed(days(50 + since), (at) => (at < 50 ? SEEN : DEARER));
    const tariff = fitTariff(map);
    return tariff && `${tariff.unitRate} to ${tariff.to}`;
  });
  const last = '2025-02-19';
  expect(story.slice(0, 7)).toEqual([...Array(3).fill(`0.124 to ${last}`), ...Array(4).fill(null)]);
  expect(story.slice(7)).toEqual(
    ['02-26', '02-27', '02-28', '03-01', '03-02'].map((day) => `0.138 to 2025-${day}`),
  );
});

test('a change too small for a cent, where bills are exact to a hundredth of it', () => {
  const after = { rate: 0.1246, standing: 0.686 };
  const map = (since: number) =>
    billed(
      days(50 + since, (at) => usual(at) / 4),
      (at) => (at < 50 ? SEEN : after),
      { decimals: 4 },
    );
  expect([1, 5, 9].map((since) => fitTariff(map(since))?.unitRate)).toEqual([0.124, undefined, 0.1246]);
});

test('twenty years: the newest year is looked at', () => {
  const map = billed(days(20 * 365), SEEN, { from: '2005-01-01' });
  expect(fitTariff(map)).toMatchObject({ daysSeen: 366, daysExplained: 366 });
});

test('a summer without heat: the year before tells the rate', () => {
  const map = billed(
    days(150, (at) => (at < 60 ? usual(at) : 0)),
    SEEN,
    { decimals: 2 },
  );
  expect(fitTariff(map)).toMatchObject({ unitRate: 0.124, standingCharge: 686_000, to: '2025-05-30' });
});
