// Is my bill right? Each bill is judged by the rule of the bills before it, and a lasting change of the rule is told as one.
import { inFull, type Micro, toMicro } from '../amount.ts';
import { type Invoice, invoiceRecord } from '../invoice.ts';
import type { Ledger } from '../ledger.ts';
import { compareText } from '../order.ts';
import { addDays, type Day, type DaySpan, daysBetween, daysOf, type Zone } from '../period.ts';
import {
  changedRule,
  findRules,
  isKept,
  LARGEST_LIMIT,
  type Observation,
  predict,
  type Rule,
  type Terms,
} from './billRule.ts';
import { dot, leastSquares, median, residual } from './leastSquares.ts';
import {
  AROUND_DAYS,
  estimatedRuns,
  FLAT_DAYS,
  firstDifference,
  type Reading,
  readingOfEachDay,
  readingsIn,
} from './readings.ts';

export const VERDICTS = ['as_expected', 'differs', 'rule_changed', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** A bill, and what the ledgers know of its days. */
interface Bill extends DaySpan {
  readonly id: string;
  readonly total: Micro;
  readonly sum: Micro;
  /** The standing charges of a day in it, and how far off that may be: rounding, and a price that changes. */
  readonly standing: Micro;
  readonly standingBound: Micro;
  readonly days: number;
  /** Days without a cost that no later reading carries. */
  readonly missing: number;
  /** Days without a cost of their own: a later reading carries them. */
  readonly estimated: number;
  /** What of the sum may belong to another bill, or of another's to this: readings over an end of the period. */
  readonly atEnds: Micro;
}

/** What is told of a bill, by the bills before it. */
export interface BillCheck extends Bill {
  /** The standing charges of its days. */
  readonly charges: Micro;
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

/** A bill with the others of its days; if it differs, by how much, and what was allowed. */
interface Seen extends Observation {
  readonly bill: Bill;
  readonly off: number;
  readonly limit: number;
}

/** What is known after a bill has been judged. */
interface Past {
  readonly checks: BillChecks;
  /** The bills by which the next one is judged, and those directly before it that differ; oldest first. */
  readonly regular: readonly Seen[];
  readonly strays: readonly Seen[];
  readonly rule: Rule | null;
  readonly before: Rule | null;
  readonly changedOn: Day | null;
}

type MeterDays = Pick<Ledger, 'origin' | 'days'>;

const NO_PAST: Past = {
  ...{ checks: new Map(), regular: [], strays: [] },
  ...{ rule: null, before: null, changedOn: null },
};
/** A year of months: more tell no more, and take longer. */
const BILLS_OF_RULE = 12;
/** Of fewer, each may have a fee of its own. */
const BILLS_TO_ACCUSE = 4;
/** One bill may be wrong, and two may be so by chance. */
const BILLS_OF_CHANGE = 3;
const CENT = 0.01;
/** A year, and a month for a bill that came late. */
const LONGEST_PERIOD_DAYS = 400;

interface Judged extends BillPeriod {
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
    if (listed !== invoices || changed !== null) {
      let past = NO_PAST;
      let isKnown = true;
      judged = billPeriods(invoices, zone).map((period, at) => {
        const before = judged[at];
        const isSame = before?.invoice === period.invoice && isSameSpan(before, period);
        const isOld = isSame && (changed === null || addDays(period.to, AROUND_DAYS) <= changed);
        const bill = isOld ? before.bill : billOf(period, meters);
        isKnown &&= isSame && JSON.stringify(bill) === JSON.stringify(before.bill);
        past = (isKnown && before?.past) || (bill ? judge(past, bill) : past);
        return { ...period, bill, past };
      });
    }
    [listed, known] = [invoices, meters];
    return judged.at(-1)?.past.checks ?? NO_PAST.checks;
  };
}

/** The first day of which these ledgers tell something else than those before; `null`: none. */
function firstChange(before: readonly MeterDays[], after: readonly MeterDays[]): Day | null {
  const isOther =
    before.length !== after.length || before.some((one, at) => one.origin !== after[at]?.origin);
  if (isOther) return '';
  const changed = before.flatMap((one, at) => firstDifference(one.days, after[at]?.days ?? one.days) ?? []);
  return changed.sort()[0] ?? null;
}

const isSameSpan = (one: DaySpan, other: DaySpan): boolean => one.from === other.from && one.to === other.to;

/** One day in common is how some providers write the ends of periods. */
const isOver = (one: DaySpan, other: DaySpan): boolean =>
  addDays(one.to, -1) > other.from && one.from < addDays(other.to, -1);

interface BillPeriod extends DaySpan {
  readonly invoice: Invoice;
}

/**
 * The days that the bills are about, by their ends; of those that end together the longest comes last, and of one period by the day
 * they are due. Without bills that are cancelled, or have no period that can be.
 */
export function billPeriods(invoices: readonly Invoice[], zone: Zone): BillPeriod[] {
  const periods = invoices
    .flatMap((invoice) => {
      const { period_start: from, period_end: last, status } = invoiceRecord(invoice, zone);
      const isCancelled = /^(cancell?ed|void(ed)?)$/i.test(status ?? '');
      if (isCancelled || from === null || last === null || last < from) return [];
      return daysBetween(from, last) < LONGEST_PERIOD_DAYS ? [{ invoice, from, to: addDays(last, 1) }] : [];
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
    const isUsual = (days: number) => {
      const { length } = before.filter((gap) => gap === days);
      return length > 1 && length * 2 > before.length;
    };
    return { ...period, to: addDays(period.to, [1, -1].find(isUsual) ?? 0) };
  });
}

/** `null` without a total, and where the ledgers begin later than the period or know no cost in it. */
function billOf({ invoice: { id, total }, from, to }: BillPeriod, meters: readonly MeterDays[]): Bill | null {
  if (total === null || meters.some(({ origin }) => origin > from)) return null;
  const within = daysOf({ from, to });
  const [missing, estimated] = [new Set<Day>(), new Set<Day>()];
  let [sum, standing, standingBound, atEnds, isKnown] = [0, 0, 0, 0, false];
  for (const { days } of meters) {
    const readings = readingOfEachDay('cost', days, { from, to });
    const booked = new Set(readings.filter((reading) => reading !== null && reading.day < to));
    // A meter that came later has nothing to do with the bill.
    if (booked.size === 0) continue;
    isKnown = true;
    for (const reading of booked) sum += reading?.amount ?? 0;
    const charge = standingOf(days, within);
    standing += charge.standing;
    standingBound += charge.bound;
    atEnds += carriedOver(from, readings[0]) + carriedOver(to, readings.at(-1));
    atEnds += estimatedAround(from, days) + estimatedAround(to, days);
    for (const [at, day] of within.entries()) {
      if (readings[at] === null) missing.add(day);
      else if (readings[at]?.day !== day) estimated.add(day);
    }
  }
  const facts = { sum, standing, standingBound, atEnds, days: within.length };
  const counts = { missing: missing.size, estimated: estimated.size };
  return isKnown ? { id, total, from, to, ...facts, ...counts } : null;
}

/**
 * The standing charge of a day: where the line through cost by energy begins, by least squares. Its bound: if all days lay as far off
 * the line as the farthest does, each on the worst side.
 */
function standingOf(days: MeterDays['days'], within: readonly Day[]) {
  const lines = within.flatMap((day) => {
    const { energy = null, cost = null } = days.get(day) ?? {};
    // After a missed day there may be two charges.
    const isAlone = days.has(addDays(day, -1));
    return isAlone && energy !== null && cost !== null ? [{ row: [1, inFull(energy)], value: cost }] : [];
  });
  const fit = leastSquares(lines);
  if (fit === null) return { standing: 0, bound: Number.MAX_SAFE_INTEGER };
  const farthest = Math.max(...lines.map((line) => Math.abs(residual(line, fit.coefficients))));
  const weights = lines.map(({ row }) => Math.abs(dot(fit.inverse[0] ?? [], row)));
  return { standing: fit.coefficients[0] ?? 0, bound: farthest * weights.reduce((sum, one) => sum + one, 0) };
}

/**
 * What each bill charges for standing, by the bill that tells the charge of a day best among those in a row whose bounds have a
 * charge in common: an error that all of them share is in no difference between two of them.
 */
function standings(bills: readonly Bill[]): Micro[] {
  const found: Micro[] = [];
  let [low, high, best] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, [] as Bill[]];
  const tell = () => {
    const surest = best.reduce((one, other) => (other.standingBound < one.standingBound ? other : one));
    for (const { sum, days } of best) found.push(Math.min(sum, Math.max(0, surest.standing) * days));
  };
  for (const bill of bills) {
    [low, high] = [
      Math.max(low, bill.standing - bill.standingBound),
      Math.min(high, bill.standing + bill.standingBound),
    ];
    if (low > high) {
      tell();
      best = [];
      [low, high] = [bill.standing - bill.standingBound, bill.standing + bill.standingBound];
    }
    best.push(bill);
  }
  tell();
  return found;
}

/** The amount of a reading with days on both sides of the midnight before `day`. */
const carriedOver = (day: Day, reading: Reading | null | undefined): Micro =>
  reading && reading.day >= day && addDays(reading.day, -reading.missed) < day ? Math.abs(reading.amount) : 0;

/** How much of equal estimates around the midnight before `day` may be on its other side: what puts them right, give or take a day. */
function estimatedAround(day: Day, days: MeterDays['days']): Micro {
  const span = { from: addDays(day, -AROUND_DAYS), to: addDays(day, AROUND_DAYS) };
  const readings = readingsIn('energy', days, span);
  const costAt = (at: number) => days.get(readings[at]?.day ?? '')?.cost ?? 0;
  for (const { first, next } of estimatedRuns(readings)) {
    // Days without energy go on giving back what was estimated too high.
    let right = next;
    while (readings[right]?.amount === 0 && right - next < FLAT_DAYS) right += 1;
    const [begun, ended] = [readings[first]?.day ?? day, readings[right]?.day ?? day];
    if (begun < day && ended >= day)
      return costAt(first) * (1 + right - next) + Math.abs(costAt(right) - costAt(first));
  }
  return 0;
}

function judge(past: Past, bill: Bill): Past {
  const known = [...past.checks.values()];
  const same = known.filter((one) => isSameSpan(one, bill));
  const others = known.filter((one) => !isSameSpan(one, bill));
  const within = others.filter(({ from, to }) => from >= bill.from && to <= bill.to);
  const left = (all: readonly Seen[]) =>
    all.filter((one) => !isSameSpan(one.bill, bill)).slice(-BILLS_OF_RULE);
  const asked = [...left(past.regular), ...left(past.strays)];
  const standing = standings([...asked.map((one) => one.bill), bill]);
  const seen = asked.map((one, at) => ({ ...one, terms: termsOf(one.bill, standing[at] ?? 0, 1) }));
  const regular = seen.slice(0, left(past.regular).length);
  const strays = seen.slice(regular.length);
  const terms = termsOf(bill, standing.at(-1) ?? 0, Math.max(1, within.length));
  const tell = (check: Partial<BillCheck>, more: Partial<Past> = {}): Past => {
    const checks = new Map([
      ...past.checks,
      [bill.id, { ...NOTHING_TOLD, ...bill, charges: standing.at(-1) ?? 0, ...check }],
    ]);
    return { ...past, regular, strays, ...more, checks };
  };
  if (bill.missing > 0) return tell({ reason: 'days_missing' });
  if (within.length === 0 && others.some((one) => isOver(one, bill))) return tell({ reason: 'overlaps' });
  const added = totalOf([bill, ...same]);
  if (same.length > 0 && Math.abs(added) < CENT) return tell({ reason: 'cancelled_out' });

  const sum = inFull(bill.sum);
  const isSharp = within.length === 0 && bill.atEnds === 0;
  const learnt = isSharp ? { regular: [...regular, { terms, bill, total: added, off: 0, limit: 0 }] } : {};
  if (same.length + 1 < usualCount(others)) return tell({ reason: 'more_to_come' }, learnt);
  const found = findRules(regular);
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
  const ends = sum > 0 ? (inFull(bill.atEnds) * first.expected) / sum : 0;
  const exact = sure.find((one) => Math.abs(total - one.expected) <= one.limit);
  const agreeing = exact ?? sure.find((one) => Math.abs(total - one.expected) <= one.limit + ends);
  const { rule, expected, limit } = agreeing ?? first;
  const low = Math.min(...opinions.map((one) => one.expected - one.limit)) - ends;
  const high = Math.max(...opinions.map((one) => one.expected + one.limit)) + ends;
  const off = total - expected;
  const { before, changedOn } = past;
  const told = {
    ...{ before, changedOn, rule, expected: toMicro(expected), unexplained: toMicro(off) },
    doubt: toMicro(
      agreeing ? Math.max(high - total, total - low) : Math.max(high - expected, expected - low),
    ),
    together: isRest ? together('within', within) : together('same_days', same),
  };
  if (agreeing) {
    const kept = isSharp && exact ? { ...learnt, strays: [] } : {};
    return tell({ ...told, verdict: 'as_expected' }, { rule, ...kept });
  }
  const inARow = [...strays, { terms, bill, total: added, off, limit }];
  const corrected = correctedBy(inARow);
  if (corrected) return tell({ ...told, ...corrected, verdict: 'as_expected' }, { rule, strays: [] });
  const isNew = changedOn === null && regular.length < BILLS_TO_ACCUSE;
  if (isNew || (total >= low && total <= high)) return tell({ reason: 'no_rule' }, learnt);
  const differs = { ...told, verdict: 'differs' } as const;
  if (!isSharp) return tell(differs, { rule });
  const newest = inARow.slice(-BILLS_OF_CHANGE);
  const isThird = newest.length === BILLS_OF_CHANGE;
  const changed = isThird ? changedRule(rule, newest, inARow.slice(-BILLS_OF_RULE)) : null;
  if (changed === null) return tell(differs, { rule, strays: inARow });
  return withChange(tell(differs), rule, changed, inARow);
}

const termsOf = ({ sum, days }: Bill, standing: Micro, bills: number): Terms => [
  inFull(sum),
  inFull(sum - standing),
  days,
  bills,
];

const NOTHING_TOLD = {
  ...({ verdict: 'unknown', reason: null, rule: null, before: null, changedOn: null } as const),
  ...({ expected: null, unexplained: null, together: null, doubt: 0 } as const),
};

const totalOf = (bills: readonly Bill[]): number => inFull(bills.reduce((sum, { total }) => sum + total, 0));

const together = (how: 'same_days' | 'before' | 'within', { length: bills }: readonly unknown[]) =>
  bills === 0 ? null : { how, bills };

/** How many bills each of these periods has, as a rule: flats may be billed apart. */
function usualCount(bills: readonly Bill[]): number {
  const counts = new Map<string, number>();
  for (const { from, to } of bills) counts.set(`${from} ${to}`, (counts.get(`${from} ${to}`) ?? 0) + 1);
  return Math.floor(median([...counts.values()]));
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
  for (const { bill, terms, total } of kept) {
    const { expected } = predict(rule, terms);
    const amounts = { expected: toMicro(expected), unexplained: toMicro(total - expected) };
    const change = { verdict: 'rule_changed', rule, before, changedOn, ...amounts } as const;
    checks.set(bill.id, { ...(checks.get(bill.id) as BillCheck), ...change });
  }
  return { ...past, checks, regular: kept, strays: [], rule, before, changedOn };
}
