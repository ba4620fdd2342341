// Is my bill right? Each bill is judged by the rule of the bills before it, and a lasting change of the rule is told as one.
import { inFull, type Micro, toMicro } from '../amount.ts';
import type { Invoice } from '../invoice.ts';
import { addDays, type Day, type DaySpan, type Zone } from '../period.ts';
import { type BillFacts, billFacts, type MeterDays } from './billFacts.ts';
import { type BillPeriod, billPeriods } from './billPeriods.ts';
import {
  changedRule,
  findRules,
  isKept,
  LARGEST_LIMIT,
  type Observation,
  predict,
  type Rule,
} from './billRule.ts';
import { median } from './leastSquares.ts';
import { AROUND_DAYS } from './readings.ts';

export const VERDICTS = ['as_expected', 'differs', 'rule_changed', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

interface Bill extends BillFacts, DaySpan {
  readonly id: string;
  readonly total: Micro;
}

export interface BillCheck extends Bill {
  readonly verdict: Verdict;
  /** Why nothing can be told; `null` unless the verdict is unknown. */
  readonly reason: 'days_missing' | 'no_rule' | 'overlaps' | 'more_to_come' | 'cancelled_out' | null;
  /** The rule by which it was judged, and the one that held until it changed. */
  readonly rule: Rule | null;
  readonly before: Rule | null;
  /** The first day of the first bill of the changed rule. */
  readonly changedOn: Day | null;
  /** What the rule makes of the days, and what the bill is beside that. */
  readonly expected: Micro | null;
  readonly unexplained: Micro | null;
  /** How far off that a right bill may be: by readings over the ends of its period, and by what few bills leave open. */
  readonly doubt: Micro;
  /** Bills that were judged with it: those of the same days, directly before it, or within its longer period. */
  readonly together: { readonly how: 'same_days' | 'before' | 'within'; readonly bills: number } | null;
}

/** A check for each id of an invoice; none for those that are cancelled, have no total or period, or begin before the ledgers do. */
export type BillChecks = ReadonlyMap<string, BillCheck>;

/** A bill with the others of its days, as the regression sees it; if it differs, by how much, and what was allowed. */
interface Seen extends Observation {
  readonly bill: Bill;
  readonly off: number;
  readonly limit: number;
}

/** What is known after a bill has been judged. */
interface Past {
  readonly checks: BillChecks;
  readonly bills: readonly Bill[];
  /** The bills by which the next one is judged, and those directly before it that differ; oldest first. */
  readonly regular: readonly Seen[];
  readonly strays: readonly Seen[];
  readonly rule: Rule | null;
  readonly before: Rule | null;
  readonly changedOn: Day | null;
}

const NO_PAST: Past = {
  ...{ checks: new Map(), bills: [], regular: [], strays: [] },
  ...{ rule: null, before: null, changedOn: null },
};
/** A year of months: more tell no more, and take longer. */
const BILLS_OF_RULE = 12;
/** Of fewer, each may have a fee of its own. */
const BILLS_TO_ACCUSE = 4;
/** One bill may be wrong, and two may be so by chance. */
const BILLS_OF_CHANGE = 3;
/** The changed rule stands until twice as many bills have kept to it. */
const BILLS_AFTER_CHANGE = 2 * BILLS_OF_CHANGE;
const CENT = 0.01;

interface Judged {
  readonly period: BillPeriod;
  readonly bill: Bill | null;
  /** After it. */
  readonly past: Past;
}

/**
 * Judges the bills in the order of their periods. What was found of the first ones is kept as long as nothing has changed in
 * them or in their days: the same map while nothing changes at all.
 */
export function billJudge() {
  let listed: readonly Invoice[] = [];
  let known: readonly MeterDays[] = [];
  let judged: readonly Judged[] = [];
  return (invoices: readonly Invoice[], meters: readonly MeterDays[], zone: Zone): BillChecks => {
    const changed = firstChange(known, meters);
    if (listed !== invoices || changed !== NEVER) {
      let past = NO_PAST;
      let isKnown = true;
      judged = billPeriods(invoices, zone).map((period, at) => {
        const before = judged[at];
        const isSame = before?.period.invoice === period.invoice && isSameSpan(before.period, period);
        const isOld = isSame && addDays(period.to, AROUND_DAYS) <= changed;
        const bill = isOld ? before.bill : billOf(period, meters);
        isKnown &&= isSame && JSON.stringify(bill) === JSON.stringify(before.bill);
        past = (isKnown && before?.past) || (bill ? judge(past, bill) : past);
        return { period, bill, past };
      });
    }
    [listed, known] = [invoices, meters];
    return judged.at(-1)?.past.checks ?? NO_PAST.checks;
  };
}

const NEVER: Day = '9999-12-31';

/** The first day of which these ledgers tell something else than those before. */
function firstChange(before: readonly MeterDays[], after: readonly MeterDays[]): Day {
  const changed = Array.from({ length: Math.max(before.length, after.length) }, (_, at): Day => {
    const [one, other] = [before[at], after[at]];
    if (!one || !other || one.origin !== other.origin) return '';
    if (one.days === other.days) return NEVER;
    const days = [...new Set([...one.days.keys(), ...other.days.keys()])];
    return days.filter((day) => one.days.get(day) !== other.days.get(day)).sort()[0] ?? NEVER;
  });
  return changed.sort()[0] ?? NEVER;
}

const isSameSpan = (one: DaySpan, other: DaySpan): boolean => one.from === other.from && one.to === other.to;

function billOf({ invoice: { id, total }, from, to }: BillPeriod, meters: readonly MeterDays[]): Bill | null {
  const facts = total === null ? null : billFacts(meters, { from, to });
  return total !== null && facts ? { ...facts, from, to, id, total } : null;
}

function judge(past: Past, bill: Bill): Past {
  const others = past.bills.filter((one) => !isSameSpan(one, bill));
  const same = past.bills.filter((one) => isSameSpan(one, bill));
  const within = others.filter(({ from, to }) => from >= bill.from && to <= bill.to);
  const tell = (check: Partial<BillCheck>, more: Partial<Past> = {}): Past => {
    const checks = new Map([...past.checks, [bill.id, { ...NOTHING_TOLD, ...bill, ...check }]]);
    return { ...past, bills: [...past.bills, bill], ...more, checks };
  };
  if (bill.missing > 0) return tell({ reason: 'days_missing' });
  if (within.length === 0 && others.some((one) => isOver(one, bill))) return tell({ reason: 'overlaps' });
  const left = (all: readonly Seen[]) => all.filter((one) => !isSameSpan(one.bill, bill));
  const [regular, strays] = [left(past.regular), left(past.strays)];
  const added = totalOf([bill, ...same]);
  if (same.length > 0 && Math.abs(added) < CENT)
    return tell({ reason: 'cancelled_out' }, { regular, strays });

  const terms = {
    sum: inFull(bill.sum),
    energy: inFull(bill.sum - bill.standing),
    days: bill.days,
    bills: Math.max(1, within.length),
  };
  const isSharp = within.length === 0 && bill.mayBeEarlier + bill.mayBeLater === 0;
  const seen = { ...terms, bill, total: added, off: 0, limit: 0 };
  const learnt = isSharp ? { regular: [...regular, seen], strays } : {};
  if (same.length + 1 < usualCount(others)) return tell({ reason: 'more_to_come' }, learnt);
  const opinions = rulesOf(past, regular).map((rule) => ({ rule, ...predict(rule, terms) }));
  const sure = opinions.filter(({ limit }) => limit <= LARGEST_LIMIT);
  const [first] = sure;
  if (first === undefined) return tell({ reason: 'no_rule' }, learnt);

  // A longer statement is the bill of all its days, or what the bills within it left open.
  const complete = totalOf([bill, ...within]);
  const isRest = within.length > 0 && Math.abs(complete - first.expected) < Math.abs(added - first.expected);
  const total = isRest ? complete : added;
  const [less, more] = edgesOf(bill, first.expected);
  const keepsTo = (below: number, above: number) => (opinion: Opinion) =>
    total >= opinion.expected - opinion.limit - below && total <= opinion.expected + opinion.limit + above;
  const exact = sure.find(keepsTo(0, 0));
  const agreeing = exact ?? sure.find(keepsTo(less, more));
  const { rule, expected, limit } = agreeing ?? first;
  const low = Math.min(...opinions.map((one) => one.expected - one.limit)) - less;
  const high = Math.max(...opinions.map((one) => one.expected + one.limit)) + more;
  const off = total - expected;
  const { before, changedOn } = past;
  const found = {
    ...{ before, changedOn, rule, expected: toMicro(expected), unexplained: toMicro(off) },
    doubt: toMicro(Math.max(high - expected, expected - low)),
    together: isRest ? together('within', within) : together('same_days', same),
  };
  if (agreeing) {
    const kept = isSharp && exact ? { ...learnt, strays: [] } : {};
    return tell({ ...found, verdict: 'as_expected' }, { rule, ...kept });
  }
  const inARow = [...strays, { ...seen, off, limit }];
  const corrected = correctedBy(inARow);
  if (corrected) return tell({ ...found, ...corrected, verdict: 'as_expected' }, { rule, strays: [] });
  const isNew = changedOn === null && regular.length < BILLS_TO_ACCUSE;
  if (isNew || (total >= low && total <= high)) return tell({ reason: 'no_rule' }, learnt);
  const differs = { ...found, verdict: 'differs' } as const;
  if (!isSharp) return tell(differs, { rule });
  const newest = inARow.slice(-BILLS_OF_CHANGE);
  const changed =
    newest.length < BILLS_OF_CHANGE ? null : changedRule(rule, newest, inARow.slice(-BILLS_OF_RULE));
  if (changed === null) return tell(differs, { rule, strays: inARow, regular });
  return withChange(tell(differs), rule, changed, inARow);
}

const NOTHING_TOLD = {
  ...({ verdict: 'unknown', reason: null, rule: null, before: null, changedOn: null } as const),
  ...({ expected: null, unexplained: null, together: null, doubt: 0 } as const),
};

/** One day in common is how some providers write the ends of periods. */
const isOver = (one: DaySpan, other: DaySpan): boolean =>
  addDays(one.to, -1) > other.from && one.from < addDays(other.to, -1);

const totalOf = (bills: readonly Bill[]): number => inFull(bills.reduce((sum, { total }) => sum + total, 0));

const together = (how: 'same_days' | 'before' | 'within', { length: bills }: readonly unknown[]) =>
  bills === 0 ? null : { how, bills };

/** How many bills each of these periods has, as a rule: flats may be billed apart. */
function usualCount(bills: readonly Bill[]): number {
  const counts = new Map<string, number>();
  for (const { from, to } of bills) counts.set(`${from} ${to}`, (counts.get(`${from} ${to}`) ?? 0) + 1);
  return Math.floor(median([...counts.values()]));
}

interface Opinion {
  readonly rule: Rule;
  readonly expected: number;
  readonly limit: number;
}

function rulesOf({ rule, changedOn }: Past, regular: readonly Seen[]): readonly Rule[] {
  if (rule !== null && changedOn !== null && regular.length < BILLS_AFTER_CHANGE) return [rule];
  const found = findRules(regular.slice(-BILLS_OF_RULE));
  return found.length === 0 && rule !== null ? [rule] : found;
}

/** How much less and how much more than expected a right bill may be by readings over its ends, tax and all. */
function edgesOf({ sum, mayBeEarlier, mayBeLater }: Bill, expected: number): readonly [number, number] {
  const billed = sum > 0 ? expected / sum : 0;
  return [mayBeEarlier * billed, mayBeLater * billed];
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
  const changedOn = kept[0]?.bill.from ?? null;
  const checks = new Map(past.checks);
  for (const { bill, ...seen } of kept) {
    const { expected } = predict(rule, seen);
    const amounts = { expected: toMicro(expected), unexplained: toMicro(seen.total - expected) };
    const change = { verdict: 'rule_changed', rule, before, changedOn, ...amounts } as const;
    checks.set(bill.id, { ...NOTHING_TOLD, ...bill, ...checks.get(bill.id), ...change });
  }
  return { ...past, checks, regular: kept, strays: [], rule, before, changedOn };
}
