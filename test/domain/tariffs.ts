// Days billed by a known tariff, for the specs: with gaps, carried readings, days without the charge, and rounding.
import type { Amounts } from '../../src/domain/ledger.ts';
import { addDays, type Day } from '../../src/domain/period.ts';

export interface Price {
  readonly rate: number;
  readonly standing: number;
}

/** What happens to a day's bill. */
export type Fate = 'billed' | 'missed' | 'missed, charged once' | 'lost' | 'without charge' | 'odd';

export interface BillingOptions {
  readonly from?: Day;
  /** Decimals of the cost; default: exact to a millionth. */
  readonly decimals?: number;
  /** Added to the cost before it is rounded. */
  readonly noise?: (at: number) => number;
  readonly fate?: (at: number) => Fate;
}

/** Energies that look like days: kWh to three decimals, never twice the same in a row. */
export const usual = (at: number): number =>
  Math.round((9 + 6 * Math.sin(at * 2.4) + (at % 7)) * 1000) / 1000;

/** One price for each day, or a price for all. */
export function billed(
  energies: readonly number[],
  price: Price | ((at: number) => Price),
  { from = '2025-01-01', decimals = 6, noise = () => 0, fate = () => 'billed' }: BillingOptions = {},
): Map<Day, Amounts> {
  const days = new Map<Day, Amounts>();
  let carried = 0;
  let charges = 0;
  for (const [at, energy] of energies.entries()) {
    const { rate, standing } = typeof price === 'function' ? price(at) : price;
    const what = fate(at);
    if (what === 'lost') continue;
    carried += energy;
    charges += what === 'missed, charged once' ? 0 : 1;
    if (what.startsWith('missed')) continue;
    const right = rate * carried + standing * (what === 'without charge' ? charges - 1 : charges);
    const cost = Number(((what === 'odd' ? 2 * right + 0.77 : right) + noise(at)).toFixed(decimals));
    days.set(addDays(from, at), { energy: Math.round(carried * 1e6), cost: Math.round(cost * 1e6) });
    carried = 0;
    charges = 0;
  }
  return days;
}

export const days = (count: number, energy: (at: number) => number = usual): number[] =>
  Array.from({ length: count }, (_, at) => energy(at));
