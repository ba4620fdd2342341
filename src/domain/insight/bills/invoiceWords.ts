// The check of a bill as it is published, and as one sentence.
import { type Micro, toUnits } from '../../amount.ts';
import { addDays } from '../../period.ts';
import type { InvoiceCheck, OnTop, Shift } from './invoiceCheck.ts';

const CENT = 10_000;

/** Amounts in units of the currency. */
export interface InvoiceCheckRecord {
  readonly sum_of_days: number;
  readonly difference: number;
  /** Of the sum of the days; `null` where that is 0. */
  readonly difference_percent: number | null;
  readonly explained_percent: number | null;
  readonly explained_amount: number | null;
  /** To the cent, as bills are. */
  readonly rest: number | null;
  /** -1: the days compared are each one before those of the period. */
  readonly days_shifted: Shift;
  readonly days_missing: number;
  readonly days_estimated: number;
  readonly sentence: string;
}

export const invoiceCheckRecord = (check: InvoiceCheck, currency: string): InvoiceCheckRecord => ({
  sum_of_days: toUnits(check.sum),
  difference: toUnits(check.difference),
  difference_percent: percentOf(check),
  explained_percent: check.usual?.percent ?? null,
  explained_amount: check.usual && toUnits(check.usual.amount),
  rest: check.rest === null ? null : toUnits(Math.round(check.rest / CENT) * CENT),
  days_shifted: check.shift,
  days_missing: check.missing,
  days_estimated: check.estimated,
  sentence: invoiceSentence(check, currency),
});

/** `146.20 EUR billed; the days add up to 128.81; 13.5 % on top, as in the last four bills.` */
export function invoiceSentence(check: InvoiceCheck, currency: string): string {
  const { total, sum, shift, from, to, estimated } = check;
  const which = shift === 0 ? '' : ` from ${addDays(from, shift)} to ${addDays(to, shift)}`;
  const told = [
    `${money(total)} ${currency} billed`,
    `the days${which} add up to ${money(sum)}`,
    verdictOn(check),
    ...(estimated > 0 ? [`${days(estimated)} came with a later reading`] : []),
  ];
  return `${told.join('; ')}.`;
}

function verdictOn(check: InvoiceCheck): string {
  const { missing, usual, rest, isExplained, difference } = check;
  if (missing > 0) return `the cost of ${days(missing)} is missing there, so that the two cannot be compared`;
  if (usual === null || rest === null) {
    const percent = percentOf(check);
    return `${moreOrLess(difference)}${percent === null ? '' : ` (${percent} %)`}, which no other bill explains yet`;
  }
  if (isExplained) return `${onTopWords(usual)}${asIn(check)}`;
  const isUsual = usual.percent !== 0 || usual.amount !== 0;
  const expected = isUsual ? `the days and the usual ${onTopWords(usual, '')} make` : 'the days make';
  const byEdges =
    Math.abs(rest) <= check.edge ? ', as the readings at the ends of the period may explain' : '';
  return `${moreOrLess(rest)} than ${expected}${byEdges}`;
}

const moreOrLess = (amount: Micro): string => `${money(Math.abs(amount))} ${amount < 0 ? 'less' : 'more'}`;

/** `13.5 % on top`, `3.50 off`, `13.5 % and 3.50 on top`. */
function onTopWords({ percent, amount }: OnTop, more = ' on top', less = ' off'): string {
  if (percent === 0 && amount === 0) return `nothing${more}`;
  const isOff = percent <= 0 && amount <= 0;
  const parts = [
    ...(percent === 0 ? [] : [`${isOff ? -percent : percent} %`]),
    ...(amount === 0 ? [] : [money(isOff ? -amount : amount)]),
  ];
  return `${parts.join(' and ')}${isOff ? less : more}`;
}

const COUNTS = ['', '', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven'];

function asIn({ sameBefore, sameInAll }: InvoiceCheck): string {
  if (sameBefore > 1) return `, as in the last ${COUNTS[sameBefore] ?? sameBefore} bills`;
  if (sameBefore === 1) return ', as in the bill before';
  return sameInAll > 0 ? ', as in other bills' : '';
}

/** To a tenth. */
const percentOf = ({ difference, sum }: InvoiceCheck): number | null =>
  sum > 0 ? Math.round((1000 * difference) / sum) / 10 || 0 : null;

const days = (count: number): string => (count === 1 ? '1 day' : `${count} days`);

const money = (amount: Micro): string => toUnits(amount).toFixed(2);
