// The forecast of the month: known days as they are, the recent mean for every other day, and a band around both.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forecastMonth } from '../../../src/domain/insight/forecast.ts';
import { addDays } from '../../../src/domain/period.ts';
import { type Days, fitTariff, type Tariff } from '../../../src/domain/tariff/tariff.ts';
import { drawFor } from '../../../src/simulator/random.ts';
import { holds } from '../../support/property.ts';
import { type Line, ledgerOf, row } from '../ledgers.ts';
import { billed, days, type Fate } from '../tariffs.ts';

const EUR = 1_000_000;
const PRICE = { rate: 0.1, standing: 0.5 };
const TARIFF: Tariff = {
  unitRate: 0.1,
  standingCharge: 500_000,
  unitRateMargin: 0,
  standingChargeMargin: 0,
  from: '2025-05-01',
  to: '2025-06-02',
  daysExplained: 32,
  daysSeen: 32,
  tolerance: 100,
};
const month = (days: Days, today: string, tariff: Tariff | null) => forecastMonth({ days, today, tariff });
const forecast = (lines: readonly Line[], today: string) =>
  month(ledgerOf(lines, { origin: '2023-01-01', today }).days, today, null).cost;

test.each<[string, Line[], string, number | null]>([
  ['nothing known', [], '2025-06-15', null],
  ['energy, but no cost', row('2025-06-01', 10, 5, null), '2025-06-15', null],
  ['nothing in the last month', row('2025-03-01', 31, 5, 1), '2025-06-15', null],
  ['the first of the month, nothing of it yet', row('2025-05-01', 31, 5, 1), '2025-06-01', 30],
  ['the first of the month, and its day is there', row('2025-05-18', 15, 5, 1), '2025-06-01', 30],
  ['half of the month', row('2025-06-01', 15, 5, 2), '2025-06-15', 60],
  [
    'dear days, then cheap',
    [...row('2025-06-01', 2, 9, 10), ...row('2025-06-03', 14, 1, 1)],
    '2025-06-16',
    48,
  ],
  ['late days count as days to come', row('2025-06-01', 10, 5, 1), '2025-06-20', 30],
  [
    'a gap is in the reading after it',
    [...row('2025-06-01', 5, 5, 1), ...row('2025-06-11', 5, 5, 1)],
    '2025-06-15',
    20,
  ],
  ['the last day of the month', row('2025-06-01', 30, 5, 1), '2025-06-30', 30],
  ['a whole month, two days in the next', row('2025-05-01', 33, 5, 1), '2025-06-02', 30],
  ['February of a leap year', row('2024-01-15', 31, 5, 1), '2024-02-14', 29],
])('%s', (_name, lines, today, units) => {
  const found = forecast(lines, today);
  // A young meter has no band.
  if (lines.length < 25) expect([found?.low ?? null, found?.high ?? null]).toEqual([null, null]);
  if (units === null) expect(found).toBeNull();
  // With a month of days or more the season counts too.
  else
    expect(Math.abs((found?.amount ?? 0) - units * EUR)).toBeLessThan(
      units * (lines.length < 30 ? 20 : 80_000),
    );
});

test('counts two days when a reading carries two', () => {
  const energies = days(40, (at) => 8 + 2 * (at % 5));
  const fate = (at: number): Fate => (at === 35 ? 'missed' : 'billed');
  const known = billed(energies, PRICE, { from: '2025-05-01', fate });
  const tariff = fitTariff(known);
  expect(tariff).toMatchObject({ unitRate: 0.1, standingCharge: 500_000 });
  // Rounds of 8 to 16 kWh, 12 a day, and the two days of the gap are no gap.
  const whole = month(known, '2025-06-09', tariff).cost?.amount ?? 0;
  expect(Math.abs(whole - 30 * 1.7 * EUR)).toBeLessThan(3 * EUR);
  const energy = month(known, '2025-06-09', tariff).energy?.amount ?? 0;
  expect(Math.abs(energy - 30 * 12 * EUR)).toBeLessThan(30 * EUR);
});

test('counts no day of the month before when the reading of the first carries some', () => {
  const fate = (at: number): Fate => (at === 30 ? 'missed' : 'billed');
  const energies = days(33, () => 10);
  const known = billed(energies, PRICE, { from: '2025-05-01', fate });
  // Two bills in June, the first with the last day of May in it, and 28 days to come.
  const whole = month(known, '2025-06-02', TARIFF).cost?.amount ?? 0;
  expect(Math.abs(whole - (3 + 1.5 + 28 * 1.5) * EUR)).toBeLessThan(1.2 * EUR);
});

/** Days of two kinds. */
const UNEVEN = days(59, (at) => (at % 2 === 0 ? 1 : 30));

test('prices the band of the heat when there is a tariff, from what is known already', () => {
  const known = billed(UNEVEN, PRICE, { from: '2025-05-01' });
  const middle = month(new Map([...known].filter(([day]) => day <= '2025-06-15')), '2025-06-15', TARIFF);
  const { energy, cost } = middle;
  if (!energy || !cost) throw new Error('no forecast');
  const widthOf = ({ amount, high }: typeof energy) => (high ?? 0) - amount;
  expect(widthOf(energy)).toBeGreaterThan(20 * EUR);
  expect(widthOf(cost) / widthOf(energy)).toBeCloseTo(PRICE.rate, 4);
  // One day is left, and it may well use nothing.
  const less = billed(
    days(60, (at) => (at % 2 === 0 ? 9 : 25)),
    PRICE,
    { from: '2025-05-01' },
  );
  const last = month(less, '2025-06-29', null).energy;
  const used = [...less].reduce(
    (sum, [day, one]) => (day >= '2025-06-01' ? sum + (one.energy ?? 0) : sum),
    0,
  );
  expect(last?.low).toBe(used);
});

test('prices heat by the tariff when its days have no cost yet', () => {
  const all = billed(
    days(45, () => 10),
    PRICE,
    { from: '2025-05-01' },
  );
  const known = new Map(
    [...all].map(([day, one]) => [day, day < '2025-06-10' ? one : { ...one, cost: null }]),
  );
  const whole = month(known, '2025-06-14', TARIFF).cost?.amount ?? 0;
  expect(Math.abs(whole - 30 * 1.5 * EUR)).toBeLessThan(1.2 * EUR);
});

/** Up to two years of readings with gaps, which begin within four years, two leap days among them. */
const manyDays = fc
  .tuple(fc.nat({ max: 1_300 }), fc.integer({ min: 300, max: 700 }), fc.nat())
  .map(([before, count, seed]) => {
    const random = drawFor(seed, 0, 'days');
    const amount = () => (random() < 1 / 7 ? null : Math.floor(random() * 9_000_000));
    const known = Array.from({ length: count }, (_, at) => addDays('2023-01-01', before + at));
    return new Map(
      known.filter(() => random() > 1 / 6).map((day) => [day, { energy: amount(), cost: amount() }]),
    );
  });
/** Often one of the last of a month, when little is left to be forecast. */
const today = fc.oneof(
  fc.nat({ max: 1_550 }).map((at) => addDays('2024-01-01', at)),
  fc.constantFrom('2024-02-29', '2025-01-31', '2026-03-29', '2027-10-30'),
);

test('lies within its band, and not below what the month has, when days are any numbers', () => {
  holds(manyDays, today, (known, day) => {
    for (const kind of ['energy', 'cost'] as const) {
      const found = month(known, day, null)[kind];
      if (found?.low == null || found.high === null) continue;
      const ofMonth = [...known].filter(([each]) => each.startsWith(day.slice(0, 7)));
      const sure = ofMonth.reduce((sum, [, amounts]) => sum + (amounts[kind] ?? 0), 0);
      const inOrder = [sure, found.low, found.amount, found.high];
      expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b));
      expect(inOrder.every(Number.isSafeInteger)).toBe(true);
    }
  });
});
