// What is published of an account: its state, its invoices, and the event of a new one.
import { type Invoice, invoiceRecord } from '../domain/invoice.ts';
import type { Message } from '../mqtt/message.ts';
import { ACCOUNT_ROWS } from './accountEntities.ts';
import { stateFrom } from './entityRow.ts';
import type { Topics } from './topics.ts';
import type { AccountView } from './views.ts';

// Two years of months; the command `invoices` prints more.
const NEWEST = 24;

export const accountStateMessage = (topics: Topics, view: AccountView): Message =>
  topics.message('account/<account>/state', [view.account], stateFrom(ACCOUNT_ROWS, view));

/** Nothing until the provider has given a list. */
export function invoicesMessages(
  topics: Topics,
  { account, invoices, currency, zone }: AccountView,
): Message[] {
  if (invoices === null) return [];
  const payload = {
    fetched_at: zone.iso(invoices.fetchedAt),
    currency,
    invoices: invoices.all.slice(0, NEWEST).map((invoice) => invoiceRecord(invoice, zone)),
  };
  return [topics.message('account/<account>/invoices', [account], payload)];
}

/** `at`: ISO 8601. */
export const billMessage = (
  topics: Topics,
  { account, currency, zone }: Pick<AccountView, 'account' | 'currency' | 'zone'>,
  invoice: Invoice,
  at: string,
): Message =>
  topics.message('account/<account>/event', [account], {
    event_type: 'bill',
    at,
    currency,
    invoice: invoiceRecord(invoice, zone),
  });
