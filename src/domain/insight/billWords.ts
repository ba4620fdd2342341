// The check of a bill as it is published, and as one sentence.
import { inFull, knownUnits, type Micro, toUnits } from '../amount.ts';
import type { BillCheck, Verdict } from './bill.ts';
import { type Rule, TERMS } from './billRule.ts';

const CENT = 10_000;

/** Amounts in units of the currency. */
export interface BillCheckRecord {
  readonly verdict: Verdict;
  readonly sum_of_days: number;
  readonly difference: number;
  /** Share of the sum of the days; `null` where that is 0. */
  readonly difference_percent: number | null;
  readonly expected: number | null;
  /** Rounded to the cent, as bills are; `null` while the verdict is unknown. */
  readonly unexplained: number | null;
  /** How far off a correct bill may be: by readings at the ends of its period, or by rules that do not agree. */
  readonly doubt: number;
  /** These are `null` where the rule has another form. */
  readonly explained_percent: number | null;
  readonly explained_amount: number | null;
  readonly rest: number | null;
  readonly days_missing: number;
  readonly days_estimated: number;
  readonly sentence: string;
}

export function billCheckRecord(check: BillCheck, currency: string): BillCheckRecord {
  const { rule, unexplained, verdict } = check;
  const isPlain = rule !== null && rule.markup.energy === 0 && rule.markup.days === 0;
  const rest = unexplained === null || verdict === 'unknown' ? null : toUnits(inCents(unexplained));
  return {
    verdict,
    sum_of_days: toUnits(check.sum),
    difference: toUnits(check.difference),
    difference_percent: percentOf(check),
    expected: knownUnits(check.expected && inCents(check.expected)),
    unexplained: rest,
    doubt: toUnits(check.doubt),
    explained_percent: isPlain ? inPercent(rule.markup.sum) : null,
    explained_amount: isPlain ? Number(rule.markup.bills.toFixed(2)) || 0 : null,
    rest: isPlain ? rest : null,
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
    verdictOn(check),
    ...(check.estimated > 0 ? [`${days(check.estimated)} came with a later reading`] : []),
  ];
  return `${told.join('; ')}.`;
}

function verdictOn(check: BillCheck): string {
  const { verdict, rule, before, changedOn, doubt, together } = check;
  if (verdict === 'unknown' || rule === null) return unknownWords(check);
  if (verdict === 'rule_changed')
    return `the rule has changed: ${ruleWords(rule)} since ${changedOn}, ${before ? ruleWords(before) : 'another'} before`;
  const off = check.unexplained ?? 0;
  const open =
    doubt > 0 ? `; ${money(doubt)} more or less is left open by readings at its ends or by few bills` : '';
  if (verdict === 'differs') {
    const makes = TERMS.some((term) => rule.markup[term] !== 0)
      ? `the days and ${ruleWords(rule)} make`
      : 'the days make';
    return `${moreOrLess(off)} than ${makes}${open}`;
  }
  const how = together === null ? 'as before' : TOGETHER[together.how](together.bills);
  const since = changedOn === null ? '' : `, since ${changedOn}`;
  return `${ruleWords(rule)}${since}, ${how}${open}`;
}

const TOGETHER = {
  same_days: () => 'together with the other bill for these days',
  before: (bills: number) =>
    `together with the ${bills === 1 ? 'bill' : `${bills} bills`} before it, which it puts right`,
  within: (bills: number) => `together with the ${bills} bills within its period`,
  repeats: (bills: number) => `it repeats the ${bills} bills within its period`,
} as const;

function unknownWords(check: BillCheck): string {
  const { reason, missing, difference } = check;
  if (reason === 'days_missing')
    return `the cost of ${days(missing)} is missing there, so that the two cannot be compared`;
  if (reason === 'overlaps')
    return 'its period overlaps that of another bill, so that the two cannot be compared';
  if (reason === 'more_to_come') return 'another bill for these days is to come, as before';
  if (reason === 'cancelled_out') return 'the bills for these days cancel out';
  const percent = percentOf(check);
  return `${moreOrLess(difference)}${percent === null ? '' : ` (${percent} %)`}, which too few bills before it explain`;
}

const moreOrLess = (amount: Micro): string => `${money(Math.abs(amount))} ${amount < 0 ? 'less' : 'more'}`;

/** `13.5 % on top`, `3.50 off`, `13.5 % and 3.50 on top`, `13.5 % on the energy and 20.00 on each bill`. */
export function ruleWords({ markup }: Rule): string {
  const { sum, energy, days, bills } = markup;
  if (TERMS.every((term) => markup[term] === 0)) return 'nothing on top';
  const side = (amount: number, words: string) => `${words} ${amount < 0 ? 'off' : 'on top'}`;
  const share = (part: number) => `${Math.abs(inPercent(part))} %`;
  const amount = (units: number) => Math.abs(units).toFixed(2);
  if (energy === 0 && days === 0) {
    if (bills === 0) return side(sum, share(sum));
    if (sum === 0) return side(bills, amount(bills));
    return sum < 0 === bills < 0
      ? side(sum, `${share(sum)} and ${amount(bills)}`)
      : `${side(sum, share(sum))} and ${side(bills, amount(bills))}`;
  }
  return [
    ...(sum === 0 ? [] : [side(sum, share(sum))]),
    ...(energy === 0 ? [] : [`${share(energy)} ${energy < 0 ? 'off' : 'on'} the energy`]),
    ...(days === 0 ? [] : [`${amount(days)} ${days < 0 ? 'less' : 'more'} a day`]),
    ...(bills === 0 ? [] : [`${amount(bills)} ${bills < 0 ? 'off' : 'on'} each bill`]),
  ].join(', ');
}

const inPercent = (share: number): number => Number((100 * share).toFixed(2)) || 0;

const inCents = (amount: Micro): Micro => Math.round(amount / CENT) * CENT;

/** Rounded to a tenth. */
const percentOf = ({ difference, sum }: BillCheck): number | null =>
  sum > 0 ? Math.round(1000 * (inFull(difference) / inFull(sum))) / 10 || 0 : null;

const days = (count: number): string => (count === 1 ? '1 day' : `${count} days`);

const money = (amount: Micro): string => toUnits(amount).toFixed(2);
