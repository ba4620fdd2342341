// Whatever is billed, and however readings go missing: a tariff that is told is the right one, and soon told.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import { fitTariff, type Tariff } from '../../src/domain/tariff/tariff.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { holds, RUNS } from '../support/property.ts';
import { billed, days, type Fate, type Price } from './tariffs.ts';

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
])('bills of %i and %i decimals, gaps, carried and odd days: the tariff, within a month', (...some) => {
  const drawn = fc.tuple(fc.constantFrom(...some), fc.integer({ min: 45, max: 400 }));
  holds(price, energies, fates, drawn, (truth, milli, fate, [decimals, count]) => {
    const map = billed(kwh(milli, count), truth, { decimals, fate: (at) => fate[at] ?? 'billed' });
    const tariff = fitTariff(map);
    if (tariff) expectRight(tariff, truth);
    const newest = fate.slice(count - 10, count);
    if (newest.every((one) => one === 'billed')) expect(tariff).not.toBeNull();
  });
});

test('noise of up to a cent: right, or nothing', () => {
  const noise = series('noise', (random) => (random() - 0.5) / 50);
  holds(price, energies, noise, fc.integer({ min: 1, max: 400 }), (truth, milli, off, count) => {
    const tariff = fitTariff(billed(kwh(milli, count), truth, { noise: (at) => off[at] ?? 0 }));
    if (tariff) expectRight(tariff, truth);
  });
});

test('a change of tariff: each day tells the tariff it has, or the old one with its last day, or none', () => {
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

test('the order in which days arrive is nothing', () => {
  holds(price, energies, fates, fc.integer(), (truth, milli, fate, seed) => {
    const map = billed(kwh(milli, 60), truth, { decimals: 2, fate: (at) => fate[at] ?? 'billed' });
    const shuffled = [...map].sort(
      ([a], [b]) => Math.sin(Date.parse(a) + seed) - Math.sin(Date.parse(b) + seed),
    );
    expect(fitTariff(new Map(shuffled))).toEqual(fitTariff(map));
  });
});
