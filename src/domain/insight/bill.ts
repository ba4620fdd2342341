// Is my bill right, and what will the next one be? Each is judged by the rule of the bills before it, and a lasting change of the rule is
// told as one.
import { inFull, type Micro, sumKnown, toMicro } from '../amount.ts';
import { type Invoice, invoiceRecord } from '../invoice.ts';
import type { Ledger } from '../ledger.ts';
import { compareText } from '../order.ts';
import { addDays, addMonths, type Day, type DaySpan, daysBetween, daysOf, type Zone } from '../period.ts';
import {
  CENT,
  changedRule,
  findRules,
  isKept,
  LARGEST_LIMIT,
  predict,
  type Rule,
  type Terms,
} from './billRule.ts';
import type { Forecast, Forecasts } from './forecast.ts';
import { huber, median } from './leastSquares.ts';
import {
  AROUND_DAYS,
  estimatedRuns,
  FLAT_DAYS,
  keptAnswers,
  type Reading,
  readingOfEachDay,
  readingsIn,
  sumOf,
  YEAR_AND_MONTH_DAYS,
  YEAR_DAYS,
} from './readings.ts';

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
  readonly rule: Rule | null;
  readonly changed: BillCheck['changed'];
}

type MeterDays = Pick<Ledger, 'origin' | 'days'>;

const NO_PAST: Past = { checks: new Map(), seen: [], strays: [], rule: null, changed: null };
/** A year of months: more tell no more, and take longer. */
const BILLS_OF_RULE = 12;
/** Of fewer, each may have a fee of its own. */
const BILLS_TO_ACCUSE = 4;
/** One bill may be wrong, and two may be so by chance. */
const BILLS_OF_CHANGE = 3;

/** Judges the bills in the order of their periods. What was found of the first ones is kept while nothing has changed in them. */
export function billJudge() {
  const keptBills = keptAnswers<Bill | null>();
  let given: readonly unknown[] = [];
  let judged: readonly { readonly written: string; readonly past: Past }[] = [];
  return (invoices: readonly Invoice[], meters: readonly MeterDays[], zone: Zone): BillChecks => {
    const [before, known] = [given, judged];
    given = [invoices, ...meters.flatMap(({ origin, days }) => [origin, days])];
    if (given.length !== before.length || given.some((one, at) => one !== before[at])) {
      const kept = keptBills(meters.map(({ days }) => days));
      const origins = meters.map(({ origin }) => origin);
      const bills = billPeriods(invoices, zone).flatMap((period) => {
        const { from, to, invoice } = period;
        const key = [invoice.id, invoice.total, from, to, ...origins].join();
        return kept(key, addDays(to, AROUND_DAYS), () => billOf(period, meters)) ?? [];
      });
      let past = NO_PAST;
      let isKnown = true;
      judged = bills.map((bill, at) => {
        const written = JSON.stringify(bill);
        isKnown &&= known[at]?.written === written;
        past = (isKnown && known[at]?.past) || judge(past, bill);
        return { written, past };
      });
    }
    return judged.at(-1)?.past.checks ?? NO_PAST.checks;
  };
}

const isSameSpan = (one: DaySpan, other: DaySpan): boolean => one.from === other.from && one.to === other.to;

/** One day in common is how some providers write the ends of periods. */
const isOver = (one: DaySpan, other: DaySpan): boolean =>
  addDays(one.to, -1) > other.from && one.from < addDays(other.to, -1);

/**
 * The days that the bills are about, by their ends; of those that end together the longest comes last, and of one period by the day
 * they are due. Without bills that are cancelled, or have no period that can be.
 */
function billPeriods(invoices: readonly Invoice[], zone: Zone) {
  const periods = invoices
    .flatMap((invoice) => {
      const { period_start: from, period_end: last, status } = invoiceRecord(invoice, zone);
      const isCancelled = /^(cancell?ed|void(ed)?)$/i.test(status ?? '');
      if (isCancelled || from === null || last === null || last < from) return [];
      return daysBetween(from, last) < YEAR_AND_MONTH_DAYS ? [{ invoice, from, to: addDays(last, 1) }] : [];
    })
    .sort(
      (a, b) =>
        compareText(a.to, b.to) ||
        compareText(b.from, a.from) ||
        (a.invoice.dueAt ?? 0) - (b.invoice.dueAt ?? 0) ||
        compareText(a.invoice.id, b.invoice.id),
    );
  const gaps = periods.map(({ from }, at) => daysBetween(periods[at - 1]?.to ?? from, from));
  return periods.map((period, at) => {
    // Most periods follow one another: an end at the beginning of the last day leaves a day between two, and an end within
    // the first day of the next names that day twice. Once may be another bill for the same days.
    const before = gaps.slice(1, at + 1);
    const isUsual = (days: number) =>
      before.filter((gap) => gap === days).length > Math.max(1, before.length / 2);
    return { ...period, to: addDays(period.to, [1, -1].find(isUsual) ?? 0) };
  });
}

type BillPeriod = ReturnType<typeof billPeriods>[number];
type Bill = NonNullable<ReturnType<typeof billOf>>;

/** What the ledgers know of its days. `null` without a total, and where they begin later than the period or know no cost in it. */
function billOf({ invoice: { id, total }, from, to }: BillPeriod, meters: readonly MeterDays[]) {
  // A meter that came later has nothing to do with the bill.
  const known = meters
    .map(({ days }) => costsOver(days, { from, to }))
    .filter(({ readings }) => readings.some((one) => one !== null && one.day < to));
  if (total === null || known.length === 0 || meters.some(({ origin }) => origin > from)) return null;
  const within = daysOf({ from, to });
  const sumOver = (part: 'sum' | 'standing' | 'atEnds') => known.reduce((sum, meter) => sum + meter[part], 0);
  const countOf = (is: (reading: Reading | null, day: Day) => boolean) =>
    within.filter((day, at) => known.some(({ readings }) => is(readings[at] ?? null, day))).length;
  return {
    ...{ id, total, from, to, days: within.length, sum: sumOver('sum') },
    /** The standing charge of a day. */
    standing: sumOver('standing'),
    /** Days without a cost of their own: those that no later reading carries, and those that one does. */
    missing: countOf((one) => one === null),
    estimated: countOf((one, day) => one !== null && one.day !== day),
    /** What of the sum may belong to another bill, or of another's to this: readings over an end of the period. */
    atEnds: sumOver('atEnds'),
  };
}

/** What the days of a meter tell of a bill. */
function costsOver(days: MeterDays['days'], span: DaySpan) {
  const { from, to } = span;
  const readings = readingOfEachDay('cost', days, span);
  const estimates = estimatesIn(days, span);
  /** Of a reading with days on both sides of a midnight, and of estimates about it. */
  const over = (end: Day, reading: Reading | null | undefined): Micro => {
    const isOverIt = reading && reading.day >= end && addDays(reading.day, -reading.missed) < end;
    const estimated = estimates.find((one) => one.from < end && one.to >= end);
    return (isOverIt ? Math.abs(reading.amount) : 0) + (estimated?.amount ?? 0);
  };
  const atEnds = over(from, readings[0]) + over(to, readings.at(-1));
  return { readings, sum: sumOf(readings, span), atEnds, standing: standingOf(days, span) };
}

/** The standing charge of a day: where Huber's line through cost by energy begins. A day after a missed one may have two. */
function standingOf(days: MeterDays['days'], span: DaySpan): Micro {
  const billed = daysOf(span).flatMap((day) => {
    const { energy = null, cost = null } = days.get(day) ?? {};
    return energy === null || cost === null ? [] : [{ kwh: inFull(energy), cost }];
  });
  const columns = [billed.map(() => 1), billed.map(({ kwh }) => kwh)];
  const costs = billed.map(({ cost }) => cost);
  return huber(columns, costs)?.coefficients[0] ?? 0;
}

/** Equal estimates up to the day that puts them right, and how much of them may be on the other side of a midnight: give or take a day. */
function estimatesIn(days: MeterDays['days'], { from, to }: DaySpan) {
  const around = { from: addDays(from, -AROUND_DAYS), to: addDays(to, AROUND_DAYS) };
  const readings = readingsIn('energy', days, around);
  const costAt = (at: number) => days.get(readings[at]?.day ?? '')?.cost ?? 0;
  return estimatedRuns(readings).map(({ first, next }) => {
    // Days without energy go on giving back what was estimated too high.
    let right = next;
    while (readings[right]?.amount === 0 && right - next < FLAT_DAYS) right += 1;
    const amount = costAt(first) * (1 + right - next) + Math.abs(costAt(right) - costAt(first));
    return { from: readings[first]?.day ?? from, to: readings[right]?.day ?? around.to, amount };
  });
}

function judge(past: Past, bill: Bill): Past {
  const known = [...past.checks.values()];
  const same = known.filter((one) => isSameSpan(one, bill));
  const others = known.filter((one) => !isSameSpan(one, bill));
  const within = others.filter(({ from, to }) => from >= bill.from && to <= bill.to);
  const asked = (some: readonly Seen[]) =>
    some.filter((one) => !isSameSpan(one.bill, bill)).slice(-BILLS_OF_RULE);
  const [seen, strays] = [asked(past.seen), asked(past.strays)];
  const tell = (check: Partial<BillCheck>, more: Partial<Past> = {}): Past => {
    const checks = new Map([...past.checks, [bill.id, { ...NOTHING_TOLD, ...bill, ...check }]]);
    return { ...past, seen, strays, ...more, checks };
  };
  if (bill.missing > 0) return tell({ reason: 'days_missing' });
  if (within.length === 0 && others.some((one) => isOver(one, bill))) return tell({ reason: 'overlaps' });
  const added = totalOf([bill, ...same]);
  if (same.length > 0 && Math.abs(added) < CENT) return tell({ reason: 'cancelled_out' });

  const terms = termsOf(bill, Math.max(1, within.length));
  const own: Seen = { bill, terms, total: added, off: 0, limit: 0 };
  const isSharp = within.length === 0 && bill.atEnds === 0;
  const learnt = { seen: isSharp ? [...seen, own] : seen };
  if (same.length + 1 < usualCount(others)) return tell({ reason: 'more_to_come' }, learnt);
  const found = findRules(seen);
  const rules = found.length === 0 && past.rule !== null ? [past.rule] : found;
  const opinions = rules.map((rule) => ({ rule, ...predict(rule, terms) }));
  const sure = opinions.filter(({ limit }) => limit <= LARGEST_LIMIT);
  const [first] = sure;
  if (first === undefined) return tell({ reason: 'no_rule' }, learnt);

  // A longer statement is the bill of all its days, or what the bills within it left open.
  const complete = totalOf([bill, ...within]);
  const isRest = within.length > 0 && Math.abs(complete - first.expected) < Math.abs(added - first.expected);
  const total = isRest ? complete : added;
  // Readings over its ends are billed with the tax and all.
  const ends = bill.sum > 0 ? (inFull(bill.atEnds) * first.expected) / inFull(bill.sum) : 0;
  const agreeing = sure.find((one) => Math.abs(total - one.expected) <= one.limit + ends);
  const { rule, expected, limit } = agreeing ?? first;
  const low = Math.min(...opinions.map((one) => one.expected - one.limit)) - ends;
  const high = Math.max(...opinions.map((one) => one.expected + one.limit)) + ends;
  const middle = agreeing ? total : expected;
  const off = total - expected;
  const told = {
    ...{ changed: past.changed, rule, expected: toMicro(expected), unexplained: toMicro(off) },
    doubt: toMicro(Math.max(high - middle, middle - low)),
    together: isRest ? together('within', within) : together('same_days', same),
  };
  const inARow = [...strays, { ...own, off, limit }];
  const corrected = agreeing ? null : correctedBy(inARow);
  if (agreeing || corrected) {
    const isDone = corrected || isSharp;
    const next = { rule, seen: agreeing ? learnt.seen : seen, strays: isDone ? [] : strays };
    return tell({ ...told, ...corrected, verdict: 'as_expected' }, next);
  }
  const isNew = past.changed === null && seen.length < BILLS_TO_ACCUSE;
  if (isNew || (total >= low && total <= high)) return tell({ reason: 'no_rule' }, learnt);
  const differs = tell({ ...told, verdict: 'differs' }, { rule, strays: isSharp ? inARow : strays });
  const newest = inARow.slice(-BILLS_OF_CHANGE);
  if (!isSharp || newest.length < BILLS_OF_CHANGE) return differs;
  const changed = changedRule(rule, newest, inARow);
  return changed === null ? differs : withChange(differs, rule, changed, inARow);
}

const NOTHING_TOLD = {
  ...({ verdict: 'unknown', reason: null, rule: null, changed: null } as const),
  ...({ expected: null, unexplained: null, together: null, doubt: 0 } as const),
};

const termsOf = ({ sum, days }: Pick<Bill, 'sum' | 'days'>, bills = 1): Terms => [inFull(sum), days, bills];

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
  return { checks, seen: kept, strays: [], rule, changed };
}

export type BillForecast = ReturnType<typeof forecastBill>;

/** Half a year of months, and their middle one: a change of the length soon counts. */
const NEWEST_PERIODS = 7;
/** February, less a day at each end. */
const SHORTEST_MONTH_DAYS = 26;

/**
 * The days of the next bill: from the end of the newest one on, for as long as its periods usually are, in whole months or days below
 * a month. `null`: no invoice has a period, or two more should have come since.
 */
export function nextBillSpan(invoices: readonly Invoice[], today: Day, zone: Zone): DaySpan | null {
  const periods = billPeriods(invoices, zone).slice(-NEWEST_PERIODS);
  const from = periods.at(-1)?.to;
  if (from === undefined) return null;
  const usual = median(periods.map((period) => daysBetween(period.from, period.to)));
  const to = later(from, usual);
  return later(to, usual) < today ? null : { from, to };
}

/** The same day of the month, or the last one of a shorter month. */
function later(day: Day, length: number): Day {
  if (length < SHORTEST_MONTH_DAYS) return addDays(day, length);
  const months = Math.round((12 * length) / YEAR_DAYS);
  const within = addDays(addMonths(day, months), Number(day.slice(8)) - 1);
  const next = addMonths(day, months + 1);
  return within < next ? within : addDays(next, -1);
}

/**
 * Sums all meters of the account. `rule`: of the newest bill that has one. The weather is the same for all: so are errors. An amount
 * is `null` while one of the meters does not know its own.
 */
export function forecastBill(span: DaySpan, meters: readonly Forecasts[], rule: Rule | null) {
  const days = daysBetween(span.from, span.to);
  const billed = (sum: Micro): Micro =>
    rule ? toMicro(predict(rule, termsOf({ sum, days })).expected) : sum;
  const sumOf = (kind: keyof Forecasts, told = (sum: Micro) => sum): Forecast | null => {
    const part = (part: keyof Forecast): Micro | null => {
      const amounts = meters.map((meter) => meter[kind]?.[part] ?? null);
      const sum = amounts.includes(null) ? null : sumKnown(amounts);
      return sum === null ? null : told(sum);
    };
    const amount = part('amount');
    return amount === null ? null : { amount, low: part('low'), high: part('high') };
  };
  return { span, energy: sumOf('energy'), cost: sumOf('cost', billed) };
}
