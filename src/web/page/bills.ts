// A bill in words: what it comes to, whether it is paid, and how it stands to its days.
import { isOpen } from '../../domain/invoicePayment.ts';
import type { PayloadByTopic } from '../../publication/payloads/payloads.ts';
import { isEnglish, joined, say, tell, withMoney } from './words.ts';

type Invoices = PayloadByTopic['account/<account>/invoices'];
export type Bill = Invoices['invoices'][number] & Pick<Invoices, 'currency'>;

export function billWords(bill: Pick<Bill, 'amount' | 'amount_due' | 'currency' | 'due' | 'status'>): string {
  const isPaid = isOpen({ status: bill.status, open: bill.amount_due }) === false;
  return joined([say('bill.amount', bill), isPaid ? say('bill.paid') : tell('bill.due', bill)]);
}

/** The bridge's own sentence says more, and is English. */
export function checkWords(check: NonNullable<Bill['check']>, currency: string): string {
  if (isEnglish()) return withMoney(check.sentence);
  const { verdict, sum_of_days: sum, unexplained } = check;
  const difference = Math.abs(check.difference);
  const way = check.difference > 0 ? 'bill.more_than_days' : 'bill.less_than_days';
  const days = say(difference < 0.01 ? 'bill.days' : way, { sum, difference, currency });
  return joined([days, say(`bill.${verdict}`, { unexplained, currency })], '; ');
}
