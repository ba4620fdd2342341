// Whatever days are known, on whatever day they are looked at: the forecast lies within its band. A young meter has none.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forecastMonth } from '../../src/domain/insight/forecast.ts';
import { addDays } from '../../src/domain/period.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { holds } from '../support/property.ts';
import { ledgerOf, row } from './ledgers.ts';

/** Up to two years of readings with gaps, which begin within four years, two leap days among them. */
const days = fc
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

test('a forecast lies within its band, and no part of it below what the month has', () => {
  holds(days, today, (known, day) => {
    for (const kind of ['energy', 'cost'] as const) {
      const found = forecastMonth({ days: known, today: day, tariff: null })[kind];
      if (found?.low == null || found.high === null) continue;
      const ofMonth = [...known].filter(([each]) => each.startsWith(day.slice(0, 7)));
      const sure = ofMonth.reduce((sum, [, amounts]) => sum + (amounts[kind] ?? 0), 0);
      const inOrder = [sure, found.low, found.amount, found.high];
      expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b));
      expect(inOrder.every(Number.isSafeInteger)).toBe(true);
    }
  });
});

test('with no more than 25 days there is no band', () => {
  const young = ledgerOf(row('2025-06-01', 20, 5, 1)).days;
  expect(forecastMonth({ days: young, today: '2025-06-20', tariff: null }).cost).toEqual({
    amount: 30_000_000,
    low: null,
    high: null,
  });
});

test('with one day left of a month whose days stray, the lower end is what the month has', () => {
  const lines = Array.from({ length: 90 }, (_, at) => row(addDays('2025-04-01', at), 1, 5, at % 2 ? 9 : 0.1));
  const { days: known } = ledgerOf(lines.flat(), { origin: '2025-04-01', today: '2025-06-30' });
  const found = forecastMonth({ days: known, today: '2025-06-30', tariff: null }).cost;
  const ofJune = [...known].filter(([day]) => day >= '2025-06-01' && day < '2025-07-01');
  expect(ofJune).toHaveLength(29);
  expect(found?.low).toBe(ofJune.reduce((sum, [, { cost }]) => sum + (cost ?? 0), 0));
});
