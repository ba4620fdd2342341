// The periods of bills, and what the days of the meters tell of each.
import { type Micro, sumKnown } from '../amount.ts';
import { type Invoice, invoiceRecord } from '../invoice.ts';
import { sumBy } from '../leastSquares.ts';
import { type Ledger, newestDay } from '../ledger.ts';
import { compareText } from '../order.ts';
import { addDays, type Day, type DaySpan, daysBetween, type Zone } from '../period.ts';
import { stepOf } from '../tariff/tariffLine.ts';
import { type GapJudge, gapJudge } from './gaps.ts';
import {
  DOUBTED_BY_CHANCE,
  equalRuns,
  estimatedRuns,
  FEWEST_DAYS,
  type Reading,
  type Run,
  readingOfEachDay,
  readingsIn,
  YEAR_AND_MONTH_DAYS,
} from './readings.ts';

export type MeterDays = Pick<Ledger, 'origin' | 'days'>;

/** The days that are billed are those printed, or lie a day beside these, or a register is read in the morning. */
export const PLACINGS = ['printed', 'day_earlier', 'day_later', 'night'] as const;
export type Placing = (typeof PLACINGS)[number];
type Sums = Readonly<Record<Placing, Micro | null>>;

export const byPlacing = (sumOf: (placing: Placing) => Micro | null): Sums => ({
  printed: sumOf('printed'),
  day_earlier: sumOf('day_earlier'),
  day_later: sumOf('day_later'),
  night: sumOf('night'),
});

/** The part of the night in a register that is read in the morning, as a share of the day before. */
const SHARE_OF_NIGHT = 1 / 3;

export type Bill = Readonly<NonNullable<ReturnType<typeof billOf>>>;

/** 1 of a credit note, which comes after the bill that it belongs to. */
const isCredit = ({ invoice }: { readonly invoice: Invoice }): number => Number((invoice.total ?? 0) < 0);

/**
 * The periods by their ends; of those that end together the longest comes last, and of one period by the day they are due. Without bills
 * that are cancelled, or have no period that can be.
 */
export function billPeriods(invoices: readonly Invoice[], zone: Zone) {
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
        isCredit(a) - isCredit(b) ||
        compareText(a.invoice.id, b.invoice.id),
    );
  const gaps = periods.map(({ from }, at) => daysBetween(periods[at - 1]?.to ?? from, from));
  return periods.map((period, at) => {
    const correction = endCorrection(gaps.slice(1, at + 1));
    return { ...period, to: addDays(period.to, correction) };
  });
}

/**
 * Most periods follow one another: an end at the beginning of the last day leaves a day between two, and an end within the first
 * day of the next names that day twice. A gap that is not usual is none of the two: it may be another bill for the same days.
 */
function endCorrection(gaps: readonly number[]): number {
  const isUsual = (days: number) => gaps.filter((gap) => gap === days).length > Math.max(1, gaps.length / 2);
  return [1, -1, 2, -2].find(isUsual) ?? 0;
}

/** Opens the bills of an account: the evidence at the gaps of its meters is kept from one time to the next. */
export function openBills() {
  const judges: GapJudge[] = [];
  return (invoices: readonly Invoice[], meters: readonly MeterDays[], zone: Zone): Bill[] => {
    const costs = meters.map((meter, at) => {
      judges[at] ??= gapJudge();
      return costsOf(meter, judges[at]);
    });
    return billPeriods(invoices, zone).flatMap((period) => billOf(period, costs) ?? []);
  };
}

/** A bill and what its days come to. `null`: it has no total, begins before a ledger does, or no ledger knows a cost of its days. */
function billOf(
  { invoice: { id, total }, from, to }: ReturnType<typeof billPeriods>[number],
  costs: readonly MeterCosts[],
) {
  if (total === null || costs.some(({ origin }) => origin > from)) return null;
  const days = daysBetween(from, to);
  // A meter that came later has nothing to do with the bill.
  const meters = costs.map((meter) => costsOver(meter, from, days)).filter(({ closed }) => closed > 0);
  if (meters.length === 0) return null;
  const sums = byPlacing((placing) => {
    const ofMeters = meters.map((meter) => meter.sums[placing]);
    return ofMeters.includes(null) ? null : sumKnown(ofMeters);
  });
  return {
    id,
    total,
    from,
    to,
    days,
    /** The cost of its days: of those printed, and by each placing; `null` where a day at an end is not known by itself. */
    sum: sums.printed ?? 0,
    sums,
    /** The rounding step of its days' costs. */
    step: Math.max(...meters.map(({ step }) => step)),
    /** Days without a cost of their own that no reading shows to have in it, and those that a later one carries. */
    missing: new Set(meters.flatMap(({ missing }) => missing)).size,
    estimated: new Set(meters.flatMap(({ carried }) => carried)).size,
    /** The part of the sum that is open: readings over an end of the period, and charges that a reading after a gap lacks. */
    open: sumBy(meters, ({ open }) => open),
  };
}

type MeterCosts = ReturnType<typeof costsOf>;

/** The costs of a meter's days from its origin on. */
function costsOf({ origin, days }: MeterDays, judgeGap: GapJudge) {
  const span = { from: origin, to: addDays(newestDay(days) ?? origin, 1) };
  /** Standing charges that the reading of a day lacks. */
  const unbilled = new Map<Day, Micro>();
  /** The reading that each day is in; `null`: in none that shows it. */
  const readings = readingOfEachDay('cost', days, span, ({ day, missed }) => {
    const evidence = judgeGap(days, day, missed);
    unbilled.set(day, evidence.unbilled);
    return evidence.heldBy;
  });
  const newestYear = readings.slice(-YEAR_AND_MONTH_DAYS);
  const step = stepOf(newestYear.flatMap((reading) => (reading?.missed === 0 ? reading.amount : [])));
  return { origin, readings, unbilled, estimates: estimatesIn(days, span), step };
}

/** The facts of a period from the days of a meter. `closed`: its days that close a reading; `missing`, `carried`: places in it. */
function costsOver(meter: MeterCosts, from: Day, count: number) {
  const { readings, unbilled, estimates, step } = meter;
  const first = daysBetween(meter.origin, from);
  const end = first + count;
  const places = Array.from({ length: count }, (_, at) => at);
  const readingAt = (at: number): Reading | null => readings[first + at] ?? null;
  // The last of its days closes a reading.
  const isCarried = (at: number) => readingAt(at) !== null && readingAt(at) === readingAt(at + 1);
  const closed = places.flatMap((at) => (isCarried(at) ? [] : (readingAt(at) ?? [])));
  const sum = sumBy(closed, ({ amount }) => amount);
  const lacking = sumBy(closed, ({ day }) => unbilled.get(day) ?? 0);
  const leftOpen = estimates.filter((estimate) => isLeftOpen(estimate, first, end));
  /** The sum with one day more and one less, or a share of them. */
  const moved = (more: Micro | null, less: Micro | null, share = 1) =>
    more === null || less === null ? null : sum + Math.round(share * (more - less));
  const before = costOfDay(readings, first - 1);
  const last = costOfDay(readings, end - 1);
  return {
    closed: closed.length,
    sums: {
      printed: sum,
      day_earlier: moved(before, last),
      day_later: moved(costOfDay(readings, end), costOfDay(readings, first)),
      night: moved(before, last, SHARE_OF_NIGHT),
    },
    step,
    missing: places.filter((at) => readingAt(at) === null),
    carried: places.filter(isCarried),
    open:
      carriedOver(readings, first) +
      carriedOver(readings, end) +
      lacking +
      sumBy(leftOpen, ({ open }) => open),
  };
}

/** All of a reading that has days on both sides of the midnight before a day may belong to either. */
function carriedOver(readings: MeterCosts['readings'], at: number): Micro {
  const reading = readings[at] ?? null;
  return reading !== null && reading === readings[at - 1] ? Math.abs(reading.amount) : 0;
}

/** `null`: the day has no reading of its own. */
function costOfDay(readings: MeterCosts['readings'], at: number): Micro | null {
  const reading = readings[at] ?? null;
  return reading?.missed === 0 ? reading.amount : null;
}

/** Equal readings before a day of no heat at all are an estimate that was too high, even if they are few: of a dwelling that has no such days. */
const FEWEST_BEFORE_ZERO = 3;
/** One in the month before may have put right another estimate. */
const MOST_ZEROS = 1;

type Estimate = ReturnType<typeof estimatesIn>[number];

/**
 * Estimates from the day `first` on, by places, and by how much the sum of a period may be off that they leave open. The reading of `last`
 * puts it right, or else is cut at zero: the rest is never given back then.
 */
function estimatesIn(days: Ledger['days'], span: DaySpan) {
  const energies = readingsIn('energy', days, span);
  const runs = estimatedRuns(energies, DOUBTED_BY_CHANCE);
  const costOf = (index: number): Micro => days.get(energies[index]?.day ?? '')?.cost ?? 0;
  const placeOf = (index: number): number => energies[index]?.at ?? Number.POSITIVE_INFINITY;
  const isEstimate = (run: Run) => runs.some(({ first }) => first === run.first);
  const cut = equalRuns(energies).filter(
    (run) => energies[run.next]?.amount === 0 && (isEstimate(run) || looksEstimated(energies, run)),
  );
  return [
    // `open` is what the reading put right, give or take a day.
    ...runs.map(({ first, next, right }) => ({
      first: placeOf(first),
      last: placeOf(right),
      isPutRight: true,
      open: costOf(first) * (1 + right - next) + Math.abs(costOf(right) - costOf(first)),
    })),
    ...cut.map(({ first, next }) => ({
      first: placeOf(first),
      last: placeOf(next),
      isPutRight: false,
      open: (next - first) * costOf(first),
    })),
  ];
}

/** The estimates lie over an end of the period, or lie in it and are never put right. */
function isLeftOpen({ first, last, isPutRight }: Estimate, from: number, end: number): boolean {
  const isOver = (at: number) => first < at && last >= at;
  return isPutRight ? isOver(from) || isOver(end) : first < end && last >= from;
}

/** Equal readings before a day of no heat are an estimate if the dwelling seldom has such days. */
function looksEstimated(energies: readonly Reading[], { first, next }: Run): boolean {
  if (next - first < FEWEST_BEFORE_ZERO || energies[first]?.amount === 0) return false;
  const before = energies.slice(Math.max(0, first - FEWEST_DAYS), first);
  return before.filter(({ amount }) => amount === 0).length <= MOST_ZEROS;
}
