// The check of a bill as it is published, and as one sentence.
import { inFull, knownUnits, type Micro, toUnits } from '../amount.ts';
import type { BillCheck } from './bill.ts';
import { LARGEST_LIMIT, type Rule } from './billRule.ts';

const CENT = 10_000;

/** Amounts in units of the currency; what is expected and unexplained is rounded to the cent, as bills are. */
export function billCheckRecord(check: BillCheck, currency: string) {
  const markup = check.rule && markupOf(check.rule);
  // Only a percentage, an amount or both can be told as that.
  const plain = markup?.isPlain ? markup : null;
  const unexplained = check.verdict === 'unknown' ? null : knownUnits(inCents(check.unexplained));
  return {
    verdict: check.verdict,
    sum_of_days: toUnits(check.sum),
    difference: toUnits(check.total - check.sum),
    difference_percent: percentOf(check),
    expected: knownUnits(inCents(check.expected)),
    unexplained,
    doubt: toUnits(check.doubt),
    explained_percent: plain === null ? null : plain.sum,
    explained_amount: plain && Number(plain.bills.toFixed(2)),
    rest: plain && unexplained,
    days_missing: check.missing,
    days_estimated: check.estimated,
    sentence: billSentence(check, currency),
  };
}
export type BillCheckRecord = Readonly<ReturnType<typeof billCheckRecord>>;

/** `146.20 EUR billed; the days add up to 128.81; 13.5 % on top, as before.` */
export function billSentence(check: BillCheck, currency: string): string {
  const told = [
    `${money(check.total)} ${currency} billed`,
    `the days add up to ${money(check.sum)}`,
    check.reason === null ? verdictWords(check) : REASONS[check.reason](check),
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

function verdictWords({ verdict, rule, before, changedOn, doubt, together, unexplained }: BillCheck): string {
  const words = ruleWords(rule);
  if (verdict === 'rule_changed')
    return `the rule has changed: ${words} since ${changedOn}, ${ruleWords(before)} before`;
  const open =
    inFull(doubt) > LARGEST_LIMIT
      ? `; ${money(doubt)} more or less is left open by readings at its ends or by few bills`
      : '';
  if (verdict === 'differs') {
    const made = words === NOTHING ? 'the days make' : `the days and ${words} make`;
    return `${moreOrLess(unexplained ?? 0)} than ${made}${open}`;
  }
  const since = changedOn === null ? '' : `, since ${changedOn}`;
  return `${words}${since}, ${together === null ? 'as before' : TOGETHER[together.how](together.bills)}${open}`;
}

const TOGETHER = {
  same_days: () => 'together with the other bill for these days',
  before: (bills: number) =>
    `together with the ${bills === 1 ? 'bill' : `${bills} bills`} before it, which it puts right`,
  within: (bills: number) => `together with the ${bills} bills within its period`,
} as const;

/** What a rule charges beside the cost of the days, or of their energy; shares in percent. */
function markupOf({ rates: [sum = 0, energy = 0, days = 0, bills = 0] }: Rule) {
  const isOnEnergy = sum === 0;
  const onSum = isOnEnergy ? 0 : inPercent(sum - 1);
  const onEnergy = inPercent(isOnEnergy ? energy - 1 : energy);
  const isPlain = !isOnEnergy && onEnergy === 0 && days === 0;
  return { sum: onSum, energy: onEnergy, days, bills, isOnEnergy, isPlain };
}

const NOTHING = 'nothing on top';

/** `13.5 % and 3.50 on top`, `2 % off`, `13.5 % on the energy and 22.70 on each bill in place of the standing charges`. */
function ruleWords(rule: Rule | null): string {
  if (rule === null) return 'another';
  const { sum, energy, days, bills, isPlain, isOnEnergy } = markupOf(rule);
  const [share, fee] = [`${Math.abs(sum)} %`, Math.abs(bills).toFixed(2)];
  const either = (size: number, more: string, less: string) => (size > 0 ? [more] : size < 0 ? [less] : []);
  if (isPlain && sum * bills > 0) return `${share} and ${fee} ${sum > 0 ? 'on top' : 'off'}`;
  const parts = [
    ...either(sum, `${share} on top`, `${share} off`),
    ...either(energy, `${energy} % on the energy`, `${-energy} % off the energy`),
    ...either(days, `${days.toFixed(2)} more a day`, `${(-days).toFixed(2)} less a day`),
    ...(isPlain
      ? either(bills, `${fee} on top`, `${fee} off`)
      : either(bills, `${fee} on each bill`, `${fee} off each bill`)),
  ];
  const words = parts.length === 0 ? NOTHING : parts.join(' and ');
  return isOnEnergy ? `${words} in place of the standing charges` : words;
}

const moreOrLess = (amount: Micro): string => `${money(Math.abs(amount))} ${amount < 0 ? 'less' : 'more'}`;

const inPercent = (share: number): number => Number((100 * share).toFixed(2)) || 0;

const inCents = (amount: Micro | null): Micro | null => amount && Math.round(amount / CENT) * CENT;

/** Rounded to a tenth; `null` of no sum. */
const percentOf = ({ total, sum }: BillCheck): number | null =>
  sum > 0 ? Math.round((1000 * (total - sum)) / sum) / 10 || 0 : null;

const days = (count: number): string => (count === 1 ? '1 day' : `${count} days`);

const money = (amount: Micro): string => toUnits(amount).toFixed(2);
