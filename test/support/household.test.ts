// The invented household that the proofs of bills and forecasts stand on keeps to its own truth.
import { expect, test } from 'vitest';
import { addDays, daysBetween } from '../../src/domain/period.ts';
import { fitTariff } from '../../src/domain/tariff/tariff.ts';
import { Household, stuckValve } from './household.ts';

const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;

test('the weather is that of the climate asked for', () => {
  const { truth } = new Household({ seed: 3, from: '2000-01-01', days: 7305 });
  const of = (month: string) =>
    mean(truth.filter(({ day }) => day.slice(5, 7) === month).map(({ temperature }) => temperature));
  expect(mean(truth.map(({ temperature }) => temperature))).toBeCloseTo(10, 0);
  expect(of('01')).toBeCloseTo(4.6, 0);
  expect(of('07')).toBeCloseTo(15.4, 0);
  const anomalies = truth
    .filter(({ day }) => day.slice(5, 7) === '01')
    .map(({ temperature }) => temperature - of('01'));
  const spread = Math.sqrt(mean(anomalies.map((each) => each ** 2)));
  expect(spread).toBeGreaterThan(2.2);
  expect(spread).toBeLessThan(2.8);
});

test('the same seed is the same household; a change touches only what it names', () => {
  const plain = new Household({ seed: 5 });
  const stuck = new Household({ seed: 5, changes: [stuckValve('2024-01-10')] });
  expect(new Household({ seed: 5 }).readings).toEqual(plain.readings);
  expect(stuck.temperatures).toEqual(plain.temperatures);
  expect(stuck.until('2024-01-09')).toEqual(plain.until('2024-01-09'));
  const january = { from: '2024-01-10', to: '2024-02-01' };
  expect(stuck.used(january)).toBeCloseTo(1.4 * plain.used(january), 6);
});

test.each([
  ['each day', {}],
  ['every second day', { readEvery: 2 }],
  ['some missed', { missed: 0.1 }],
])('nothing is lost where readings carry days: %s', (_name, options) => {
  const { truth, readings, span, days } = new Household({ seed: 7, ...options });
  const all = readings.reduce((sum, { energy }) => sum + energy, 0) / 1e6;
  const last = addDays(readings.at(-1)?.day ?? '', 1);
  const used = truth.filter(({ day }) => day < last).reduce((sum, each) => sum + each.used, 0);
  expect(all).toBeCloseTo(used, 0);
  expect(readings.reduce((sum, { carries }) => sum + carries, 0)).toBe(daysBetween(span.from, last));
  expect(days.size).toBe(readings.length);
  expect((readings.at(-1)?.register ?? 0) - 4711e6).toBeCloseTo(all * 1e6, -1);
});

test('its tariff is the one that is fitted from it', () => {
  expect(fitTariff(new Household({ seed: 9 }).days)).toMatchObject({
    unitRate: 0.124,
    standingCharge: 686_000,
  });
});

test('invoices add up to their days, VAT, fee and error', () => {
  const household = new Household({ seed: 11, from: '2024-01-01', days: 366 });
  const invoices = household.invoices({
    vat: [
      { from: '2024-01-01', percent: 9 },
      { from: '2024-06-01', percent: 13.5 },
    ],
    fee: 1.5,
    wrong: { 7: 12.4 },
  });
  expect(invoices).toHaveLength(12);
  expect(invoices.map(({ percent }) => percent)).toEqual([
    9, 9, 9, 9, 9, 13.5, 13.5, 13.5, 13.5, 13.5, 13.5, 13.5,
  ]);
  for (const { invoice, from, to, sum, percent, wrong } of invoices) {
    const days = [...household.days].filter(([day]) => day >= from && day < to);
    expect(days.reduce((all, [, { cost }]) => all + (cost ?? 0), 0)).toBe(sum);
    const rest = (invoice.total ?? 0) - sum * (1 + percent / 100) - 1_500_000 - wrong;
    expect(Math.abs(rest)).toBeLessThanOrEqual(5_000);
  }
  expect(invoices[7]?.wrong).toBe(12_400_000);
});
