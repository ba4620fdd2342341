// The list of invoices: dates, amounts and status of each, and nothing else of what it says.
import * as z from 'zod';
import { type Invoice, newestFirst } from '../domain/invoice.ts';
import { readList } from './lists.ts';
import { looseAmount, looseInstant, understandRow } from './reply.ts';
import { type Ask, UnexpectedReply } from './request.ts';

export interface InvoiceQuestion {
  readonly personCustomerId: string;
  /** `null`: the provider has named none. */
  readonly billingProfileId: string | null;
  readonly now: number;
  readonly signal?: AbortSignal | undefined;
}

const WHAT = 'list of invoices';
const DAY_MS = 24 * 3_600_000;
const BACK_DAYS = 3 * 366;
// One that is dated ahead is listed too.
const AHEAD_DAYS = 366;
const MOST_PAGES = 20;

/** Those of the last three years, newest first. One that cannot be told by its id is left out; it loses no other. */
export async function readInvoices(ask: Ask, question: InvoiceQuestion): Promise<Invoice[]> {
  const { personCustomerId, billingProfileId, now, signal } = question;
  const rows = await readList(ask, {
    what: WHAT,
    path: '/invoices',
    query: {
      customerId: personCustomerId,
      'time-from': String(now - BACK_DAYS * DAY_MS),
      'time-to': String(now + AHEAD_DAYS * DAY_MS),
      ...(billingProfileId === null ? {} : { 'billing-profile': billingProfileId }),
      'invoice-status': 'invoice',
    },
    row: z.unknown(),
    identity: (row) => toInvoice(row)?.id ?? JSON.stringify(row),
    mostPages: MOST_PAGES,
    signal,
  });
  const invoices = rows.flatMap((row) => toInvoice(row) ?? []);
  if (rows.length > 0 && invoices.length === 0) {
    throw new UnexpectedReply(WHAT, 'invoices with an id', `${rows.length} without`);
  }
  return newestFirst(invoices);
}

// Both go onto a topic as they are: what looks like neither id nor status could be anything about anybody.
const id = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => /^[\p{L}\p{N}][\p{L}\p{N}_./-]{0,63}$/u.test(text));
const status = z
  .string()
  .regex(/^[\p{L}\p{N}_ ./-]{1,40}$/u)
  .nullish()
  .catch(null);

const invoice = z.object({
  id,
  status,
  start_time: looseInstant,
  end_time: looseInstant,
  payment_due: looseInstant,
  total_amount: looseAmount,
  due_amount: looseAmount,
});

function toInvoice(row: unknown): Invoice | null {
  const data = understandRow(invoice, row);
  if (data === null) return null;
  return {
    id: data.id,
    status: data.status ?? null,
    startAt: data.start_time,
    endAt: data.end_time,
    dueAt: data.payment_due,
    total: data.total_amount,
    open: data.due_amount,
  };
}
