// Each bill is judged by the rule of the bills before it, and a lasting change of the rule is told as one.
import type { Micro } from '../amount.ts';
import type { Invoice } from '../invoice.ts';
import { median, sumBy } from '../leastSquares.ts';
import { addDays, type Day, type DaySpan, type Zone } from '../period.ts';
import { type Bill, type MeterDays, openBills } from './billDays.ts';
import { roundingOf } from './billRounding.ts';
import {
  changedRule,
  findRules,
  isKept,
  isOfInstalments,
  type Observation,
  OUTLIER,
  predict,
  type Rule,
  sureLimit,
} from './billRule.ts';

export const VERDICTS = ['as_expected', 'differs', 'rule_changed', 'unknown'] as const;

type Reason =
  | 'days_missing'
  | 'no_rule'
  | 'overlaps'
  | 'more_to_come'
  | 'cancelled_out'
  | 'instalments'
  | 'credit_alone';

/** The verdict on a bill, by the bills before it. */
export interface BillCheck extends Bill {
  readonly verdict: (typeof VERDICTS)[number];
  /** The reason why nothing can be told; `null` unless the verdict is unknown. */
  readonly reason: Reason | null;
  /** The rule by which it was judged, and the one that held until it changed, with the first day of the first bill since. */
  readonly rule: Rule | null;
  readonly changed: { readonly before: Rule; readonly on: Day } | null;
  /** The rule's expectation of the days, and the bill beside that. */
  readonly expected: Micro | null;
  readonly unexplained: Micro | null;
  /** The part of its days that instalments within its period have paid; `null`: there are none. */
  readonly paid: Micro | null;
  /**
   * Half-width of the interval that holds a correct bill: about what is billed where that is as expected, else about what is expected. In
   * it are readings over the ends of its period, and what few bills leave open.
   */
  readonly doubt: Micro;
  /** Bills that were judged with it: those of the same days, directly before it, or within its longer period. */
  readonly together: { readonly how: 'same_days' | 'before' | 'within'; readonly bills: number } | null;
}

/** A check for each id of an invoice; none for those that are cancelled, have no total or period, or begin before the ledgers do. */
export type BillChecks = ReadonlyMap<string, BillCheck>;

/** A bill with the total of all of its days; `bills`: how many it stands for. */
interface Period extends Bill, Observation {}

/** A period that differs from what its rule expects: by how much, and what was allowed. */
interface Deviation extends Period {
  readonly off: number;
  readonly limit: number;
}

/** The knowledge after a bill has been judged. */
interface Past {
  /** The checks that it has written: its own, and those of earlier bills that it has changed. All of them would be kept for each bill. */
  readonly written: readonly BillCheck[];
  /** Rules are learnt by these; by `settlements`, with what instalments have paid, rules of the bills that settle them. */
  readonly lessons: readonly Period[];
  readonly settlements: readonly Period[];
  /** They are here whatever the verdict was. */
  readonly newest: readonly Period[];
  /** They have come since the newest period that does not differ. */
  readonly deviations: readonly Deviation[];
  readonly changed: BillCheck['changed'];
}

const NO_PAST: Past = {
  written: [],
  lessons: [],
  settlements: [],
  newest: [],
  deviations: [],
  changed: null,
};
const UNKNOWN = {
  verdict: 'unknown',
  reason: null,
  rule: null,
  changed: null,
  expected: null,
  unexplained: null,
  paid: null,
  together: null,
  doubt: 0,
} as const;
/** A year of months: more tell no more, and take longer. */
const BILLS_OF_RULE = 12;
/** The newest bills that tell how many there are of a period. */
const BILLS_OF_COUNT = 2 * BILLS_OF_RULE;
/** Each of fewer bills may have a fee of its own. */
const BILLS_TO_ACCUSE = 4;
/** One bill may be wrong, and two may be so by chance. */
const BILLS_OF_CHANGE = 3;
/** A rule that more of the newest bills do not keep to accuses none. */
const FEWEST_OFF = 2;
const SHARE_OFF = 0.31;

/** Judges the bills in the order of their periods. The verdicts on the first ones stay while their days and totals are the same. */
export function billJudge() {
  const billsOf = openBills();
  const judged: { readonly facts: string; readonly past: Past }[] = [];
  return (invoices: readonly Invoice[], meters: readonly MeterDays[], zone: Zone): BillChecks => {
    const checks = new Map<string, BillCheck>();
    let past = NO_PAST;
    for (const [at, bill] of billsOf(invoices, meters, zone).entries()) {
      const facts = JSON.stringify(bill);
      const before = judged[at];
      past = before?.facts === facts ? before.past : judge(past, bill, checks);
      // What followed another bill is judged anew.
      if (past !== before?.past) judged.splice(at, judged.length, { facts, past });
      for (const check of past.written) checks.set(check.id, check);
    }
    return checks;
  };
}

type Case = ReturnType<typeof caseOf>;

/** A bill among those that were judged before it. `checks`: all of these. */
function caseOf(before: Past, bill: Bill, checks: BillChecks) {
  const nearest = nearestTo(bill, checks);
  const same = nearest.filter((check) => isSameSpan(check, bill));
  const others = nearest.filter((check) => !isSameSpan(check, bill));
  const within = others.filter(({ from, to }) => from >= bill.from && to <= bill.to);
  const newest = <P extends Period>(periods: readonly P[]): readonly P[] =>
    periods.filter((period) => !isSameSpan(period, bill)).slice(-BILLS_OF_RULE);
  const past: Past = {
    ...before,
    lessons: newest(before.lessons),
    settlements: newest(before.settlements),
    newest: newest(before.newest),
    deviations: newest(before.deviations),
  };
  const period: Period = { ...bill, total: totalOf([bill, ...same]), bills: Math.max(1, within.length) };
  return { past, bill, checks, same, within, others, period };
}

function judge(before: Past, bill: Bill, checks: BillChecks): Past {
  const current = caseOf(before, bill, checks);
  const reason = incomparable(current);
  if (reason !== null) return withCheck(current.past, bill, { reason });
  const settlesInstalments = current.within.some((check) => check.reason === 'instalments');
  return settlesInstalments ? judgeSettlement(current) : judgeByRule(current);
}

/** Ends are in order but for what their correction has moved them. */
const OUT_OF_ORDER_DAYS = 4;

/** Those of the bills before that may have a day in common with it, and enough of the newest others. Of thousands all would be looked at for each. */
function nearestTo(bill: Bill, checks: BillChecks): readonly BillCheck[] {
  const judged = [...checks.values()];
  const endsBefore = addDays(bill.from, -OUT_OF_ORDER_DAYS);
  let others = 0;
  const tooFar = judged.findLastIndex((check) => {
    if (check.to <= endsBefore && others >= BILLS_OF_COUNT) return true;
    if (!isSameSpan(check, bill)) others += 1;
    return false;
  });
  return judged.slice(tooFar + 1);
}

function withCheck(past: Past, bill: Bill, check: Partial<BillCheck>): Past {
  return { ...past, written: [{ ...UNKNOWN, ...bill, ...check }] };
}

/** The reason why a bill cannot be compared with its days; `null`: it can be. */
function incomparable({ bill, same, within, others, period }: Case): Reason | null {
  if (bill.missing > 0) return 'days_missing';
  if (within.length === 0 && others.some((other) => isOver(other, bill))) return 'overlaps';
  if (same.length > 0 && period.total === 0) return 'cancelled_out';
  return same.length + 1 < usualCount(others) ? 'more_to_come' : null;
}

/** Together with its paid instalments it is the bill of all its days. Years teach a rule, as months do not. */
function judgeSettlement({ past, bill, within, period }: Case): Past {
  const paid = totalOf(within);
  const settled: Period = { ...period, bills: 1, total: period.total + paid };
  const next: Past = { ...past, settlements: [...past.settlements, settled] };
  const unknown = withCheck(next, bill, { reason: 'no_rule', paid });
  const expectation = expectationOf(past.settlements, settled);
  if (expectation === null) return unknown;
  const { isExpected, isLeftOpen, figures } = compared(settled.total, expectation);
  if (!isExpected && (isLeftOpen || past.settlements.length < BILLS_TO_ACCUSE)) return unknown;
  return withCheck(isExpected ? next : past, bill, {
    ...figures,
    verdict: isExpected ? 'as_expected' : 'differs',
    expected: figures.expected - paid,
    paid,
    together: togetherWith('within', within),
  });
}

/** The bill becomes one of the newest (`noted`), and may be learnt by (`learnt`) if its days are known exactly. */
function judgeByRule(current: Case): Past {
  const { past, bill, within, period } = current;
  const isLonger = within.length > 0;
  const noted: Past = isLonger ? past : { ...past, newest: [...past.newest, period] };
  const isExact = !isLonger && bill.open === 0;
  const learnt: Past = isExact ? { ...noted, lessons: [...noted.lessons, period] } : noted;
  const expectation = expectationOf(past.lessons, period);
  if (expectation === null) return withCheck(learnt, bill, { reason: 'no_rule' });
  const { rule } = expectation;
  if (isOfInstalments(rule)) return withCheck(learnt, bill, { reason: 'instalments' });

  const { off, limit, isExpected, isLeftOpen, figures, together } = comparedAsOne(current, expectation);
  const check: Partial<BillCheck> = { ...figures, changed: past.changed, together };
  if (isExpected) {
    const deviations = isExact ? [] : past.deviations;
    return withCheck({ ...learnt, deviations }, bill, { ...check, verdict: 'as_expected' });
  }
  const deviations = [...past.deviations, { ...period, off, limit }];
  const correction = correctionBy(deviations);
  if (correction !== null)
    return withCheck({ ...noted, deviations: [] }, bill, { ...check, ...correction, verdict: 'as_expected' });
  if (isLeftOpen || isUnsure(past, rule)) return withCheck(learnt, bill, { reason: 'no_rule' });
  if (period.total < 0 && !isLonger) return withCheck(noted, bill, { reason: 'credit_alone' });
  const differs = withCheck(noted, bill, { ...check, verdict: 'differs' });
  return isLonger ? differs : withDeviations(differs, rule, deviations, current.checks);
}

/** A longer statement is the bill of all its days, or what the bills within it left open. */
function comparedAsOne({ bill, same, within, period }: Case, expectation: Expectation) {
  const complete = totalOf([bill, ...within]);
  const distance = (total: Micro) => Math.abs(total - expectation.expected);
  const isRest = within.length > 0 && distance(complete) < distance(period.total);
  return {
    ...compared(isRest ? complete : period.total, expectation),
    together: isRest ? togetherWith('within', within) : togetherWith('same_days', same),
  };
}

/** A rule of few bills accuses none, nor does one that many of the newest do not keep to. */
const isUnsure = (past: Past, rule: Rule): boolean =>
  (past.changed === null && past.lessons.length < BILLS_TO_ACCUSE) || isOftenOff(past, rule);

/** The open part of its days is billed with the tax and all. */
const openOf = ({ open, sum }: Bill, expected: number): number => (sum > 0 ? (open * expected) / sum : 0);

type Expectation = NonNullable<ReturnType<typeof expectationOf>>;

/**
 * The amount that the simplest likely rule makes of the days, and the range that any of them allows, from `low` to `high`; in both is what is
 * open of the days. `null`: it is not sure.
 */
function expectationOf(lessons: readonly Period[], period: Period) {
  const rounding = roundingOf([...lessons, period]);
  const predictions = findRules(lessons, rounding).flatMap((rule) => {
    const prediction = predict(rule, period);
    return prediction === null ? [] : [{ rule, ...prediction }];
  });
  const [simplest] = predictions;
  if (simplest === undefined || simplest.limit > sureLimit(simplest.rule)) return null;
  const { rule, expected, limit } = simplest;
  const open = openOf(period, expected);
  return {
    rule,
    expected,
    limit: limit + open,
    low: Math.min(...predictions.map((prediction) => prediction.expected - prediction.limit)) - open,
    high: Math.max(...predictions.map((prediction) => prediction.expected + prediction.limit)) + open,
  };
}

function compared(total: Micro, { rule, expected, limit, low, high }: Expectation) {
  const off = total - expected;
  const isExpected = Math.abs(off) <= limit;
  const middle = isExpected ? total : expected;
  return {
    off,
    limit,
    isExpected,
    /** Another likely rule explains it. */
    isLeftOpen: total >= low && total <= high,
    figures: {
      rule,
      expected: Math.round(expected),
      unexplained: Math.round(off),
      doubt: Math.round(Math.max(high - middle, middle - low)),
    },
  };
}

/**
 * The newest bills differ by something that the rule does not know. Two that put one another right are an estimate and its correction. Not
 * counted are those that differ since the newest one that does not, which may be a change.
 */
function isOftenOff({ newest, deviations }: Past, rule: Rule): boolean {
  const isOfChange = (period: Period) => deviations.some(({ id }) => id === period.id);
  const off = newest.filter((period) => !isOfChange(period)).map((period) => outlyingBy(rule, period));
  /** The bill before it put it right, unless that one put right another one itself. */
  const isPutRight = (at: number): boolean =>
    at > 0 && Math.abs((off[at] ?? 0) + (off[at - 1] ?? 0)) <= OUTLIER * rule.scatter && !isPutRight(at - 1);
  const alone = off.filter((by, at) => by !== 0 && !isPutRight(at) && !isPutRight(at + 1));
  const differing = off.filter((by) => by !== 0);
  return alone.length >= FEWEST_OFF && differing.length > SHARE_OFF * newest.length;
}

/** 0 of a bill that keeps to the rule. */
function outlyingBy(rule: Rule, period: Period): number {
  const expected = predict(rule, period)?.expected ?? period.total;
  const off = period.total - expected;
  return Math.abs(off) > OUTLIER * rule.scatter + openOf(period, expected) ? off : 0;
}

/** A bill gives back what the one before it was estimated too high. */
function correctionBy(deviations: readonly Deviation[]) {
  const [estimate, correction] = deviations.slice(-2);
  if (!estimate || !correction) return null;
  const left = estimate.off + correction.off;
  if (Math.abs(left) > Math.hypot(estimate.limit, correction.limit)) return null;
  return { unexplained: Math.round(left), together: togetherWith('before', [estimate]) };
}

/**
 * The newest bill differs: it may be the one by which a change of the rule is told. The bills that keep to the new rule are told so then;
 * they differed when they came.
 */
function withDeviations(
  past: Past,
  before: Rule,
  deviations: readonly Deviation[],
  checks: BillChecks,
): Past {
  const newest = deviations.slice(-BILLS_OF_CHANGE);
  const rule = newest.length === BILLS_OF_CHANGE ? changedRule(before, newest, deviations) : null;
  if (rule === null) return { ...past, deviations };
  const lessons = deviations.filter((period) => isKept(rule, period));
  const changed = { before, on: lessons[0]?.from ?? '' };
  const written = new Map(past.written.map((check) => [check.id, check]));
  for (const period of lessons) {
    const expected = predict(rule, period)?.expected ?? 0;
    written.set(period.id, {
      ...((written.get(period.id) ?? checks.get(period.id)) as BillCheck),
      verdict: 'rule_changed',
      rule,
      changed,
      together: null,
      expected: Math.round(expected),
      unexplained: Math.round(period.total - expected),
    });
  }
  return { ...past, written: [...written.values()], lessons, newest: lessons, deviations: [], changed };
}

const isSameSpan = (one: DaySpan, other: DaySpan): boolean => one.from === other.from && one.to === other.to;

/** One day in common is how some providers write the ends of periods. */
const isOver = (one: DaySpan, other: DaySpan): boolean =>
  addDays(one.to, -1) > other.from && one.from < addDays(other.to, -1);

const totalOf = (bills: readonly Bill[]): Micro => sumBy(bills, ({ total }) => total);

const togetherWith = (how: 'same_days' | 'before' | 'within', { length: bills }: readonly unknown[]) =>
  bills === 0 ? null : { how, bills };

/** A period usually has so many bills: flats may be billed apart. */
function usualCount(bills: readonly Bill[]): number {
  const newest = bills.slice(-BILLS_OF_COUNT);
  // Each period counts once: of bills that are issued again there are many, but of few periods.
  const periods = newest.filter((bill, at) => newest.findIndex((other) => isSameSpan(bill, other)) === at);
  return median(periods.map((bill) => newest.filter((other) => isSameSpan(bill, other)).length));
}
