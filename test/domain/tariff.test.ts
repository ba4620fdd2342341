// The tariff of days that were billed by a known one, case by case and whatever comes, and what it says of a single day.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import { chargesOn, fitTariff, hasMoved, standingPart, type Tariff } from '../../src/domain/tariff/tariff.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { holds, RUNS } from '../support/property.ts';
import { type BillingOptions, billed, days, type Fate, type Price, usual } from './tariffs.ts';

const SEEN: Price = { rate: 0.124, standing: 0.686 };
const TOLD = { unitRate: 0.124, standingCharge: 686_000 };
const DEARER: Price = { rate: 0.138, standing: 0.71 };
const prices = (map: Parameters<typeof fitTariff>[0]) => {
  const tariff = fitTariff(map);
  return tariff && [tariff.unitRate, tariff.standingCharge / 1e6];
};
const on = (fates: Readonly<Record<number, Fate>>) => ({ fate: (at: number): Fate => fates[at] ?? 'billed' });

test('fits the tariff when one of the days is billed without its charge', () => {
  const map = billed([11, 14, 9, 3, 12, 7, 10, 16, 5], SEEN, { decimals: 3, ...on({ 3: 'without charge' }) });
  expect(map.get('2025-01-04')).toEqual({ energy: 3_000_000, cost: 372_000 });
  expect(fitTariff(map)).toEqual({
    unitRate: 0.124,
    standingCharge: 686_000,
    unitRateMargin: expect.closeTo(0.000_1, 3),
    standingChargeMargin: expect.any(Number),
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
  ['a cent', 2],
])('fits the tariff exactly when bills are rounded to %s', (_name, decimals) => {
  for (const price of [SEEN, DEARER, { rate: 0.09, standing: 1.2 }, { rate: 0.2, standing: 0 }]) {
    expect(prices(billed(days(60), price, { decimals }))).toEqual([price.rate, price.standing]);
  }
});

test.each([8, 14, 30])('tells a rate within its margin when %d days are billed in whole cents', (count) => {
  const fitted = Array.from({ length: 60 }, (_, seed) => {
    const draw = drawFor(seed, count, 'days in cents');
    const rate = Math.round(1e4 * (0.06 + 0.2 * draw())) / 1e4;
    const energies = Array.from({ length: count }, () => Math.round(1e3 * (6 + 14 * draw())) / 1e3);
    return { rate, tariff: fitTariff(billed(energies, { rate, standing: 0.5 }, { decimals: 2 })) };
  }).filter(({ tariff }) => tariff !== null);
  const isHeld = fitted.filter(
    ({ rate, tariff }) => Math.abs((tariff?.unitRate ?? 0) - rate) <= (tariff?.unitRateMargin ?? 0) + 1e-9,
  );
  expect(fitted.length).toBeGreaterThan(30);
  expect(isHeld).toHaveLength(fitted.length);
  for (const { rate, tariff } of fitted) {
    expect(tariff?.unitRateMargin).toBeGreaterThan(0);
    expect(tariff?.unitRateMargin).toBeLessThan(0.04 * rate);
  }
});

test('fits the tariff when a currency has no cents, and when bills are round', () => {
  const forints = billed(days(60), { rate: 14.5, standing: 80 }, { decimals: 0 });
  expect(fitTariff(forints)).toMatchObject({ unitRate: 14.5, standingCharge: 80_000_000, daysExplained: 59 });
  const round = days(30, (at) => 3 + (at % 8));
  expect(prices(billed(round, { rate: 0.1, standing: 0.5 }))).toEqual([0.1, 0.5]);
});

test('fits the newest tariff when another one has more days', () => {
  const known = days(
    355,
    (at) => 14 + Math.round(12 * Math.cos((2 * Math.PI * at) / 365)) + ((at * 37) % 17) / 4,
  );
  const monthly = (at: number): Price => ({
    rate: (100 + 4 * ((Math.floor(at / 30.5) * 7) % 13)) / 1000,
    standing: 0.5,
  });
  expect(prices(billed(known, monthly))).toEqual([0.148, 0.5]);
});

type Prices = Parameters<typeof billed>[1];

test.each<[string, readonly number[], Prices, BillingOptions?]>([
  ['no days', [], SEEN],
  ['the same energy every day', days(100, () => 5), SEEN],
  ['two energies, billed in cents', days(100, (at) => 3 + (at % 2)), SEEN, { decimals: 2 }],
  ['a charge every month', days(120), (at) => ({ rate: 0.124, standing: at % 30 === 0 ? 20 : 0 })],
  ['a charge every other day', days(120), (at) => ({ rate: 0.124, standing: (at % 2) * 1.4 })],
  [
    'dearer above ten',
    days(120),
    (at) => ({ rate: 0.124, standing: 0.686 + Math.max(0, usual(at) - 10) * 0.1 }),
  ],
  ['money back for use', days(120), { rate: -0.01, standing: 3 }],
  ['bills by chance', days(200), { rate: 0, standing: 0 }, { noise: (at) => 2 + Math.sin(at * at) }],
  ['every second reading missed', days(120), SEEN, { fate: (at) => (at % 2 ? 'missed' : 'billed') }],
])('fits no tariff when the case is: %s', (_name, energies, price, options) => {
  expect(fitTariff(billed(energies, price, options))).toBeNull();
});

test('fits the newest stretch when the tariff has changed in the middle', () => {
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

test('tells the old one, then none, then the new one when days come after a change', () => {
  const story = Array.from({ length: 12 }, (_, since) => {
    const map = billed(days(50 + since), (at) => (at < 50 ? SEEN : DEARER));
    const tariff = fitTariff(map);
    return tariff && `${tariff.unitRate} to ${tariff.to}`;
  });
  const last = '2025-02-19';
  const young = ['02-26', '02-27', '02-28', '03-01', '03-02'].map((day) => `0.138 to 2025-${day}`);
  expect(story).toEqual([...Array(3).fill(`0.124 to ${last}`), ...Array(4).fill(null), ...young]);
});

test('tells a change of less than a cent when bills are exact to a hundredth of it', () => {
  const after = { rate: 0.1246, standing: 0.686 };
  const rates = [1, 5, 9].map((since) => {
    const energies = days(50 + since, (at) => usual(at) / 4);
    return fitTariff(billed(energies, (at) => (at < 50 ? SEEN : after), { decimals: 4 }))?.unitRate;
  });
  expect(rates).toEqual([0.124, undefined, 0.1246]);
});

test('looks at the newest year when there are twenty', () => {
  const map = billed(days(20 * 365), SEEN, { from: '2005-01-01' });
  expect(fitTariff(map)).toMatchObject({ daysSeen: 366, daysExplained: 366 });
});

test('takes the rate of the months before when a summer has no heat', () => {
  const energies = days(150, (at) => (at < 60 ? usual(at) : 0));
  const map = billed(energies, SEEN, { decimals: 2 });
  expect(fitTariff(map)).toMatchObject({ ...TOLD, to: '2025-05-30' });
});

describe('a day by itself', () => {
  const fates = on({ 10: 'missed', 15: 'without charge', 20: 'odd', 25: 'missed, charged once' });
  const map = billed(days(30), SEEN, fates);
  map.set('2025-01-31', { energy: 0, cost: 686_400 });
  map.set('2025-02-01', { energy: 5_000_000, cost: null });
  const tariff = fitTariff(map);
  if (!tariff) throw new Error('no tariff');

  test.each([
    ['2025-01-05', 1, 686_000],
    ['2025-01-12', 2, 1_372_000],
    ['2025-01-16', 0, 0],
    ['2025-01-21', null, null],
    ['2025-01-27', 1, 686_000],
    ['2025-01-31', null, null],
    ['2025-02-01', null, null],
    ['2025-03-01', null, null],
  ])('%s holds %s standing charges', (day, charges, standing) => {
    expect(chargesOn(tariff, map, day)).toBe(charges);
    expect(standingPart(tariff, map, day)).toBe(standing);
  });

  test('is all charge when nothing was used', () => {
    const inCents = { ...tariff, tolerance: 10_000 };
    expect(standingPart(inCents, map, '2025-01-31')).toBe(686_400);
  });
});

test('has moved when the days of the new tariff are not explained by the old one', () => {
  const map = billed(days(90), (at) => (at < 50 ? SEEN : DEARER), { decimals: 2 });
  const old = fitTariff(billed(days(50), SEEN, { decimals: 2 }));
  const fitted = fitTariff(map);
  if (!old || !fitted) throw new Error('no tariff');
  expect(hasMoved(old, fitted, map)).toBe(true);
  expect(hasMoved(fitted, fitted, map)).toBe(false);
  expect(hasMoved({ ...fitted, unitRate: 0.1381, standingCharge: 709_000 }, fitted, map)).toBe(false);
});

const price: fc.Arbitrary<Price> = fc.record({
  rate: fc.integer({ min: 60, max: 400 }).map((milli) => milli / 1000),
  standing: fc.integer({ min: 100, max: 2000 }).map((milli) => milli / 1000),
});
/** 400 of them, made of a seed: to draw each takes longer than all else. */
const series = <T>(name: string, of: (random: () => number) => T) =>
  fc.nat().map((seed) => {
    const random = drawFor(seed, 0, name);
    return Array.from({ length: 400 }, () => of(random));
  });
const OTHERS: readonly Fate[] = ['missed', 'missed, charged once', 'lost', 'without charge', 'odd'];
/** Mostly billed; at most one reading in ten goes another way. */
const fates = series(
  'fates',
  (random): Fate => (random() < 0.95 ? 'billed' : (OTHERS[Math.floor(random() * OTHERS.length)] ?? 'billed')),
);
const energies = series('energies', (random) => Math.floor(random() * 25_001));
const kwh = (milli: readonly number[], count: number) => days(count, (at) => (milli[at] ?? 0) / 1000);

function expectRight(tariff: Tariff, { rate, standing }: Price): void {
  expect(Math.abs(tariff.unitRate - rate)).toBeLessThan(0.02 * rate);
  expect(Math.abs(tariff.standingCharge / 1e6 - standing)).toBeLessThan(0.02 + 0.02 * standing);
  expect(tariff.daysExplained * 5).toBeGreaterThan(tariff.daysSeen * 3);
}

test.each([
  [6, 4],
  [3, 2],
])(
  'fits the tariff within a month when bills of %i or %i decimals have gaps, carried and odd days',
  (...some) => {
    const drawn = fc.tuple(fc.constantFrom(...some), fc.integer({ min: 45, max: 400 }));
    holds(price, energies, fates, drawn, (truth, milli, fate, [decimals, count]) => {
      const map = billed(kwh(milli, count), truth, { decimals, fate: (at) => fate[at] ?? 'billed' });
      const tariff = fitTariff(map);
      if (tariff) expectRight(tariff, truth);
      const newest = fate.slice(count - 10, count);
      if (newest.every((one) => one === 'billed')) expect(tariff).not.toBeNull();
    });
  },
);

test('fits the tariff or nothing when costs stray by up to a cent', () => {
  const noise = series('noise', (random) => (random() - 0.5) / 50);
  holds(price, energies, noise, fc.integer({ min: 1, max: 400 }), (truth, milli, off, count) => {
    const tariff = fitTariff(billed(kwh(milli, count), truth, { noise: (at) => off[at] ?? 0 }));
    if (tariff) expectRight(tariff, truth);
  });
});

test('tells the new tariff, the old one or none when the tariff changes', () => {
  fc.assert(
    fc.property(
      price,
      price,
      energies,
      fates,
      fc.integer({ min: 40, max: 200 }),
      (old, young, milli, fate, change) => {
        fc.pre(
          Math.abs(old.rate - young.rate) > 0.05 * old.rate && Math.abs(old.standing - young.standing) > 0.1,
        );
        for (const since of [0, 1, 2, 5, 8, 12, 20, 40]) {
          const map = billed(kwh(milli, change + since), (at) => (at < change ? old : young), {
            decimals: 3,
            fate: (at) => fate[at] ?? 'billed',
          });
          const tariff = fitTariff(map);
          if (!tariff) continue;
          const isOld = tariff.from < addDays('2025-01-01', change - 3) && since < 9;
          expectRight(tariff, isOld ? old : young);
        }
      },
    ),
    { numRuns: Math.ceil(RUNS / 4) },
  );
});

test('fits the same tariff when days arrive in another order', () => {
  holds(price, energies, fates, fc.integer(), (truth, milli, fate, seed) => {
    const map = billed(kwh(milli, 60), truth, { decimals: 2, fate: (at) => fate[at] ?? 'billed' });
    const shuffled = [...map].sort(
      ([a], [b]) => Math.sin(Date.parse(a) + seed) - Math.sin(Date.parse(b) + seed),
    );
    expect(fitTariff(new Map(shuffled))).toEqual(fitTariff(map));
  });
});
