// The periods of bills, and what the days of the meters tell of each.
import { type Micro, sumKnown } from '../amount.ts';
import { type Invoice, invoiceRecord } from '../invoice.ts';
import { type Ledger, newestDay } from '../ledger.ts';
import { compareText } from '../order.ts';
import { addDays, type Day, type DaySpan, daysBetween, type Zone } from '../period.ts';
import { stepOf } from '../tariff/tariffLine.ts';
import { type GapEvidence, type GapJudge, gapJudge } from './gaps.ts';
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

/** How the days that are billed may lie beside those that are printed: a day off, or by registers that are read in the morning. */
export const SHIFTS = ['day_earlier', 'day_later', 'night'] as const;
export type Shift = (typeof SHIFTS)[number];
/** The part of the night in a register that is read in the morning, as a share of the day before. */
const SHARE_OF_NIGHT = 1 / 3;

/** A bill and what its days come to; days count from the first one of its period. */
export interface Bill {
  readonly id: string;
  readonly total: Micro;
  readonly from: Day;
  readonly to: Day;
  readonly days: number;
  /** The cost of its days, and of those of a period that is shifted; `null` where a day at an end is not known by itself. */
  readonly sum: Micro;
  readonly shifted: Readonly<Record<Shift, Micro | null>>;
  /** The rounding step of its days' costs. */
  readonly step: Micro;
  /** Days without a cost of their own that no reading shows to have in it, and those that a later one carries. */
  readonly missing: number;
  readonly estimated: number;
  /** How much of the sum is open: readings over an end of the period, and charges that a reading after a gap lacks. */
  readonly open: Micro;
}

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
    // Most periods follow one another: an end at the beginning of the last day leaves a day between two, and an end within
    // the first day of the next names that day twice. Once may be another bill for the same days.
    const before = gaps.slice(1, at + 1);
    const isUsual = (days: number) =>
      before.filter((gap) => gap === days).length > Math.max(1, before.length / 2);
    return { ...period, to: addDays(period.to, [1, -1, 2, -2].find(isUsual) ?? 0) };
  });
}

/** Opens the bills of an account: what was found at the gaps of its meters is kept from one time to the next. */
export function openKnownBills() {
  const judges: GapJudge[] = [];
  return (invoices: readonly Invoice[], meters: readonly MeterDays[], zone: Zone): Bill[] => {
    while (judges.length < meters.length) judges.push(gapJudge());
    const costs = meters.map((meter, at) => openCosts(meter, judges[at] ?? gapJudge()));
    return knownBills(invoices, meters, costs, zone);
  };
}

/** Without those that have no total, begin before a ledger does, or of whose days no ledger knows a cost. */
function knownBills(
  invoices: readonly Invoice[],
  meters: readonly MeterDays[],
  costs: readonly ReturnType<typeof openCosts>[],
  zone: Zone,
): Bill[] {
  return billPeriods(invoices, zone).flatMap(({ invoice: { id, total }, from, to }) => {
    if (total === null || meters.some(({ origin }) => origin > from)) return [];
    const days = daysBetween(from, to);
    // A meter that came later has nothing to do with the bill.
    const known = costs.map((costsIn) => costsIn(from, days)).filter(({ own }) => own > 0);
    if (known.length === 0) return [];
    function sumOver(shift: Shift): Micro | null {
      const sums = known.map(({ shifted }) => shifted[shift]);
      return sums.includes(null) ? null : sumKnown(sums);
    }
    const bill: Bill = {
      id,
      total,
      from,
      to,
      days,
      sum: known.reduce((all, { sum }) => all + sum, 0),
      shifted: {
        day_earlier: sumOver('day_earlier'),
        day_later: sumOver('day_later'),
        night: sumOver('night'),
      },
      step: Math.max(...known.map(({ step }) => step)),
      missing: new Set(known.flatMap(({ missing }) => missing)).size,
      estimated: new Set(known.flatMap(({ carried }) => carried)).size,
      open: known.reduce((all, { open }) => all + open, 0),
    };
    return [bill];
  });
}

/** The facts of a period from the days of a meter. */
interface PeriodCosts {
  /** Days that close a reading. */
  readonly own: number;
  readonly sum: Micro;
  readonly shifted: Bill['shifted'];
  readonly step: Micro;
  readonly missing: readonly number[];
  readonly carried: readonly number[];
  readonly open: Micro;
}

function openCosts(
  { origin, days }: MeterDays,
  judgeGap: GapJudge,
): (from: Day, count: number) => PeriodCosts {
  const all = { from: origin, to: addDays(newestDay(days) ?? origin, 1) };
  const evidence = new Map<Day, GapEvidence>();
  const inReading = readingOfEachDay('cost', days, all, ({ day, missed }) => {
    const found = judgeGap(days, day, missed);
    evidence.set(day, found);
    return found.heldBy;
  });
  const estimates = openEstimates(days, all);
  const newestYear = inReading
    .slice(-YEAR_AND_MONTH_DAYS)
    .flatMap((reading) => (reading?.missed === 0 ? reading.amount : []));
  const step = stepOf(newestYear);
  /** All of a reading that has days on both sides of the midnight before a day may belong to either. */
  function carriedOver(at: number): Micro {
    const reading = inReading[at] ?? null;
    return reading !== null && reading === inReading[at - 1] ? Math.abs(reading.amount) : 0;
  }
  /** The cost of a day that has a reading of its own. */
  function aloneOn(at: number): Micro | null {
    const reading = inReading[at] ?? null;
    return reading?.missed === 0 ? reading.amount : null;
  }
  return (from, count) => {
    const first = daysBetween(origin, from);
    const places = Array.from({ length: count }, (_, at) => at);
    const readingAt = (at: number): Reading | null => inReading[first + at] ?? null;
    const missing = places.filter((at) => readingAt(at) === null);
    // The last of its days closes a reading.
    const isCarried = (at: number) => readingAt(at) !== null && readingAt(at) === readingAt(at + 1);
    const closed = places.flatMap((at) => (isCarried(at) ? [] : (readingAt(at) ?? [])));
    const atEnds = [first, first + count].reduce((sum, at) => sum + carriedOver(at) + estimates.over(at), 0);
    const unbilled = closed.reduce((sum, { day }) => sum + (evidence.get(day)?.unbilled ?? 0), 0);
    const sum = closed.reduce((all, { amount }) => all + amount, 0);
    const plus = (more: Micro | null, less: Micro | null, share = 1) =>
      more === null || less === null ? null : sum + Math.round(share * (more - less));
    const [before, last] = [aloneOn(first - 1), aloneOn(first + count - 1)];
    return {
      own: closed.length,
      sum,
      shifted: {
        day_earlier: plus(before, last),
        day_later: plus(aloneOn(first + count), aloneOn(first)),
        night: plus(before, last, SHARE_OF_NIGHT),
      },
      step,
      missing,
      carried: places.filter(isCarried),
      open: atEnds + unbilled + estimates.cutWithin(first, first + count),
    };
  };
}

/** Equal readings before a day of no heat at all are an estimate that was too high, even if they are few: of a dwelling that has no such days. */
const FEWEST_BEFORE_ZERO = 3;
/** One in the month before may have put right another estimate. */
const MOST_ZEROS = 1;

/** How far off estimates may leave the sums of periods. */
function openEstimates(days: Ledger['days'], span: DaySpan) {
  const energies = readingsIn('energy', days, span);
  const runs = estimatedRuns(energies, DOUBTED_BY_CHANCE);
  const isCut = ({ next }: Run) => energies[next]?.amount === 0;
  const cut = [
    ...runs.filter(isCut),
    ...equalRuns(energies).filter((run) => isCut(run) && looksEstimated(energies, run)),
  ];
  const costOf = (at: number): Micro => days.get(energies[at]?.day ?? '')?.cost ?? 0;
  const placeOf = (at: number): number => energies[at]?.at ?? Number.POSITIVE_INFINITY;
  return {
    /** By estimates over the midnight before a day: what puts them right, give or take a day. */
    over(place: number): Micro {
      const run = runs.find(({ first, right }) => placeOf(first) < place && placeOf(right) >= place);
      if (run === undefined) return 0;
      const { first, next, right } = run;
      return costOf(first) * (1 + right - next) + Math.abs(costOf(right) - costOf(first));
    },
    /** By estimates that were too high by more than a day's heat: what is beyond that day is never given back. */
    cutWithin(from: number, to: number): Micro {
      const within = cut.filter(({ first, next }) => placeOf(first) < to && placeOf(next) >= from);
      const costs = new Map(within.map(({ first, next }) => [first, (next - first) * costOf(first)]));
      return [...costs.values()].reduce((sum, cost) => sum + cost, 0);
    },
  };
}

/** Whether so many equal readings are followed by a day of no heat in a dwelling that seldom has such days. */
function looksEstimated(energies: readonly Reading[], { first, next }: Run): boolean {
  if (next - first < FEWEST_BEFORE_ZERO || energies[first]?.amount === 0) return false;
  const before = energies.slice(Math.max(0, first - FEWEST_DAYS), first);
  return before.filter(({ amount }) => amount === 0).length <= MOST_ZEROS;
}
