// The money of an account: the balance due, the credit, and the list of invoices or bills.
import * as z from 'zod';
import { type Micro, sumKnown } from '../../domain/amount.ts';
import type { ReadInvoices } from '../../domain/extras.ts';
import { type Invoice, newestFirst } from '../../domain/invoice.ts';
import type { Customer, InvoiceQuestion } from '../provider.ts';
import {
  askFor,
  digestOf,
  kindInWords,
  looseAmount,
  looseInstant,
  numberOrText,
  readKnown,
  readList,
} from '../reply.ts';
import { type Ask, ProviderRefused, UnexpectedReply } from '../request.ts';
import { NAMES, PATHS } from './names.ts';

const BALANCE = 'balance due';
const CREDIT = 'credit balance';

/** `null` when the provider says that there is no open bill. */
export async function readBalance(
  ask: Ask,
  { personCustomerId }: Pick<Customer, 'personCustomerId'>,
  signal?: AbortSignal,
): Promise<Micro | null> {
  const path = PATHS.balance(personCustomerId);
  const exchange = { method: 'GET', path, what: BALANCE, signal } as const;
  const { open_bill_due } = await askFor(ask, exchange, z.object({ open_bill_due: z.unknown().optional() }));
  return amountIn(BALANCE, 'open_bill_due', open_bill_due);
}

/** The amounts of these billing profiles added up, with the sign that the provider gives them. */
export async function readCredit(
  ask: Ask,
  { personCustomerId, billingProfileIds }: Customer,
  signal?: AbortSignal,
): Promise<Micro | null> {
  const amounts: (Micro | null)[] = [];
  for (const profile of profilesOf(billingProfileIds)) {
    const rows = await readList(ask, {
      what: CREDIT,
      path: PATHS.credit,
      query: { customer: personCustomerId, ...profile },
      row: creditRow,
      signal,
    });
    amounts.push(...rows.map(({ amount }) => amount));
  }
  return sumKnown(amounts);
}

const creditRow = z
  .looseObject({ amount: z.unknown().optional() })
  .transform((row) => ({ amount: amountIn(CREDIT, 'amount', row.amount), id: digestOf(row) }));

/** The filter for each billing profile; one without, where the provider has named none. */
const profilesOf = (ids: readonly string[]): readonly { readonly 'billing-profile'?: string }[] =>
  ids.length > 0 ? ids.map((id) => ({ 'billing-profile': id })) : [{}];

/** Throws for an amount that cannot be read: it must not be counted as none. */
function amountIn(what: string, where: string, given: unknown): Micro | null {
  const amount = looseAmount.parse(given);
  if (amount === null && given !== null)
    throw new UnexpectedReply(what, `a number or null at ${where}`, kindInWords(given));
  return amount;
}

// Bills have ids of their own: where they take the place of invoices, their history is no news.
const ALL_BILLS = 'bills';

const INVOICES = 'list of invoices';
const BILLS = 'list of bills';
const DAY_MS = 24 * 3_600_000;
const BACK_DAYS = 3 * 366;
// Invoices dated ahead are listed too.
const AHEAD_DAYS = 366;
const DAYS_WITHOUT = 7;

/** The invoices of the last three years; bills if the provider has no invoices, or not for this client. */
export async function readInvoices(ask: Ask, question: InvoiceQuestion): Promise<ReadInvoices> {
  const { personCustomerId, billingProfileIds, notFoundAt = null, now, signal } = question;
  const isKnownMissing = notFoundAt !== null && Math.abs(now - notFoundAt) < DAYS_WITHOUT * DAY_MS;
  const period = {
    'time-from': String(now - BACK_DAYS * DAY_MS),
    'time-to': String(now + AHEAD_DAYS * DAY_MS),
  };
  if (!isKnownMissing) {
    try {
      const byProfile = new Map<string, Invoice[]>();
      for (const profile of profilesOf(billingProfileIds)) {
        const query = {
          customerId: personCustomerId,
          ...period,
          ...profile,
          'invoice-status': NAMES.invoice,
        };
        const list = { what: INVOICES, path: PATHS.invoices, query, row: invoice, signal };
        byProfile.set(
          profile['billing-profile'] ?? '',
          newestFirst(await readKnown(ask, list, 'rows with an id')),
        );
      }
      return { byProfile, notFoundAt: null };
    } catch (err) {
      if (!(err instanceof ProviderRefused && NOT_GIVEN.has(err.status))) throw err;
    }
  }
  const path = PATHS.bills(personCustomerId);
  const list = { what: BILLS, path, query: period, row: invoice, signal };
  const bills = await readKnown(ask, list, 'rows with an id');
  const final = newestFirst(bills.filter((bill) => isFinal(bill, now)));
  return { byProfile: new Map([[ALL_BILLS, final]]), notFoundAt: isKnownMissing ? notFoundAt : now };
}

const NOT_GIVEN = new Set([403, 404, 405, 410]);
// The bill that still grows, and the one after it.
const RUNNING = new Set<string>(NAMES.runningBills);

const isFinal = ({ status, endAt }: Invoice, now: number): boolean =>
  !RUNNING.has(status?.toLowerCase() ?? '') && (endAt === null || endAt <= now);

// Both are published as they are: anything that looks like neither id nor status might be personal data.
const id = numberOrText.refine((text) => /^[\p{L}\p{N}][\p{L}\p{N}_./-]{0,63}$/u.test(text));
const status = z
  .string()
  .regex(/^[\p{L}\p{N}_ ./-]{1,40}$/u)
  .nullish()
  .catch(null);

const invoice = z
  .object({
    id,
    status,
    start_time: looseInstant,
    end_time: looseInstant,
    // The period of a bill, which tells no day by which it is to be paid.
    valid_from: looseInstant,
    valid_to: looseInstant,
    payment_due: looseInstant,
    total_amount: looseAmount,
    due_amount: looseAmount,
  })
  .transform(
    (row): Invoice => ({
      id: row.id,
      status: row.status ?? null,
      startAt: row.start_time ?? row.valid_from,
      endAt: row.end_time ?? row.valid_to,
      dueAt: row.payment_due,
      total: row.total_amount,
      open: row.due_amount,
    }),
  );
