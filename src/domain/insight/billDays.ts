// The periods of bills, and what the days of the meters tell of each.
import type { Micro } from '../amount.ts';
import { type Invoice, invoiceRecord } from '../invoice.ts';
import type { Ledger } from '../ledger.ts';
import { compareText } from '../order.ts';
import { addDays, type Day, daysBetween, type Zone } from '../period.ts';
import { type GapEvidence, type GapJudge, gapJudge } from './gaps.ts';
import {
  estimatedRuns,
  type Reading,
  readingOfEachDay,
  readingsIn,
  YEAR_AND_MONTH_DAYS,
} from './readings.ts';

export type MeterDays = Pick<Ledger, 'origin' | 'days'>;

/** A bill and what its days come to; days count from the first one of its period. */
export interface Bill {
  readonly id: string;
  readonly total: Micro;
  readonly from: Day;
  readonly to: Day;
  readonly days: number;
  /** The cost of its days. */
  readonly sum: Micro;
  /** Days without a cost of their own that no reading shows to have in it, and those that a later one carries. */
  readonly missing: number;
  readonly estimated: number;
  /** How much of the sum is open: readings over an end of the period, and charges that a reading after a gap lacks. */
  readonly open: Micro;
}

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
    const bill: Bill = {
      id,
      total,
      from,
      to,
      days,
      sum: known.reduce((all, { sum }) => all + sum, 0),
      missing: new Set(known.flatMap(({ missing }) => missing)).size,
      estimated: new Set(known.flatMap(({ carried }) => carried)).size,
      open: known.reduce((all, { open }) => all + open, 0),
    };
    return [bill];
  });
}

/** What the days of a meter tell of a period. */
interface PeriodCosts {
  /** Days that close a reading. */
  readonly own: number;
  readonly sum: Micro;
  readonly missing: readonly number[];
  readonly carried: readonly number[];
  readonly open: Micro;
}

function openCosts(
  { origin, days }: MeterDays,
  judgeGap: GapJudge,
): (from: Day, count: number) => PeriodCosts {
  let newest = origin;
  for (const day of days.keys()) if (day > newest) newest = day;
  const all = { from: origin, to: addDays(newest, 1) };
  const evidence = new Map<Day, GapEvidence>();
  const inReading = readingOfEachDay('cost', days, all, ({ day, missed }) => {
    const found = judgeGap(days, day, missed);
    evidence.set(day, found);
    return found.heldBy;
  });
  const estimatedOver = openEstimates(days, all);
  /** All of a reading that has days on both sides of the midnight before a day may belong to either. */
  function carriedOver(at: number): Micro {
    const reading = inReading[at] ?? null;
    return reading !== null && reading === inReading[at - 1] ? Math.abs(reading.amount) : 0;
  }
  return (from, count) => {
    const first = daysBetween(origin, from);
    const places = Array.from({ length: count }, (_, at) => at);
    const readingAt = (at: number): Reading | null => inReading[first + at] ?? null;
    const missing = places.filter((at) => readingAt(at) === null);
    // The last of its days closes a reading.
    const isCarried = (at: number) => readingAt(at) !== null && readingAt(at) === readingAt(at + 1);
    const closed = places.flatMap((at) => (isCarried(at) ? [] : (readingAt(at) ?? [])));
    const atEnds = [first, first + count].reduce((sum, at) => sum + carriedOver(at) + estimatedOver(at), 0);
    const unbilled = closed.reduce((sum, { day }) => sum + (evidence.get(day)?.unbilled ?? 0), 0);
    return {
      own: closed.length,
      sum: closed.reduce((sum, { amount }) => sum + amount, 0),
      missing,
      carried: places.filter(isCarried),
      open: atEnds + unbilled,
    };
  };
}

/** How much estimates over the midnight before a day may be off by: what puts them right, give or take a day. */
function openEstimates(days: Ledger['days'], span: { readonly from: Day; readonly to: Day }) {
  const energies = readingsIn('energy', days, span);
  const runs = estimatedRuns(energies);
  const costOf = (at: number): Micro => days.get(energies[at]?.day ?? '')?.cost ?? 0;
  return (at: number): Micro => {
    const run = runs.find(
      ({ first, right }) => (energies[first]?.at ?? 0) < at && (energies[right]?.at ?? at) >= at,
    );
    if (run === undefined) return 0;
    return costOf(run.first) * (1 + run.right - run.next) + Math.abs(costOf(run.right) - costOf(run.first));
  };
}
