// Ledgers for the specs, written as tables of kWh and EUR.
import { type Amounts, type Ledger, markRead, merge, openLedger } from '../../src/domain/ledger.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import type { Bucket } from '../../src/domain/reading.ts';

/** A day, its kWh and its EUR. */
export type Line = readonly [day: Day, kwh: number | null, eur: number | null];

const micro = (units: number | null): number | null => (units === null ? null : Math.round(units * 1e6));

export const amounts = (kwh: number | null, eur: number | null): Amounts => ({
  energy: micro(kwh),
  cost: micro(eur),
});
export const bucket = ([day, kwh, eur]: Line): Bucket => ({ day, ...amounts(kwh, eur) });
export const buckets = (...lines: readonly Line[]): Bucket[] => lines.map(bucket);

/** A ledger whose history is read to the end of `today`, with these days in it, received at 1. */
export function ledgerOf(
  lines: readonly Line[],
  { origin = '2025-01-01', today = '2025-06-30' } = {},
): Ledger {
  const whole = { from: origin, to: addDays(today, 1) };
  return markRead(merge(openLedger(origin), lines.map(bucket), 1).ledger, whole, today);
}

/** `days` lines in a row, each with the same amounts. */
export const row = (from: Day, days: number, kwh: number | null, eur: number | null): Line[] =>
  Array.from({ length: days }, (_, at) => [addDays(from, at), kwh, eur]);
