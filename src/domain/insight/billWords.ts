// The check of a bill as it is published, and as one sentence.
import { inFull, knownUnits, type Micro, toUnits } from '../amount.ts';
import type { BillCheck } from './bill.ts';
import { LARGEST_LIMIT, NOTHING, plainMarkup, ruleWords } from './billRule.ts';

const CENT = 10_000;

/** Amounts in units of the currency; what is expected and unexplained is rounded to the cent, as bills are. */
export function billCheckRecord(check: BillCheck, currency: string) {
  const plain = check.rule && plainMarkup(check.rule);
  const unexplained = check.verdict === 'unknown' ? null : knownUnits(inCents(check.unexplained));
  return {
    verdict: check.verdict,
    sum_of_days: toUnits(check.sum),
    difference: toUnits(check.total - check.sum),
    difference_percent: percentOf(check),
    expected: knownUnits(inCents(check.expected)),
    unexplained,
    doubt: toUnits(check.doubt),
    explained_percent: plain?.percent ?? null,
    explained_amount: plain?.amount ?? null,
    rest: plain && unexplained,
    days_missing: check.missing,
    days_estimated: check.estimated,
    sentence: billSentence(check, currency),
  };
}

/** `146.20 EUR billed; the days add up to 128.81; 13.5 % on top, as before.` */
export function billSentence(check: BillCheck, currency: string): string {
  const told = [
    `${money(check.total)} ${currency} billed`,
    `the days add up to ${money(check.sum)}`,
    verdictWords(check),
    ...(check.estimated > 0 ? [`${days(check.estimated)} came with a later reading`] : []),
  ];
  return `${told.join('; ')}.`;
}

const REASONS = {
  days_missing: ({ missing }: BillCheck) =>
    `the cost of ${days(missing)} is missing there, so that the two cannot be compared`,
  overlaps: () => 'its period overlaps that of another bill, so that the two cannot be compared',
  more_to_come: () => 'another bill for these days is to come, as before',
  cancelled_out: () => 'the bills for these days cancel out',
  no_rule: (check: BillCheck) => {
    const percent = percentOf(check) === null ? '' : ` (${percentOf(check)} %)`;
    return `${moreOrLess(check.total - check.sum)}${percent}, which too few bills before it explain`;
  },
} as const;

function verdictWords(check: BillCheck): string {
  const { verdict, reason, rule, changed, doubt, together, unexplained } = check;
  if (rule === null) return REASONS[reason ?? 'no_rule'](check);
  const standing = inFull(check.standing);
  const words = ruleWords(rule, standing);
  if (verdict === 'rule_changed' && changed)
    return `the rule has changed: ${words} since ${changed.on}, ${ruleWords(changed.before, standing)} before`;
  const open =
    inFull(doubt) > LARGEST_LIMIT
      ? `; ${money(doubt)} more or less is left open by readings at its ends or by few bills`
      : '';
  if (verdict === 'differs') {
    const made = words === NOTHING ? 'the days make' : `the days and ${words} make`;
    return `${moreOrLess(unexplained ?? 0)} than ${made}${open}`;
  }
  const since = changed ? `, since ${changed.on}` : '';
  return `${words}${since}, ${together ? TOGETHER[together.how](together.bills) : 'as before'}${open}`;
}

const TOGETHER = {
  same_days: () => 'together with the other bill for these days',
  before: (bills: number) =>
    `together with the ${bills === 1 ? 'bill' : `${bills} bills`} before it, which it puts right`,
  within: (bills: number) => `together with the ${bills} bills within its period`,
} as const;

const moreOrLess = (amount: Micro): string => `${money(Math.abs(amount))} ${amount < 0 ? 'less' : 'more'}`;

const inCents = (amount: Micro | null): Micro | null => amount && Math.round(amount / CENT) * CENT;

/** Rounded to a tenth; `null` of no sum. */
const percentOf = ({ total, sum }: BillCheck): number | null =>
  sum > 0 ? Math.round((1000 * (total - sum)) / sum) / 10 || 0 : null;

const days = (count: number): string => (count === 1 ? '1 day' : `${count} days`);

const money = (amount: Micro): string => toUnits(amount).toFixed(2);
