// The check of a bill as it is published, and as one sentence.
import { inFull, knownUnits, type Micro, toUnits } from '../amount.ts';
import type { BillCheck } from './bill.ts';
import type { Placing } from './billDays.ts';
import { type Rule, sureLimit } from './billRule.ts';

const CENT = 10_000;

/** Amounts in units of the currency; what is expected and unexplained is rounded to the cent, as bills are. */
export function billCheckRecord(check: BillCheck, currency: string) {
  const { rates: [sum = 1, days = 0, bills = 0] = [] } = check.rule ?? {};
  const isPlain = check.rule !== null && days === 0;
  const unexplained = check.verdict === 'unknown' ? null : knownUnits(inCents(check.unexplained));
  return {
    verdict: check.verdict,
    sum_of_days: toUnits(check.sum),
    difference: toUnits(differenceOf(check)),
    difference_percent: percentOf(check),
    expected: knownUnits(inCents(check.expected)),
    unexplained,
    doubt: toUnits(check.doubt),
    explained_percent: isPlain ? Number((100 * sum - 100).toFixed(2)) || 0 : null,
    explained_amount: isPlain ? Number(inFull(bills).toFixed(2)) || 0 : null,
    rest: isPlain ? unexplained : null,
    days_missing: check.missing,
    days_estimated: check.estimated,
    sentence: billSentence(check, currency),
  };
}

/** `146.20 EUR billed; the days add up to 128.81 EUR; 13.5 % on top, as before.` */
export function billSentence(check: BillCheck, currency: string): string {
  const parts = [
    `${money(check.total)} ${currency} billed${paidWords(check)}`,
    `the days add up to ${money(check.sum)} ${currency}`,
    verdictWords(check),
    ...(check.estimated > 0 ? [`${days(check.estimated)} came with a later reading`] : []),
  ];
  return `${parts.join('; ')}.`;
}

const REASONS = {
  days_missing: ({ missing }: BillCheck) =>
    `the cost of ${days(missing)} is in no reading that shows it, so that the two cannot be compared`,
  overlaps: () => 'its period overlaps that of another bill, so that the two cannot be compared',
  more_to_come: () => 'another bill for these days is to come, as before',
  cancelled_out: () => 'the bills for these days cancel out',
  instalments: () => 'it is an instalment, the same whatever was used, and tells nothing of its days',
  credit_alone: () => 'it is a credit, and the bill that it belongs to is not known',
  no_rule: (check: BillCheck) => {
    const percent = percentOf(check) === null ? '' : ` (${percentOf(check)} %)`;
    return `${moreOrLess(differenceOf(check))}${percent}, which too few bills before it explain`;
  },
} as const;

const TOGETHER = {
  same_days: () => 'together with the other bill for these days',
  before: () => 'together with the bill before it, which it puts right',
  within: (bills: number) => `together with the ${bills} bills within its period`,
} as const;

function verdictWords(check: BillCheck): string {
  const { verdict, reason, rule, changed, doubt, together, unexplained } = check;
  if (rule === null) return REASONS[reason ?? 'no_rule'](check);
  const words = ruleWords(rule);
  if (verdict === 'rule_changed' && changed)
    return `the rule has changed: ${words} since ${changed.on}, ${ruleWords(changed.before)} before`;
  const isOpen = doubt > sureLimit(rule);
  const open = isOpen
    ? `; ${money(doubt)} more or less is left open by readings at its ends or by few bills`
    : '';
  if (verdict === 'differs') return `${moreOrLess(unexplained ?? 0)} than the days with ${words} make${open}`;
  const since = changed ? `, since ${changed.on}` : '';
  return `${words}${since}, ${together ? TOGETHER[together.how](together.bills) : 'as before'}${open}`;
}

/** `13.5 % on top and 3.50 on each bill`, `2 % off`; of a tax on the energy only `23 % on top and 0.16 less a day`. */
function ruleWords({ placing, rates: [sum = 1, perDay = 0, perBill = 0] }: Rule): string {
  const part = (amount: string, unit: string, more: string, less: string) =>
    Number(amount) === 0 ? [] : [`${amount.replace('-', '')}${unit} ${amount.startsWith('-') ? less : more}`];
  const parts = [
    ...part(String(Number((100 * sum - 100).toFixed(1))), ' %', 'on top', 'off'),
    ...part(inFull(perDay).toFixed(2), '', 'more a day', 'less a day'),
    ...part(inFull(perBill).toFixed(2), '', 'on each bill', 'off each bill'),
  ];
  return (new Intl.ListFormat('en-GB').format(parts) || 'nothing on top') + PLACINGS[placing];
}

const moreOrLess = (amount: Micro): string => `${money(Math.abs(amount))} ${amount < 0 ? 'less' : 'more'}`;

const inCents = (amount: Micro | null): Micro | null => amount && Math.round(amount / CENT) * CENT;

/** The days may have been paid in part before. */
export const differenceOf = ({ total, paid, sum }: BillCheck): Micro => total + (paid ?? 0) - sum;

/** Rounded to a tenth; `null` of no sum. */
const percentOf = (check: BillCheck): number | null =>
  check.sum > 0 ? Math.round((1000 * differenceOf(check)) / check.sum) / 10 || 0 : null;

const paidWords = ({ paid }: BillCheck): string =>
  paid === null ? '' : `, and ${money(paid)} paid in instalments`;

const PLACINGS: Readonly<Record<Placing, string>> = {
  printed: '',
  day_earlier: ', of days that begin and end a day earlier than is printed',
  day_later: ', of days that begin and end a day later than is printed',
  night: ', of days that end at midnight, before the register is read',
};

const days = (count: number): string => (count === 1 ? '1 day' : `${count} days`);

const money = (amount: Micro): string => toUnits(amount).toFixed(2);
