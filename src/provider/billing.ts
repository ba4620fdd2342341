// What an account has to pay: the balance due, the credit, and the list of invoices.
import * as z from 'zod';
import { type Micro, sumKnown } from '../domain/amount.ts';
import { type Invoice, newestFirst } from '../domain/invoice.ts';
import { readList } from './lists.ts';
import { looseAmount, looseInstant, understand, understandRow } from './reply.ts';
import { type Ask, UnexpectedReply } from './request.ts';

const BALANCE = 'balance due';
const CREDIT = 'credit balance';
const MOST_PAGES = 20;

/** `null` when the provider says that there is no open bill. */
export async function readBalance(
  ask: Ask,
  { personCustomerId }: { readonly personCustomerId: string },
  signal?: AbortSignal,
): Promise<Micro | null> {
  const path = `/customers/${encodeURIComponent(personCustomerId)}/open-bill-due`;
  const json = await ask({ method: 'GET', path, what: BALANCE, signal });
  const { open_bill_due } = understand(BALANCE, z.object({ open_bill_due: z.unknown() }), json);
  return amountIn(BALANCE, 'open_bill_due', open_bill_due);
}

/** The amounts of these billing profiles added up, with the sign that the provider gives them. */
export async function readCredit(
  ask: Ask,
  {
    personCustomerId,
    billingProfileIds,
  }: { readonly personCustomerId: string; readonly billingProfileIds: readonly string[] },
  signal?: AbortSignal,
): Promise<Micro | null> {
  const amounts: (Micro | null)[] = [];
  for (const profile of billingProfileIds.length > 0 ? billingProfileIds : [null]) {
    const rows = await readList(ask, {
      what: CREDIT,
      path: '/credit-balances',
      query: { customer: personCustomerId, ...(profile === null ? {} : { 'billing-profile': profile }) },
      row: z.looseObject({ amount: z.unknown() }),
      identity: (row) => JSON.stringify(row),
      mostPages: MOST_PAGES,
      signal,
    });
    amounts.push(...rows.map(({ amount }) => amountIn(CREDIT, 'amount', amount)));
  }
  return sumKnown(amounts);
}

/** Throws for an amount that cannot be read: it must not be counted as none. */
function amountIn(what: string, where: string, given: unknown): Micro | null {
  const amount = understandRow(looseAmount, given);
  if (amount === null && given !== null) {
    throw new UnexpectedReply(
      what,
      `a number or null at ${where}`,
      given === undefined ? 'nothing' : 'neither',
    );
  }
  return amount;
}

export interface InvoiceQuestion {
  readonly personCustomerId: string;
  /** `null`: the provider has named none. */
  readonly billingProfileId: string | null;
  readonly now: number;
  readonly signal?: AbortSignal | undefined;
}

const INVOICES = 'list of invoices';
const DAY_MS = 24 * 3_600_000;
const BACK_DAYS = 3 * 366;
// Invoices dated ahead are listed too.
const AHEAD_DAYS = 366;

/** Those of the last three years, newest first. Rows without a usable id are left out; the others stay. */
export async function readInvoices(ask: Ask, question: InvoiceQuestion): Promise<Invoice[]> {
  const { personCustomerId, billingProfileId, now, signal } = question;
  const rows = await readList(ask, {
    what: INVOICES,
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
    throw new UnexpectedReply(INVOICES, 'invoices with an id', `${rows.length} without`);
  }
  return newestFirst(invoices);
}

// Both are published as they are: anything that looks like neither id nor status might be personal data.
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
