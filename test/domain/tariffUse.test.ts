// What a tariff says of a single day, and of the tariff that was told before it.
import { describe, expect, test } from 'vitest';
import { chargesOn, fitTariff, hasMoved, standingPart } from '../../src/domain/tariff/tariff.ts';
import { billed, days, type Fate, type Price } from './tariffs.ts';

const SEEN: Price = { rate: 0.124, standing: 0.686 };
const DEARER: Price = { rate: 0.138, standing: 0.71 };
const on = (fates: Readonly<Record<number, Fate>>) => ({ fate: (at: number): Fate => fates[at] ?? 'billed' });

describe('a day by itself', () => {
  const map = billed(
    days(30),
    SEEN,
    on({ 10: 'missed', 15: 'without charge', 20: 'odd', 25: 'missed, charged once' }),
  );
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

  test('without use, all of the cost is the charge, whatever the rounding', () => {
    const inCents = { ...tariff, tolerance: 10_000 };
    expect(standingPart(inCents, map, '2025-01-31')).toBe(686_400);
  });
});

test('a tariff has moved when the days of the new one are not its own', () => {
  const map = billed(days(90), (at) => (at < 50 ? SEEN : DEARER), { decimals: 2 });
  const old = fitTariff(billed(days(50), SEEN, { decimals: 2 }));
  const fitted = fitTariff(map);
  if (!old || !fitted) throw new Error('no tariff');
  expect(hasMoved(old, fitted, map)).toBe(true);
  expect(hasMoved(fitted, fitted, map)).toBe(false);
  expect(hasMoved({ ...fitted, unitRate: 0.1381, standingCharge: 709_000 }, fitted, map)).toBe(false);
});
