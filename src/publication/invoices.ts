// The invoices of an account: the retained list, and the word that a new one has come.
import { type Invoice, invoiceRecord } from '../domain/invoice.ts';
import type { Zone } from '../domain/period.ts';
import type { Message } from '../mqtt/message.ts';
import { say, type Topics } from './topics.ts';
import type { AccountView } from './views.ts';

// Two years of months; the command `invoices` prints more.
const NEWEST = 24;

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
  return [say('account/+/invoices', topics.accountInvoices(account), payload, { retain: true })];
}

export interface Bill {
  readonly account: string;
  readonly invoice: Invoice;
  readonly currency: string;
  readonly zone: Zone;
  /** ISO 8601. */
  readonly at: string;
}

export const billMessage = (topics: Topics, { account, invoice, currency, zone, at }: Bill): Message =>
  say(
    'account/+/event',
    topics.accountEvent(account),
    { event_type: 'bill', at, currency, invoice: invoiceRecord(invoice, zone) },
    { retain: false },
  );
