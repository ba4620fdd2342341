// Invoices of an account: what is known of each, how they are written, and which one is the newest.
import * as z from 'zod';
import { knownUnits, type Micro } from './amount.ts';
import { isCalledOverdue, isOpen } from './invoicePayment.ts';
import { compareText } from './order.ts';
import type { Day, Zone } from './period.ts';
import { instant } from './reading.ts';

const amount = z.int().nullable();

/** Instants are epoch milliseconds; `null` = the provider does not say, or nothing that can be believed. */
export const invoice = z.object({
  id: z.string(),
  /** The provider's own word. */
  status: z.string().nullable(),
  startAt: instant.nullable(),
  /** The end of its period, which is the nearest to a day of issue that the provider tells. */
  endAt: instant.nullable(),
  dueAt: instant.nullable(),
  /** Millionths. */
  total: amount,
  /** The part of it that is still to be paid. */
  open: amount,
});
export type Invoice = Readonly<z.infer<typeof invoice>>;

const A_YEAR_MS = 366 * 24 * 3_600_000;

/** An invoice as it is published: in local days and units of the currency; first and last day of its period. */
export function invoiceRecord(invoice: Invoice, zone: Zone) {
  const day = (at: number | null): Day | null => (at === null ? null : zone.dayAt(at));
  const { id, status, startAt, endAt, dueAt, total, open } = invoice;
  return {
    id,
    status,
    period_start: day(startAt),
    // Midnight ends the day before; so does its last millisecond.
    period_end: day(endAt === null ? null : endAt - 1),
    issued: day(endAt),
    due: day(dueAt),
    amount: knownUnits(total),
    amount_due: knownUnits(open),
  };
}

/** Sorted by period, then by the day they are due, then by number. Those without any date come last. */
export const newestFirst = (invoices: readonly Invoice[]): Invoice[] =>
  [...invoices].sort(
    (a, b) => dateOf(b) - dateOf(a) || (b.dueAt ?? 0) - (a.dueAt ?? 0) || compareIds(b.id, a.id),
  );

/** `invoices`: newest first. One dated more than a year ahead does not count as long as there is another. */
export const newestOf = (invoices: readonly Invoice[], now: number): Invoice | null =>
  invoices.find((invoice) => dateOf(invoice) <= now + A_YEAR_MS) ?? invoices[0] ?? null;

export type Payment = 'paid' | 'to_pay' | 'overdue';

/** `null` = not known. `overdue`: as `overdueInvoices` gives them. */
export function paymentOf(invoice: Invoice, overdue: readonly Invoice[] | null): Payment | null {
  if (overdue?.includes(invoice)) return 'overdue';
  const isToBePaid = isOpen(invoice);
  if (isToBePaid === null) return null;
  return isToBePaid ? 'to_pay' : 'paid';
}

/**
 * Invoices past their due day that are not paid, newest or not: an older one does not go away because another has
 * come. `null` = not known. `balance`: what is to be paid now, `null` = not known; where the invoices that are not yet
 * due make up all of it, nothing is overdue, whatever else they say.
 */
export function overdueInvoices(
  invoices: readonly Invoice[],
  balance: Micro | null,
  today: Day,
  zone: Zone,
): readonly Invoice[] | null {
  const isPast = (invoice: Invoice): boolean | null => {
    if (isCalledOverdue(invoice)) return true;
    return invoice.dueAt === null ? null : zone.dayAt(invoice.dueAt) < today;
  };
  const unpaid = invoices.filter((invoice) => isOpen(invoice) !== false);
  const dueLater = unpaid.filter((invoice) => isPast(invoice) === false);
  const payableLater = dueLater.reduce((sum, { open, total }) => sum + (open ?? total ?? 0), 0);
  if (balance !== null && balance <= payableLater) return [];
  const doubtful = unpaid.filter((invoice) => isPast(invoice) !== false);
  const overdue = doubtful.filter((invoice) => isPast(invoice) && isOpen(invoice));
  return overdue.length === 0 && doubtful.length > 0 ? null : overdue;
}

const dateOf = ({ startAt, endAt, dueAt }: Invoice): number => startAt ?? endAt ?? dueAt ?? 0;

/** 9 was given before 10. */
const compareIds = (a: string, b: string): number => a.length - b.length || compareText(a, b);
