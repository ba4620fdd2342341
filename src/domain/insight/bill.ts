// Is my bill right? Each is judged by the rule of the bills before it, and a lasting change of the rule is told as one.
import { inFull, type Micro, toMicro } from '../amount.ts';
import type { Invoice } from '../invoice.ts';
import { median } from '../leastSquares.ts';
import { addDays, type Day, type DaySpan, type Zone } from '../period.ts';
import { type Bill, type MeterDays, openKnownBills } from './billDays.ts';
import { changedRule, findRules, isKept, LARGEST_LIMIT, predict, type Rule, type Terms } from './billRule.ts';

export const VERDICTS = ['as_expected', 'differs', 'rule_changed', 'unknown'] as const;

/** What is told of a bill, by the bills before it. */
export interface BillCheck extends Bill {
  readonly verdict: (typeof VERDICTS)[number];
  /** Why nothing can be told; `null` unless the verdict is unknown. */
  readonly reason: 'days_missing' | 'no_rule' | 'overlaps' | 'more_to_come' | 'cancelled_out' | null;
  /** The rule by which it was judged, and the one that held until it changed, with the first day of the first bill since. */
  readonly rule: Rule | null;
  readonly changed: { readonly before: Rule; readonly on: Day } | null;
  /** What the rule makes of the days, and what the bill is beside that. */
  readonly expected: Micro | null;
  readonly unexplained: Micro | null;
  /**
   * How far off the right bill may be: from what is billed where that is as expected, from what is expected otherwise. By readings over
   * the ends of its period, and by what few bills leave open.
   */
  readonly doubt: Micro;
  /** Bills that were judged with it: those of the same days, directly before it, or within its longer period. */
  readonly together: { readonly how: 'same_days' | 'before' | 'within'; readonly bills: number } | null;
}

/** A check for each id of an invoice; none for those that are cancelled, have no total or period, or begin before the ledgers do. */
export type BillChecks = ReadonlyMap<string, BillCheck>;

/** A bill with the others of its days, as the regression sees it: by how much it differs, and what was allowed. */
interface Seen {
  readonly bill: Bill;
  readonly terms: Terms;
  readonly total: number;
  readonly off: number;
  readonly limit: number;
}

/** What is known after a bill has been judged. */
interface Past {
  readonly checks: BillChecks;
  /** The bills that rules are learnt by. */
  readonly seen: readonly Seen[];
  /** The bills that differ, since the newest one that does not. */
  readonly strays: readonly Seen[];
  readonly changed: BillCheck['changed'];
}

const NO_PAST: Past = { checks: new Map(), seen: [], strays: [], changed: null };
const NOTHING_TOLD = {
  ...({ verdict: 'unknown', reason: null, rule: null, changed: null } as const),
  ...({ expected: null, unexplained: null, together: null, doubt: 0 } as const),
};
/** A year of months: more tell no more, and take longer. */
const BILLS_OF_RULE = 12;
/** Of fewer, each may have a fee of its own. */
const BILLS_TO_ACCUSE = 4;
/** One bill may be wrong, and two may be so by chance. */
const BILLS_OF_CHANGE = 3;

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

function judge(past: Past, bill: Bill): Past {
  const known = [...past.checks.values()];
  const same = known.filter((one) => isSameSpan(one, bill));
  const others = known.filter((one) => !isSameSpan(one, bill));
  const within = others.filter(({ from, to }) => from >= bill.from && to <= bill.to);
  const newest = (some: readonly Seen[]) =>
    some.filter((one) => !isSameSpan(one.bill, bill)).slice(-BILLS_OF_RULE);
  const [seen, strays] = [newest(past.seen), newest(past.strays)];
  const tell = (check: Partial<BillCheck>, more: Partial<Past> = {}): Past => {
    const checks = new Map([...past.checks, [bill.id, { ...NOTHING_TOLD, ...bill, ...check }]]);
    return { ...past, seen, strays, ...more, checks };
  };
  const added = totalOf([bill, ...same]);
  if (bill.missing > 0) return tell({ reason: 'days_missing' });
  if (within.length === 0 && others.some((one) => isOver(one, bill))) return tell({ reason: 'overlaps' });
  if (same.length > 0 && added === 0) return tell({ reason: 'cancelled_out' });
  if (same.length + 1 < usualCount(others)) return tell({ reason: 'more_to_come' });

  const terms = termsOf(bill, Math.max(1, within.length));
  const own: Seen = { bill, terms, total: added, off: 0, limit: 0 };
  const isSharp = within.length === 0 && bill.open === 0;
  const learnt = { seen: isSharp ? [...seen, own] : seen };
  const opinion = opinionOf(seen, terms);
  if (opinion === null) return tell({ reason: 'no_rule' }, learnt);
  const { rule, expected, limit } = opinion;
  // Readings over its ends are billed with the tax and all.
  const ends = bill.sum > 0 ? (inFull(bill.open) * expected) / inFull(bill.sum) : 0;
  // A longer statement is the bill of all its days, or what the bills within it left open.
  const complete = totalOf([bill, ...within]);
  const isRest = within.length > 0 && Math.abs(complete - expected) < Math.abs(added - expected);
  const total = isRest ? complete : added;
  const off = total - expected;
  const isExpected = Math.abs(off) <= limit + ends;
  const middle = isExpected ? total : expected;
  const [low, high] = [opinion.low - ends, opinion.high + ends];
  const told = {
    ...{ changed: past.changed, rule, expected: toMicro(expected), unexplained: toMicro(off) },
    doubt: toMicro(Math.max(high - middle, middle - low)),
    together: isRest ? together('within', within) : together('same_days', same),
  };
  const inARow = [...strays, { ...own, off, limit }];
  const corrected = isExpected ? null : correctedBy(inARow);
  if (isExpected || corrected) {
    const next = { seen: isExpected ? learnt.seen : seen, strays: corrected || isSharp ? [] : strays };
    return tell({ ...told, ...corrected, verdict: 'as_expected' }, next);
  }
  if ((total >= low && total <= high) || (past.changed === null && seen.length < BILLS_TO_ACCUSE))
    return tell({ reason: 'no_rule' }, learnt);
  const differs = tell({ ...told, verdict: 'differs' }, { strays: isSharp ? inARow : strays });
  const latest = inARow.slice(-BILLS_OF_CHANGE);
  const changed = isSharp && latest.length === BILLS_OF_CHANGE ? changedRule(rule, latest, inARow) : null;
  return changed === null ? differs : withChange(differs, rule, changed, inARow);
}

/** What the simplest likely rule makes of the terms, and what any of them allows, from `low` to `high`. `null`: it is not sure. */
function opinionOf(seen: readonly Seen[], terms: Terms) {
  const all = findRules(seen).map((rule) => ({ rule, ...predict(rule, terms) }));
  const [simplest] = all;
  if (simplest === undefined || simplest.limit > LARGEST_LIMIT) return null;
  const low = Math.min(...all.map(({ expected, limit }) => expected - limit));
  const high = Math.max(...all.map(({ expected, limit }) => expected + limit));
  return { ...simplest, low, high };
}

const isSameSpan = (one: DaySpan, other: DaySpan): boolean => one.from === other.from && one.to === other.to;

/** One day in common is how some providers write the ends of periods. */
const isOver = (one: DaySpan, other: DaySpan): boolean =>
  addDays(one.to, -1) > other.from && one.from < addDays(other.to, -1);

/** What the regression is about: see `Terms`. */
export const termsOf = ({ sum, days }: Pick<Bill, 'sum' | 'days'>, bills = 1): Terms => [
  inFull(sum),
  days,
  bills,
];

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

/** What was estimated too high, one of the next two bills gives back: the newest strays make up for one another. */
function correctedBy(strays: readonly Seen[]): Pick<BillCheck, 'unexplained' | 'together'> | null {
  for (const all of [strays.slice(-2), strays.slice(-3)]) {
    const sum = all.reduce((total, { off }) => total + off, 0);
    if (all.length > 1 && Math.abs(sum) <= Math.hypot(...all.map(({ limit }) => limit)))
      return { unexplained: toMicro(sum), together: together('before', all.slice(1)) };
  }
  return null;
}

/** The bills that keep to the new rule are told so; they differed when they came. */
function withChange(past: Past, before: Rule, rule: Rule, inARow: readonly Seen[]): Past {
  const kept = inARow.filter((seen) => isKept(rule, seen));
  const changed = { before, on: kept[0]?.bill.from ?? '' };
  const checks = new Map(past.checks);
  for (const { bill, terms, total } of kept) {
    const { expected } = predict(rule, terms);
    const amounts = { expected: toMicro(expected), unexplained: toMicro(total - expected) };
    const change = { verdict: 'rule_changed', rule, changed, together: null, ...amounts } as const;
    checks.set(bill.id, { ...(checks.get(bill.id) as BillCheck), ...change });
  }
  return { checks, seen: kept, strays: [], changed };
}
