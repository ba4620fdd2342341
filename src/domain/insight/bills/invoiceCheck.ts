// Bills against the days of their periods: the difference, and what bills usually have on top of their days.
import type { Micro } from '../../amount.ts';
import type { Invoice } from '../../invoice.ts';
import type { Ledger } from '../../ledger.ts';
import { addDays, type Day, type DaySpan, type Zone } from '../../period.ts';
import { quantile } from '../statistics.ts';
import { billPeriods } from './billPeriods.ts';
import { costOfDays, type DaysCost, type MeterCosts, meterCosts } from './invoiceDays.ts';

/** What bills have on top of the sum of their days: so many percent of it, and so much on each. Less than 0: off. */
export interface OnTop {
  readonly percent: number;
  readonly amount: Micro;
}

/** Where the provider's bills count readings for other days than its reports do, they do so by a day. */
export type Shift = -1 | 0 | 1;

export interface InvoiceCheck extends DaysCost {
  /** First and last day of the period. */
  readonly from: Day;
  readonly to: Day;
  /** The days compared lie so many later than those of the period: -1 where bills count a reading a day later. */
  readonly shift: Shift;
  readonly total: Micro;
  /** Of the total and the sum of the days. */
  readonly difference: Micro;
  /** `null`: no other bill explains it, or days are missing. */
  readonly usual: OnTop | null;
  /** What remains of the difference beside what is usual. */
  readonly rest: Micro | null;
  /** The rest is no more than rounding leaves. */
  readonly isExplained: boolean;
  /** Bills directly before this one that have what is usual on top, and all others that have. */
  readonly sameBefore: number;
  readonly sameInAll: number;
}

interface Bill extends DaysCost, DaySpan {
  readonly id: string;
  readonly total: Micro;
  readonly difference: Micro;
}

/** Bills with the same on top. */
interface Run {
  onTop: OnTop;
  bills: readonly Bill[];
}

const CENT = 10_000;
const CENTS_OF_ROUNDING = 5;
const SHARE_OF_ROUNDING = 0.001;
const NOTHING: OnTop = { percent: 0, amount: 0 };
/** Taxes are whole or half percent more often than anything else. */
const LIKELY_STEP = 0.5;
const OTHER_STEPS = [0.1, 0.01];
/** Of two bills on half a percent, with no more than so many apart. */
const NEARBY = 2;
/** On anything else two bills may agree by chance, and so where a reading carries days over an edge of the period. */
const ENOUGH = 3;
/** Two numbers at once, a percentage and an amount, take more to be believed. */
const ENOUGH_FOR_BOTH = 4;
const NEWEST_UNEXPLAINED = 12;

/**
 * By the id of the invoice. Those without a total or a period, those that the ledgers do not cover, and those that
 * share days with another are left out. All are compared with the days shifted alike: by what explains most of them.
 * `ledgers`: of all meters of the account.
 */
export function checkInvoices(
  invoices: readonly Invoice[],
  ledgers: readonly Pick<Ledger, 'origin' | 'days'>[],
  zone: Zone,
): ReadonlyMap<string, InvoiceCheck> {
  const periods = billPeriods(invoices, zone).flatMap(({ invoice: { id, total }, from, to }) =>
    total === null ? [] : [{ id, total, from, to }],
  );
  const alone = periods.filter(
    (one) => !periods.some((other) => other !== one && other.from < one.to && one.from < other.to),
  );
  const meters = ledgers.map(meterCosts);
  const plain = compare(alone, meters, 0);
  const shifted = isExact(plain) ? [] : ([-1, 1] as const).map((shift) => compare(alone, meters, shift));
  const best = shifted.reduce((best, one) => (explainsMore(one, best) ? one : best), plain);
  if (best === plain || best.explained >= ENOUGH) return best.checks;
  // Two bills may agree by chance with one shift or the other.
  return new Map([...plain.checks].map(([id, check]) => [id, { ...check, ...UNEXPLAINED }]));
}

interface Comparison {
  readonly checks: ReadonlyMap<string, InvoiceCheck>;
  /** How many bills, and what is left over of all of them. */
  readonly explained: number;
  readonly rest: Micro;
}

/** Another shift could agree with most bills to a cent by chance only. */
const isExact = ({ checks, explained, rest }: Comparison): boolean =>
  explained >= ENOUGH && 3 * explained >= 2 * checks.size && rest <= explained * CENT;

const explainsMore = (one: Comparison, other: Comparison): boolean =>
  one.explained > other.explained || (one.explained === other.explained && one.rest < other.rest);

function compare(
  periods: readonly Pick<Bill, 'id' | 'total' | 'from' | 'to'>[],
  meters: readonly MeterCosts[],
  shift: Shift,
): Comparison {
  const compared = periods.flatMap((period): Bill[] => {
    const span = { from: addDays(period.from, shift), to: addDays(period.to, shift) };
    const cost = costOfDays(meters, span);
    return cost ? [{ ...period, ...cost, difference: period.total - cost.sum }] : [];
  });
  const explanations = explanationsOf(compared.filter(({ missing }) => missing === 0));
  const checks = compared.map((bill): [string, InvoiceCheck] => {
    const { id, to, ...rest } = bill;
    return [id, { ...rest, to: addDays(to, -1), shift, ...(explanations.get(bill) ?? UNEXPLAINED) }];
  });
  const explained = checks.flatMap(([, { isExplained, rest }]) => (isExplained ? [Math.abs(rest ?? 0)] : []));
  const rest = explained.reduce((sum, one) => sum + one, 0);
  return { checks: new Map(checks), explained: explained.length, rest };
}

type Explanation = Pick<InvoiceCheck, 'usual' | 'rest' | 'isExplained' | 'sameBefore' | 'sameInAll'>;

const UNEXPLAINED: Explanation = { usual: null, rest: null, isExplained: false, sameBefore: 0, sameInAll: 0 };

/** `bills`: oldest first. None for those that nothing explains. */
function explanationsOf(bills: readonly Bill[]): ReadonlyMap<Bill, Explanation> {
  const runs = runsOfAll(bills);
  const found = new Map<Bill, Explanation>();
  for (const [at, bill] of bills.entries()) {
    const run = runs[at];
    if (!run) continue;
    const isOther = (one: Bill) => !run.bills.includes(one);
    found.set(bill, {
      usual: run.onTop,
      rest: restOf(bill, run.onTop),
      isExplained: fits(bill, run.onTop),
      sameBefore: at - 1 - bills.slice(0, at).findLastIndex(isOther),
      sameInAll: run.bills.filter((one) => one !== bill).length,
    });
  }
  return found;
}

/**
 * Some providers bill readings as they come, others what was used from the first to the last day. With the others a bill
 * agrees by chance only where a reading carries days over an edge, so that those without say what is usual.
 */
function runsOfAll(bills: readonly Bill[]): readonly (Run | null)[] {
  const runs = runsOf(bills);
  const agreeing = bills.filter((bill, at) => runs[at]?.bills.includes(bill));
  if (3 * agreeing.length >= 2 * bills.length) return runs;
  const exact = bills.filter(({ edge }) => edge === 0);
  const told = runsOf(exact);
  const first = told.find((run) => run !== null) ?? null;
  return bills.map((bill) => told[exact.findLastIndex(({ from }) => from <= bill.from)] ?? first);
}

/**
 * What each bill is compared with: the run that it belongs to, else the one that held before it, else the first that
 * came after it. `bills`: oldest first.
 */
function runsOf(bills: readonly Bill[]): readonly (Run | null)[] {
  const runs: (Run | null)[] = bills.map(() => null);
  let usual: Run | null = null;
  let unexplained: Bill[] = [];
  for (const [at, bill] of bills.entries()) {
    const widened: OnTop | null = usual && common([...usual.bills, bill]);
    if (usual && (widened || fits(bill, usual.onTop))) {
      usual.bills = [...usual.bills, bill];
      usual.onTop = widened ?? usual.onTop;
      unexplained = [];
    } else {
      const found = newRun(bill, unexplained, bills.slice(0, at + 1));
      for (const one of found?.bills ?? []) runs[bills.indexOf(one)] = found;
      unexplained = found ? [] : [...unexplained, bill].slice(-NEWEST_UNEXPLAINED);
      usual = found ?? usual;
    }
    runs[at] = usual;
  }
  const isTold = new Map([...new Set(runs)].map((run) => [run, run !== null && isMostly(run, bills, runs)]));
  const told = runs.map((run) => (isTold.get(run) ? run : null));
  const first = told.findIndex((run) => run !== null);
  return told.map((run, at) => (at < first ? (told[first] ?? null) : run));
}

/** Some of many bills agree by chance: it has to hold for two of three of its time that can be compared exactly. */
function isMostly(run: Run, bills: readonly Bill[], runs: readonly (Run | null)[]): boolean {
  const since = bills.slice(runs.indexOf(run), runs.lastIndexOf(run) + 1);
  const others = since.filter((bill) => bill.edge === 0 && !run.bills.includes(bill));
  return 2 * others.length <= run.bills.length;
}

/** The bill together with unexplained ones before it, or with the newest of all. `all`: up to this one. */
function newRun(bill: Bill, unexplained: readonly Bill[], all: readonly Bill[]): Run | null {
  if (all.length === 1 && bill.edge === 0 && Math.abs(bill.difference) <= CENT)
    return { onTop: NOTHING, bills: [bill] };
  let found: Run | null = null;
  for (const other of unexplained.toReversed()) {
    const bills: readonly Bill[] = [...(found?.bills ?? [bill]), other];
    const onTop = common(bills);
    if (onTop) found = { onTop, bills };
  }
  if (found && (found.bills.length >= ENOUGH || isLikely(found, unexplained.slice(-NEARBY)))) return found;
  const newest = all.slice(-ENOUGH_FOR_BOTH);
  const onTop = newest.length === ENOUGH_FOR_BOTH ? common(newest) : null;
  return onTop && { onTop, bills: newest };
}

/** Two bills that are not far apart agree on half a percent. */
const isLikely = ({ onTop: { percent, amount }, bills: [bill, other] }: Run, nearby: readonly Bill[]) =>
  bill?.edge === 0 &&
  other?.edge === 0 &&
  nearby.includes(other) &&
  amount === 0 &&
  percent % LIKELY_STEP === 0;

/** What all of them have on top: the simpler explanation, unless another is a cent closer; `null` without any. */
function common(bills: readonly Bill[]): OnTop | null {
  const isCommon = (onTop: OnTop) => bills.every((bill) => fits(bill, onTop));
  const worst = (onTop: OnTop) => Math.max(...bills.map((bill) => Math.abs(restOf(bill, onTop))));
  const candidates = [
    NOTHING,
    ...percentages(bills, LIKELY_STEP),
    { percent: 0, amount: medianRest(bills, 0) },
    ...percentages(bills, ...OTHER_STEPS),
    ...(bills.length >= ENOUGH_FOR_BOTH ? both(bills) : []),
  ].filter(isCommon);
  return candidates.reduce<OnTop | null>(
    (best, one) => (best && worst(best) <= worst(one) + CENT ? best : one),
    null,
  );
}

function percentages(bills: readonly Bill[], ...steps: readonly number[]): OnTop[] {
  const sum = bills.reduce((all, bill) => all + bill.sum, 0);
  if (sum <= 0) return [];
  const mean = (100 * bills.reduce((all, { difference }) => all + difference, 0)) / sum;
  return steps.map((step) => ({ percent: inSteps(mean, step), amount: 0 }));
}

/** By the slope between the bills of the smallest and the largest sum. */
function both(bills: readonly Bill[]): OnTop[] {
  const bySum = [...bills].sort((a, b) => a.sum - b.sum);
  const [least, most] = [bySum[0], bySum.at(-1)];
  if (!least || !most || least.sum === most.sum) return [];
  const slope = (100 * (most.difference - least.difference)) / (most.sum - least.sum);
  const percent = inSteps(slope, LIKELY_STEP);
  return [{ percent, amount: medianRest(bills, percent) }];
}

/** To the cent. */
function medianRest(bills: readonly Bill[], percent: number): Micro {
  const rests = bills.map((bill) => restOf(bill, { percent, amount: 0 }));
  return Math.round(quantile(rests, 0.5) / CENT) * CENT;
}

const inSteps = (value: number, step: number): number =>
  Number((Math.round(value / step) * step).toFixed(2)) || 0;

const restOf = ({ sum, difference }: Bill, { percent, amount }: OnTop): Micro =>
  difference - Math.round((sum * percent) / 100) - amount;

const fits = (bill: Bill, onTop: OnTop): boolean => Math.abs(restOf(bill, onTop)) <= roundingOf(bill);

const roundingOf = ({ total }: Pick<Bill, 'total'>): Micro =>
  Math.max(CENTS_OF_ROUNDING * CENT, Math.round(Math.abs(total) * SHARE_OF_ROUNDING));
