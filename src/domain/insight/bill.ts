// Is my bill right? Each is judged by the rule of the bills before it, and a lasting change of the rule is told as one.
import { inFull, type Micro, toMicro } from '../amount.ts';
import type { Invoice } from '../invoice.ts';
import { median } from '../leastSquares.ts';
import { addDays, type Day, type DaySpan, type Zone } from '../period.ts';
import { type Bill, type MeterDays, openKnownBills } from './billDays.ts';
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
  /** Why nothing can be told; `null` unless the verdict is unknown. */
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

/** A bill with the others of its days, as the regression sees it. */
interface Seen extends Observation {
  readonly bill: Bill;
}

/** One that differs: by how much, and what was allowed. */
interface Stray extends Seen {
  readonly off: number;
  readonly limit: number;
}

/** The knowledge after a bill has been judged. */
interface Past {
  readonly checks: BillChecks;
  /** The bills that rules are learnt by; and those of all the days of several instalments, with what these have paid. */
  readonly seen: readonly Seen[];
  readonly settlements: readonly Seen[];
  /** The newest bills, whatever was told of them. */
  readonly newest: readonly Seen[];
  /** The bills that differ, since the newest one that does not. */
  readonly strays: readonly Stray[];
  readonly changed: BillCheck['changed'];
}

const NO_PAST: Past = {
  checks: new Map(),
  seen: [],
  settlements: [],
  newest: [],
  strays: [],
  changed: null,
};
const NOTHING_TOLD = {
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
/** Of fewer, each may have a fee of its own. */
const BILLS_TO_ACCUSE = 4;
/** One bill may be wrong, and two may be so by chance. */
const BILLS_OF_CHANGE = 3;

const FEWEST_OFF = 2;
const SHARE_OFF = 0.31;
/** A bill and the one that puts it right leave less than this share of what it was off; by chance two seldom do. */
const SHARE_LEFT = 0.1;

/** Judges the bills in the order of their periods. What was found of the first ones is kept while what is known of them is the same. */
export function billJudge() {
  const knownBills = openKnownBills();
  let judged: readonly { readonly known: string; readonly past: Past }[] = [];
  return (invoices: readonly Invoice[], meters: readonly MeterDays[], zone: Zone): BillChecks => {
    const before = judged;
    let past = NO_PAST;
    let isSame = true;
    judged = knownBills(invoices, meters, zone).map((bill, at) => {
      const known = JSON.stringify(bill);
      isSame &&= before[at]?.known === known;
      past = (isSame && before[at]?.past) || judge(past, bill);
      return { known, past };
    });
    return past.checks;
  };
}

/** A bill among those that were judged before it. */
interface Case {
  readonly past: Past;
  readonly bill: Bill;
  /** Others of the same days, and those within its longer period. */
  readonly same: readonly BillCheck[];
  readonly within: readonly BillCheck[];
  readonly others: readonly BillCheck[];
  /** It and the others of its days, as rules are learnt by. */
  readonly own: Seen;
  /** It has no open ends, and is of a period of its own: rules may be learnt by it. */
  readonly isSharp: boolean;
}

function judge(before: Past, bill: Bill): Past {
  const known = [...before.checks.values()];
  const same = known.filter((one) => isSameSpan(one, bill));
  const others = known.filter((one) => !isSameSpan(one, bill));
  const within = others.filter(({ from, to }) => from >= bill.from && to <= bill.to);
  const newest = <One extends Seen>(some: readonly One[]): readonly One[] =>
    some.filter((one) => !isSameSpan(one.bill, bill)).slice(-BILLS_OF_RULE);
  const past: Past = {
    ...before,
    seen: newest(before.seen),
    settlements: newest(before.settlements),
    newest: newest(before.newest),
    strays: newest(before.strays),
  };
  const own = seenOf(bill, totalOf([bill, ...same]), Math.max(1, within.length));
  const isSharp = within.length === 0 && bill.open === 0;
  const one: Case = { past, bill, same, within, others, own, isSharp };
  const silence = silenceOf(one);
  if (silence !== null) return told(past, bill, { reason: silence });
  if (within.some(({ reason }) => reason === 'instalments')) return judgeSettlement(one);
  return judgeByRule(one);
}

const told = (past: Past, bill: Bill, check: Partial<BillCheck>): Past => {
  const whole: BillCheck = { ...NOTHING_TOLD, ...bill, ...check };
  return { ...past, checks: new Map([...past.checks, [bill.id, whole]]) };
};

/** Why a bill cannot be compared with its days; `null`: it can be. */
function silenceOf({ bill, same, within, others, own }: Case): Reason | null {
  if (bill.missing > 0) return 'days_missing';
  if (within.length === 0 && others.some((one) => isOver(one, bill))) return 'overlaps';
  if (same.length > 0 && own.total === 0) return 'cancelled_out';
  return same.length + 1 < usualCount(others) ? 'more_to_come' : null;
}

/** Together with its paid instalments it is the bill of all its days. Years teach a rule, as months do not. */
function judgeSettlement({ past, bill, within, own }: Case): Past {
  const paid = totalOf(within);
  const settled: Seen = { ...own, bills: 1, total: own.total + paid };
  const next: Past = { ...past, settlements: [...past.settlements, settled] };
  const opinion = opinionOf(past.settlements, settled);
  if (opinion === null) return told(next, bill, { reason: 'no_rule', paid: toMicro(paid) });
  const { rule, expected, limit, low, high } = opinion;
  const off = settled.total - expected;
  const isExpected = Math.abs(off) <= limit;
  const isOpen = settled.total >= low && settled.total <= high;
  if (!isExpected && (isOpen || past.settlements.length < BILLS_TO_ACCUSE))
    return told(next, bill, { reason: 'no_rule', paid: toMicro(paid) });
  const middle = isExpected ? settled.total : expected;
  const check: Partial<BillCheck> = {
    verdict: isExpected ? 'as_expected' : 'differs',
    rule,
    expected: toMicro(expected - paid),
    unexplained: toMicro(off),
    paid: toMicro(paid),
    doubt: toMicro(Math.max(high - middle, middle - low)),
    together: together('within', within),
  };
  return told(isExpected ? next : past, bill, check);
}

function judgeByRule(one: Case): Past {
  const { bill, same, within, own, isSharp } = one;
  const past: Past = within.length > 0 ? one.past : { ...one.past, newest: [...one.past.newest, own] };
  const learnt: Past = isSharp ? { ...past, seen: [...past.seen, own] } : past;
  const opinion = opinionOf(past.seen, own);
  if (opinion === null) return told(learnt, bill, { reason: 'no_rule' });
  const { rule, expected, limit } = opinion;
  if (isOfInstalments(rule)) return told(learnt, bill, { reason: 'instalments' });
  const open = openOf(bill, expected);
  // A longer statement is the bill of all its days, or what the bills within it left open.
  const complete = totalOf([bill, ...within]);
  const isRest = within.length > 0 && Math.abs(complete - expected) < Math.abs(own.total - expected);
  const total = isRest ? complete : own.total;
  const off = total - expected;
  const isExpected = Math.abs(off) <= limit + open;
  const middle = isExpected ? total : expected;
  const [low, high] = [opinion.low - open, opinion.high + open];
  const check: Partial<BillCheck> = {
    changed: past.changed,
    rule,
    expected: toMicro(expected),
    unexplained: toMicro(off),
    doubt: toMicro(Math.max(high - middle, middle - low)),
    together: isRest ? together('within', within) : together('same_days', same),
  };
  if (isExpected) {
    const strays = isSharp ? [] : past.strays;
    return told({ ...learnt, strays }, bill, { ...check, verdict: 'as_expected' });
  }
  const stray: Stray = { ...own, off, limit: limit + open };
  const corrected = correctedBy([...past.strays, stray]);
  if (corrected)
    return told({ ...past, strays: [] }, bill, { ...check, ...corrected, verdict: 'as_expected' });
  const isLeftOpen = total >= low && total <= high;
  const isFew = past.changed === null && past.seen.length < BILLS_TO_ACCUSE;
  if (isLeftOpen || isFew || isOftenOff(one.past, rule)) return told(learnt, bill, { reason: 'no_rule' });
  if (own.total < 0 && within.length === 0) return told(past, bill, { reason: 'credit_alone' });
  return judgeStray({ ...one, past }, rule, stray, check);
}

/** The open part of its days is billed with the tax and all. */
const openOf = ({ open, sum }: Bill, expected: number): number =>
  sum > 0 ? (inFull(open) * expected) / inFull(sum) : 0;

/**
 * A rule that more than three of ten of the newest bills do not keep to accuses none: they differ by something that it does not know. Where
 * the next bill puts nearly each of them right they were estimates. Not counted are those that differ since the newest one that does not,
 * which may be a change.
 */
function isOftenOff({ newest, strays }: Past, rule: Rule): boolean {
  let off = 0;
  let putRight = 0;
  let before = 0;
  for (const one of newest) {
    if (strays.some(({ bill }) => bill === one.bill)) continue;
    const by = outlyingBy(rule, one);
    off += Number(by !== 0);
    const left = Math.abs(by + before);
    const isPutRight = before !== 0 && left <= SHARE_LEFT * Math.abs(by) && left <= OUTLIER * rule.scatter;
    putRight += isPutRight ? 2 : 0;
    before = isPutRight ? 0 : by;
  }
  return off - putRight >= FEWEST_OFF && off > SHARE_OFF * newest.length;
}

/** 0 of a bill that keeps to the rule. */
function outlyingBy(rule: Rule, one: Seen): number {
  const { expected } = predict(rule, one) ?? { expected: one.total };
  const off = one.total - expected;
  return Math.abs(off) > OUTLIER * rule.scatter + openOf(one.bill, expected) ? off : 0;
}

/** A bill that differs: it may be the one by which a change of the rule is told. */
function judgeStray({ past, bill, within }: Case, rule: Rule, stray: Stray, check: Partial<BillCheck>) {
  const differs = told(past, bill, { ...check, verdict: 'differs' });
  if (within.length > 0) return differs;
  const strays = [...past.strays, stray];
  const sharp = strays.filter((one) => one.bill.open === 0);
  const latest = (sharp.length < BILLS_OF_CHANGE ? strays : sharp).slice(-BILLS_OF_CHANGE);
  const changed = latest.length === BILLS_OF_CHANGE ? changedRule(rule, latest, strays) : null;
  return changed === null ? { ...differs, strays } : withChange(differs, rule, changed, strays);
}

/** The simplest likely rule's expectation of the days, and the range that any of them allows, from `low` to `high`. `null`: it is not sure. */
function opinionOf(seen: readonly Seen[], own: Seen) {
  const rounding = roundingOf([...seen, own].map(({ bill }) => bill));
  const all = findRules(seen, rounding).flatMap((rule) => {
    const prediction = predict(rule, own);
    return prediction === null ? [] : [{ rule, ...prediction }];
  });
  const [simplest] = all;
  if (simplest === undefined || simplest.limit > sureLimit(simplest.rule)) return null;
  const low = Math.min(...all.map(({ expected, limit }) => expected - limit));
  const high = Math.max(...all.map(({ expected, limit }) => expected + limit));
  return { ...simplest, low, high };
}

function seenOf(bill: Bill, total: number, bills: number): Seen {
  const { sum, shifted, days } = bill;
  const known = (amount: Micro | null) => (amount === null ? null : inFull(amount));
  const sums = {
    printed: inFull(sum),
    day_earlier: known(shifted.day_earlier),
    day_later: known(shifted.day_later),
    night: known(shifted.night),
  };
  return { bill, sums, days, bills, total };
}

const isSameSpan = (one: DaySpan, other: DaySpan): boolean => one.from === other.from && one.to === other.to;

/** One day in common is how some providers write the ends of periods. */
const isOver = (one: DaySpan, other: DaySpan): boolean =>
  addDays(one.to, -1) > other.from && one.from < addDays(other.to, -1);

const totalOf = (bills: readonly Bill[]): number => inFull(bills.reduce((sum, { total }) => sum + total, 0));

const together = (how: 'same_days' | 'before' | 'within', { length: bills }: readonly unknown[]) =>
  bills === 0 ? null : { how, bills };

/** How many bills a period has, as a rule: flats may be billed apart. */
function usualCount(bills: readonly Bill[]): number {
  const newest = bills.slice(-2 * BILLS_OF_RULE);
  // Each period counts once: of bills that are issued again there are many, but of few periods.
  const periods = newest.filter((one, at) => newest.findIndex((other) => isSameSpan(one, other)) === at);
  return median(periods.map((one) => newest.filter((other) => isSameSpan(one, other)).length));
}

/** One of the next two bills gives back an estimate that was too high: the newest strays make up for one another. */
function correctedBy(strays: readonly Stray[]): Pick<BillCheck, 'unexplained' | 'together'> | null {
  for (const all of [strays.slice(-2), strays.slice(-3)]) {
    const sum = all.reduce((total, { off }) => total + off, 0);
    if (all.length > 1 && Math.abs(sum) <= Math.hypot(...all.map(({ limit }) => limit)))
      return { unexplained: toMicro(sum), together: together('before', all.slice(1)) };
  }
  return null;
}

/** The bills that keep to the new rule are told so; they differed when they came. */
function withChange(past: Past, before: Rule, rule: Rule, inARow: readonly Stray[]): Past {
  const kept = inARow.filter((one) => isKept(rule, one));
  const changed = { before, on: kept[0]?.bill.from ?? '' };
  const checks = new Map(past.checks);
  for (const one of kept) {
    const { expected = 0 } = predict(rule, one) ?? {};
    const change: Partial<BillCheck> = {
      verdict: 'rule_changed',
      rule,
      changed,
      together: null,
      expected: toMicro(expected),
      unexplained: toMicro(one.total - expected),
    };
    checks.set(one.bill.id, { ...(checks.get(one.bill.id) as BillCheck), ...change });
  }
  return { ...past, checks, seen: kept, newest: kept, strays: [], changed };
}
