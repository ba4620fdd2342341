// What is published of an account: its state, its invoices, and the event of a new one.
import type { Invoices } from '../domain/extras.ts';
import { billCheckRecord } from '../domain/insight/billWords.ts';
import { type Invoice, invoiceRecord } from '../domain/invoice.ts';
import type { Message } from '../mqtt/message.ts';
import { ACCOUNT_ROWS } from './entities/accountEntities.ts';
import { keysOf, stateFrom } from './entities/entityRow.ts';
import type { Topics } from './topics.ts';
import type { AccountView } from './views.ts';

// Two years of months; the command `invoices` prints more.
const NEWEST = 24;
const ACCOUNT_KEYS = keysOf(ACCOUNT_ROWS);

export const accountStateMessage = (topics: Topics, view: AccountView): Message =>
  topics.message('account/<account>/state', [view.account], stateFrom(ACCOUNT_KEYS, view));

export const invoicesMessage = (
  topics: Topics,
  view: Pick<AccountView, 'account' | Facts>,
  { fetchedAt, all }: Invoices,
): Message =>
  topics.message('account/<account>/invoices', [view.account], {
    fetched_at: view.zone.iso(fetchedAt),
    currency: view.currency,
    invoices: all.slice(0, NEWEST).map((invoice) => recordOf(invoice, view)),
  });

/** `at`: ISO 8601. */
export const billMessage = (
  topics: Topics,
  view: Pick<AccountView, 'account' | Facts>,
  invoice: Invoice,
  at: string,
): Message =>
  topics.message('account/<account>/event', [view.account], {
    event_type: 'bill',
    at,
    currency: view.currency,
    invoice: recordOf(invoice, view),
  });

/** What a record of an invoice is made from. */
type Facts = 'currency' | 'zone' | 'checks';

function recordOf(invoice: Invoice, { currency, zone, checks }: Pick<AccountView, Facts>) {
  const check = checks.get(invoice.id);
  return { ...invoiceRecord(invoice, zone), check: check ? billCheckRecord(check, currency) : null };
}
