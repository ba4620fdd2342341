// Is my bill right? Each bill is judged by the rule of the bills before it, and a lasting change of the rule is told as one.
import { inFull, type Micro, toMicro } from '../amount.ts';
import type { Invoice } from '../invoice.ts';
import { addDays, type Day, type DaySpan, type Zone } from '../period.ts';
import { type BillFacts, type MeterDays, rememberedFacts } from './billFacts.ts';
import { type BillPeriod, billPeriods } from './billPeriods.ts';
import { changedRule, findRules, type Observation, predict, type Rule } from './billRule.ts';
import { median } from './robust.ts';

export const VERDICTS = ['as_expected', 'differs', 'rule_changed', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Why nothing can be told of a bill. */
export type Unknown = 'days_missing' | 'no_rule' | 'overlaps' | 'more_to_come' | 'cancelled_out';

/** Bills that were judged together with it: those of the same days, directly before it, or within its longer period. */
export interface Together {
  readonly how: 'same_days' | 'before' | 'within' | 'repeats';
  readonly bills: number;
}

export interface BillCheck extends BillFacts {
  /** First and last day of the period. */
  readonly from: Day;
  readonly to: Day;
  readonly total: Micro;
  /** The total less the sum of the days. */
  readonly difference: Micro;
  readonly verdict: Verdict;
  /** `null` unless the verdict is unknown. */
  readonly reason: Unknown | null;
  /** The rule by which it was judged, and the one that held until it changed. */
  readonly rule: Rule | null;
  readonly before: Rule | null;
  /** The first day of the first bill of the changed rule. */
  readonly changedOn: Day | null;
  /** What the rule makes of the days, and what the bill is beside that. */
  readonly expected: Micro | null;
  readonly unexplained: Micro | null;
  /** How wide the span is in which a right bill may be: readings over the ends of its period, and rules that disagree. */
  readonly doubt: Micro;
  readonly together: Together | null;
}

/** A check for each id of an invoice; none for those that are cancelled, have no total or period, or begin before the ledgers do. */
export type BillChecks = ReadonlyMap<string, BillCheck>;

interface Bill extends BillFacts, DaySpan {
  readonly id: string;
  readonly total: Micro;
  /** How many others of the same days came before it, and their total. */
  readonly same: number;
  readonly sameTotal: Micro;
  /** Those within its longer period: how many, and their total. */
  readonly within: number;
  readonly withinTotal: Micro;
  readonly overlaps: boolean;
  /** How many bills the periods before it usually had. */
  readonly usualCount: number;
}

interface Witness extends Observation {
  readonly bill: Bill;
}

/** A bill that differs, by so much. */
interface Stray extends Witness {
  readonly off: number;
  readonly limit: number;
}

/** What is known after a bill has been judged. */
interface Court {
  readonly checks: BillChecks;
  /** The bills by which the next one is judged, oldest first. */
  readonly witnesses: readonly Witness[];
  /** Those directly before the next one that differ. */
  readonly strays: readonly Stray[];
  readonly rule: Rule | null;
  readonly before: Rule | null;
  readonly changedOn: Day | null;
}

const NEW_COURT: Court = {
  checks: new Map(),
  witnesses: [],
  strays: [],
  rule: null,
  before: null,
  changedOn: null,
};
/** More of them tell no more, and take longer. */
const BILLS_OF_RULE = 12;
/** One bill may be wrong, and two may be so by chance. */
const BILLS_OF_CHANGE = 3;
/** What was estimated is put right by one of the next bills. */
const BILLS_OF_CORRECTION = 3;
const CENT = 0.01;
/** A rule that is not surer than this, in units of the currency, acquits nothing. */
const LARGEST_LIMIT = 0.5;

/**
 * Judges the bills in the order of their periods. One that was judged before keeps its verdict without being judged
 * again, as long as nothing has changed in it or in a bill before it.
 */
export function billJudge() {
  let listed: { readonly invoices: readonly Invoice[]; readonly periods: readonly BillPeriod[] } | null =
    null;
  let known: readonly (BillFacts | null)[] = [];
  let judged: readonly { readonly key: string; readonly court: Court }[] = [];
  const rememberFacts = rememberedFacts();
  return (invoices: readonly Invoice[], meters: readonly MeterDays[], zone: Zone): BillChecks => {
    const isListed = listed?.invoices === invoices;
    if (!isListed || listed === null) listed = { invoices, periods: billPeriods(invoices, zone) };
    const { periods } = listed;
    const factsOf = rememberFacts(meters);
    const facts = periods.map(factsOf);
    // Most polls change nothing in a day that was billed.
    const isSame = isListed && facts.every((one, at) => one === known[at]);
    known = facts;
    if (isSame) return judged.at(-1)?.court.checks ?? NEW_COURT.checks;
    let court = NEW_COURT;
    let isKnown = true;
    judged = billsOf(periods, facts).map((bill, at) => {
      const key = JSON.stringify(bill);
      isKnown &&= judged[at]?.key === key;
      court = (isKnown ? judged[at]?.court : null) ?? judge(court, bill);
      return { key, court };
    });
    return court.checks;
  };
}

/** The bills in the order in which they are judged: a longer period after those within it, and a credit note after its bill. */
function billsOf(periods: readonly BillPeriod[], allFacts: readonly (BillFacts | null)[]): Bill[] {
  const bills: Bill[] = [];
  for (const [at, { invoice, from, to }] of periods.entries()) {
    const facts = allFacts[at] ?? null;
    if (invoice.total === null || facts === null) continue;
    const isSame = (one: DaySpan) => one.from === from && one.to === to;
    const others = bills.filter((one) => !isSame(one));
    const same = bills.filter(isSame);
    const within = others.filter((one) => one.from >= from && one.to <= to);
    // One day in common is how some providers write the ends of periods.
    const overlaps = others.some((one) => addDays(one.to, -1) > from && one.from < addDays(to, -1));
    const counts = new Map(others.map((one) => [`${one.from} ${one.to}`, one.same + 1]));
    bills.push({
      ...facts,
      id: invoice.id,
      total: invoice.total,
      from,
      to,
      same: same.length,
      sameTotal: totalOf(same),
      within: within.length,
      withinTotal: totalOf(within),
      overlaps: overlaps && within.length === 0,
      usualCount: Math.floor(median([...counts.values()])),
    });
  }
  return bills;
}

const totalOf = (bills: readonly Bill[]): Micro => bills.reduce((sum, { total }) => sum + total, 0);

/** Adds the bills of the same days before it. */
const observed = (bill: Bill): Witness => ({
  bill,
  sum: inFull(bill.sum),
  energy: inFull(bill.sum - bill.standing),
  days: bill.days,
  bills: Math.max(1, bill.within),
  total: inFull(bill.total + bill.sameTotal),
});

function judge(court: Court, bill: Bill): Court {
  const about = { ...NOTHING_TOLD, ...publicFacts(bill) };
  const seen = observed(bill);
  const tell = (check: BillCheck, more: Partial<Court> = {}): Court => ({
    ...court,
    ...more,
    checks: new Map([...court.checks, [bill.id, check]]),
  });
  const without = <T extends Witness>(all: readonly T[]): T[] =>
    all.filter((one) => one.bill.from !== bill.from || one.bill.to !== bill.to);
  const unknown = (reason: Unknown, more?: Partial<Court>) => tell({ ...about, reason }, more);
  if (bill.missing > 0) return unknown('days_missing');
  if (bill.overlaps) return unknown('overlaps');
  const [witnesses, strays] = [without(court.witnesses), without(court.strays)];
  if (bill.same > 0 && Math.abs(seen.total) < CENT) return unknown('cancelled_out', { witnesses, strays });
  const isWhole = bill.same + 1 >= bill.usualCount;
  const isWitness = bill.within === 0 && bill.mayBeEarlier + bill.mayBeLater === 0;
  const more = isWitness ? { witnesses: [...witnesses, seen], strays } : {};
  const drawn = findRules(witnesses.slice(-BILLS_OF_RULE));
  const rules = drawn.length > 0 || court.rule === null ? drawn : [court.rule];
  if (!isWhole) return unknown('more_to_come', more);
  const opinions = rules.map((rule) => opinionOf(rule, seen)).filter(({ limit }) => limit <= LARGEST_LIMIT);
  const [first] = opinions;
  if (first === undefined) return unknown('no_rule', more);
  const judgement = { ...about, before: court.before, changedOn: court.changedOn };
  if (bill.within > 0) return tell(judgeLonger({ ...judgement, rule: first.rule }, first.rule, seen));

  // Bills that are all alike fit several rules, which do not agree on a bill that is not.
  const spread = Math.max(...opinions.map(({ expected }) => Math.abs(expected - first.expected)));
  const [earlier, later] = doubtsOf(bill, first.expected);
  const doubt = toMicro(earlier + later + (spread > first.limit ? spread : 0));
  const isWithin =
    (below: number, above: number) =>
    ({ off, limit }: Opinion) =>
      -limit - below <= off && off <= limit + above;
  const sharp = opinions.find(isWithin(0, 0));
  const agreeing = sharp ?? opinions.find(isWithin(earlier, later));
  const { rule, expected, off, limit } = agreeing ?? first;
  const found = { ...judgement, doubt, rule, expected: toMicro(expected), unexplained: toMicro(off) };
  const same = bill.same > 0 ? ({ how: 'same_days', bills: bill.same } as const) : null;
  if (agreeing) {
    const check: BillCheck = { ...found, verdict: 'as_expected', together: same };
    return tell(check, { rule, ...(isWitness && sharp ? { ...more, strays: [] } : {}) });
  }
  const stray: Stray = { ...seen, off, limit };
  const corrected = correctedBy([...strays, stray]);
  if (corrected !== null) {
    const { sum } = corrected;
    const together = { how: 'before', bills: corrected.bills } as const;
    return tell(
      { ...found, unexplained: toMicro(sum), verdict: 'as_expected', together },
      { rule, strays: [] },
    );
  }
  const differs: BillCheck = { ...found, verdict: 'differs', together: same };
  if (!isWitness) return tell(differs, { rule });
  const inARow = [...strays, stray];
  const newest = inARow.slice(-BILLS_OF_CHANGE);
  const changed =
    newest.length < BILLS_OF_CHANGE
      ? null
      : (changedRule(rule, newest) ?? findRules(inARow.slice(-BILLS_OF_RULE), 1)[0] ?? null);
  if (changed === null) return tell(differs, { rule, strays: inARow, witnesses });
  return withChange(tell(differs), rule, changed, isAll(inARow, changed) ? inARow : newest);
}

/** How much less and how much more than expected a right bill may be, tax and all. */
function doubtsOf(
  { sum, mayBeEarlier, mayBeLater }: Bill,
  expected: number,
): readonly [less: number, more: number] {
  const billed = sum > 0 ? expected / sum : 0;
  return [mayBeEarlier * billed, mayBeLater * billed];
}

/** What a rule makes of a bill. */
interface Opinion {
  readonly rule: Rule;
  readonly expected: number;
  readonly limit: number;
  readonly off: number;
}

function opinionOf(rule: Rule, bill: Observation): Opinion {
  const { expected, limit } = predict(rule, bill);
  return { rule, expected, limit, off: bill.total - expected };
}

const isAll = (bills: readonly Observation[], rule: Rule): boolean =>
  bills.every((bill) => Math.abs(bill.total - predict(rule, bill).expected) <= predict(rule, bill).limit);

/** The newest strays make up for one another: what one was estimated too high, the next ones give back. */
function correctedBy(strays: readonly Stray[]): { readonly sum: number; readonly bills: number } | null {
  for (let bills = 1; bills < Math.min(BILLS_OF_CORRECTION, strays.length); bills += 1) {
    const all = strays.slice(-1 - bills);
    const sum = all.reduce((total, { off }) => total + off, 0);
    const limit = Math.sqrt(all.reduce((total, one) => total + one.limit ** 2, 0));
    if (Math.abs(sum) <= limit) return { sum, bills };
  }
  return null;
}

/** A statement of months that were billed: it repeats them, is the bill of all, or the part that they left open. */
function judgeLonger(about: BillCheck, rule: Rule, seen: Witness): BillCheck {
  const { bill } = seen;
  const { expected, limit } = predict(rule, seen);
  const [own, others] = [inFull(bill.total), inFull(bill.withinTotal)];
  if (Math.abs(own - others) < CENT * bill.within)
    return {
      ...about,
      verdict: 'as_expected',
      unexplained: 0,
      together: { how: 'repeats', bills: bill.within },
    };
  const [alone, with_] = [own - expected, own + others - expected];
  const off = Math.abs(alone) < Math.abs(with_) ? alone : with_;
  const together = off === alone ? null : ({ how: 'within', bills: bill.within } as const);
  const [earlier, later] = doubtsOf(bill, expected);
  const isRight = -limit - earlier <= off && off <= limit + later;
  const verdict = isRight ? 'as_expected' : 'differs';
  const doubt = toMicro(earlier + later);
  return { ...about, doubt, verdict, expected: toMicro(expected), unexplained: toMicro(off), together };
}

/** The bills of the new rule are told so, which differed when they came. */
function withChange(court: Court, before: Rule, rule: Rule, bills: readonly Witness[]): Court {
  const changedOn = bills[0]?.bill.from ?? null;
  const checks = new Map(court.checks);
  for (const { bill, ...seen } of bills) {
    const check = checks.get(bill.id);
    const { expected } = predict(rule, seen);
    const unexplained = toMicro(seen.total - expected);
    const told = { verdict: 'rule_changed', rule, before, changedOn } as const;
    if (check) checks.set(bill.id, { ...check, ...told, expected: toMicro(expected), unexplained });
  }
  return { checks, witnesses: bills, strays: [], rule, before, changedOn };
}

const NOTHING_TOLD = {
  verdict: 'unknown',
  reason: null,
  rule: null,
  before: null,
  changedOn: null,
  expected: null,
  unexplained: null,
  together: null,
  doubt: 0,
} as const;

const publicFacts = (bill: Bill) => ({
  ...bill,
  to: addDays(bill.to, -1),
  difference: bill.total - bill.sum,
});
