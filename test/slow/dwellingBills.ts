// Bills of an invented dwelling, of many kinds: right ones, and those that are wrong by so much.
import { toMicro } from '../../src/domain/amount.ts';
import type { Invoice } from '../../src/domain/invoice.ts';
import { addDays, addMonths, type Day, zone } from '../../src/domain/period.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { type Dwelling, pick } from './dwelling.ts';

export const KINDS = [
  'nothing',
  'vat',
  'percent',
  'fee',
  'energyVat',
  'monthly',
  'wholeKwh',
  'fourWeeks',
  'quarter',
  'discount',
  'metering',
] as const;
export type Kind = (typeof KINDS)[number];

export interface BillsOptions {
  readonly kind: Kind;
  /** The step of a bill's total, in units of the currency. */
  readonly step?: number;
  /** Days by which both ends of the periods are printed wrong. */
  readonly printed?: readonly [first: number, last: number];
  /** Units of the currency too much, by the number of the bill (0: the oldest). */
  readonly wrong?: ReadonlyMap<number, number>;
  /** The same amount every month, and once a year what is left. */
  readonly instalments?: boolean;
}

export interface DwellingBill {
  readonly invoice: Invoice;
  readonly kind: 'correct' | 'wrong' | 'instalment' | 'yearly';
}

const DUBLIN = zone('Europe/Dublin');

function taxOf(seed: number) {
  const draw = drawFor(seed, 2, 'office of bills');
  const vat = pick(draw, 0.055, 0.09, 0.135, 0.2, 0.25);
  const fee = Math.round(100 * (1 + 7 * draw())) / 100;
  const monthly = Math.round(100 * (9 + 14 * draw())) / 100;
  return { vat, fee, monthly, percent: Math.round(1000 * (0.11 * draw() - 0.04)) / 1000 };
}

/** Oldest first. `perEuro`: units of the currency in a euro. */
export function billsOf(dwelling: Dwelling, options: BillsOptions, perEuro = 1): DwellingBill[] {
  const { kind, step = 0.01, printed = [0, 0], wrong = new Map(), instalments = false } = options;
  const { vat, fee, monthly, percent } = taxOf(dwelling.seed);
  const end = addDays(dwelling.from, dwelling.truth.length);
  const rounded = (amount: number) => Math.round(amount / step) * step;
  function dueFor(from: Day, to: Day): number {
    const within = dwelling.within(from, to);
    const kwh = within.reduce((sum, one) => sum + one.kwh, 0);
    let energy = within.reduce((sum, one) => sum + one.kwh * one.rate, 0);
    if (kind === 'wholeKwh') energy *= Math.round(kwh) / (kwh || 1);
    const standing = within.reduce((sum, one) => sum + one.standing, 0);
    const net = energy + standing;
    const totals: Record<Kind, number> = {
      nothing: net,
      vat: net * (1 + vat),
      percent: net * (1 + percent),
      fee: net * (1 + vat) + fee * perEuro,
      energyVat: energy * (1 + vat) + standing,
      monthly: (energy + monthly * perEuro) * (1 + vat),
      wholeKwh: net * (1 + vat),
      fourWeeks: net * (1 + vat),
      quarter: net * (1 + vat),
      discount: energy * 0.95 * (1 + vat) + standing * (1 + vat),
      metering: (net + 0.04 * perEuro * within.length) * (1 + vat),
    };
    return totals[kind];
  }
  const all: DwellingBill[] = [];
  let paid = 0;
  const instalment = rounded(Math.round((dueFor(dwelling.from, addDays(dwelling.from, 365)) / 12) * 1.05));
  for (let from = dwelling.from; ; ) {
    const at = all.length;
    const to = kind === 'fourWeeks' ? addDays(from, 28) : addMonths(from, kind === 'quarter' ? 3 : 1);
    if (to > end) return all;
    const first = addDays(from, printed[0]);
    const last = addDays(to, printed[1]);
    const extra = wrong.get(at) ?? 0;
    const total = instalments ? instalment : rounded(dueFor(from, to)) + extra;
    const which = wrong.has(at) ? 'wrong' : 'correct';
    all.push({
      invoice: invoiceOf(all.length, first, last, total),
      kind: instalments ? 'instalment' : which,
    });
    paid += total;
    from = to;
    if (instalments && from.endsWith('-01-01')) {
      const begin = `${Number(from.slice(0, 4)) - 1}-01-01`;
      const left = rounded(dueFor(begin, from)) - paid + extra;
      all.push({ invoice: invoiceOf(all.length, begin, from, left), kind: 'yearly' });
      paid = 0;
    }
  }
}

function invoiceOf(at: number, from: Day, to: Day, total: number): Invoice {
  return {
    id: `I${String(at + 1).padStart(3, '0')}`,
    status: 'invoice',
    startAt: DUBLIN.startOf(from),
    endAt: DUBLIN.startOf(to),
    dueAt: DUBLIN.startOf(addDays(to, 14)),
    total: toMicro(Math.round(total * 100) / 100),
    open: 0,
  };
}
