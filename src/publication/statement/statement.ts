// The facts of one complete month: use, charges and comparisons, and what is not known and why.
import { inFull, knownUnits, sumKnown, toUnits } from '../../domain/amount.ts';
import { differenceOf } from '../../domain/insight/billWords.ts';
import { gapEvidence } from '../../domain/insight/gaps.ts';
import {
  estimatedRuns,
  LONGEST_SPAN_DAYS,
  type Reading,
  readingOfEachDay,
  readingsIn,
  SEASON_DAYS,
  YEAR_DAYS,
} from '../../domain/insight/readings.ts';
import type { HeatLine, Part } from '../../domain/insight/weather.ts';
import { invoiceRecord } from '../../domain/invoice.ts';
import type { Amounts, Ledger } from '../../domain/ledger.ts';
import {
  addDays,
  addMonths,
  type Day,
  type DaySpan,
  daysBetween,
  daysOf,
  monthStart,
} from '../../domain/period.ts';
import { type Register, readingsByMeter } from '../../domain/reading.ts';
import { dayClosedBy } from '../../domain/readingCloses.ts';
import { fitTariff } from '../../domain/tariff/tariff.ts';
import { isRead } from '../../domain/totals.ts';
import type { PayloadByTopic } from '../payloads/payloads.ts';
import type { AccountView, MeterView, StatementConfig, WitnessView } from '../views.ts';

export type Statement = PayloadByTopic['meter/<meter>/statement'];
/** A value or the reason why there is none, and what it rests on. */
export type Field<T> = Omit<Statement['energy'], 'value'> & { readonly value: T | null };
type Basis = NonNullable<Field<unknown>['basis']>;
type Reason = NonNullable<Field<unknown>['reason']>;

type MeterKey = 'meter' | 'friendlyName' | 'area' | 'identifiers' | 'tenancy' | 'house' | 'register';
type MeterFacts = Pick<MeterView, MeterKey | 'zone' | 'currency' | 'readingCloses'> & {
  readonly witness?: Pick<WitnessView, 'midnights'> | undefined;
};
type AccountKey = 'account' | 'zone' | 'invoices' | 'checks' | 'balance' | 'statement' | 'asked';
type AccountFacts = Pick<AccountView, AccountKey>;
/** The facts that a statement is made from. */
export interface StatementFacts {
  readonly meter: MeterFacts;
  readonly account: AccountFacts;
}

const known = <T>(value: T, basis: Basis): Field<T> => ({ value, reason: null, basis });
const unknown = (reason: Reason): Field<never> => ({ value: null, reason, basis: null });

const HOUR_MS = 3_600_000;

/** Months of which a statement can be had, newest first: whole, since the ledger's origin, and complete. */
export function* completeMonths(
  { origin, days }: Pick<Ledger, 'origin' | 'days'>,
  at: { readonly zone: MeterView['zone']; readonly now: number; readonly lateAfterHours: number },
): Generator<string, undefined> {
  const { zone, now, lateAfterHours } = at;
  for (let to = monthStart(zone.dayAt(now)); addMonths(to, -1) >= origin; to = addMonths(to, -1)) {
    const from = addMonths(to, -1);
    const isLate = now >= zone.startOf(to) + lateAfterHours * HOUR_MS;
    if (isLate || daysOf({ from, to }).every((day) => isRead(days, day))) yield from.slice(0, 7);
  }
}

/** `month`: one of `completeMonths`. */
export function statementOf(month: string, facts: StatementFacts): Statement {
  const { meter, account } = facts;
  const { days } = meter.tenancy;
  const balance = account.balance?.amount;
  const span = spanOf(month);
  const back = (months: number) => addMonths(span.from, -months).slice(0, 7);
  const { energy, cost } = usedIn(days, month);
  // One line for all months of the chart.
  const line = meter.house?.lineBefore(span.from);
  const edges = edgesOf(days, span);
  const { change: weather, isSure } = weatherAdjusted(meter, span, line);
  const bills = billsOf(account, span);
  const marks = marksOf(days, span);
  const months = Array.from({ length: 13 }, (_, at) => {
    const { month, energy, cost } = usedIn(days, back(12 - at));
    const adjusted = weatherAdjusted(meter, spanOf(month), line).change.value?.kwh ?? null;
    return { month, energy_kwh: energy.value, cost: cost.value, year_before_adjusted_kwh: adjusted };
  });
  const lately = within(days, { from: `${back(12)}-01`, to: span.to });
  const ofYear = months.slice(1).map(({ energy_kwh }) => energy_kwh);
  return {
    month,
    from: span.from,
    to: addDays(span.to, -1),
    timezone: meter.zone.name,
    currency: meter.currency,
    account: account.account,
    meter: meter.meter,
    meter_name: meter.friendlyName,
    meter_identifiers: [...identifiersAt(meter, span)],
    revision: lately.reduce((sum, { revision }) => sum + revision, 0),
    conclusion: conclusionOf({
      missing: marks.missing.length,
      edges,
      bills: bills.value,
      checks: account.checks,
      change: weather.value,
      isSure,
    }),
    energy,
    cost,
    month_before: comparedIn(days, back(1)),
    year_before: comparedIn(days, back(12)),
    weather_adjusted: weather,
    months,
    prices: pricesIn(days, span),
    ...heatParts(meter, span),
    register_first: registerAt(facts, addDays(span.from, -1)),
    register_last: registerAt(facts, addDays(span.to, -1)),
    exchanges: exchangesIn(meter, span),
    ...witnessIn(meter, span, energy.value),
    days: { of: daysOf(span).length, ...marks },
    bills,
    due: balance == null ? untold(account, 'balance') : known(toUnits(balance), { kind: 'provider' }),
    ...configured(account.statement, meter, energy.value, ofYear.includes(null) ? null : sumKnown(ofYear)),
  };
}

/** `2026-10` as its days. */
const spanOf = (month: string): DaySpan => ({ from: `${month}-01`, to: addMonths(`${month}-01`, 1) });
const within = (days: Ledger['days'], span: DaySpan) => daysOf(span).flatMap((day) => days.get(day) ?? []);
const tenths = (value: number): number => Math.round(value * 10) / 10 || 0;

/** Use and cost of a month. */
function usedIn(days: Ledger['days'], month: string): Statement['month_before'] {
  const span = spanOf(month);
  const field = (kind: keyof Amounts): Field<number> => {
    const read = within(days, span).flatMap((day) => day[kind] ?? []);
    const sum = sumKnown(read);
    const basis = { kind: 'readings', days: read.length, of: daysOf(span).length } as const;
    return sum === null ? unknown('not_recorded') : known(toUnits(sum), basis);
  };
  return { month, energy: field('energy'), cost: field('cost') };
}

/** Another month to compare with: none of which a reading carries days over an end. */
function comparedIn(days: Ledger['days'], month: string): Statement['month_before'] {
  if (!hasGapAtEdge(edgesOf(days, spanOf(month)))) return usedIn(days, month);
  const silent = unknown('gap_at_edge');
  return { month, energy: silent, cost: silent };
}

/** A gap over an end of a month, and the reading that has its days in it. */
interface EdgeGap {
  readonly days: number;
  readonly reading: Day;
}
interface Edges {
  /** Days of the month before in the first reading, and days of the month in a reading after it. */
  readonly atStart: EdgeGap | null;
  readonly atEnd: EdgeGap | null;
}

const hasGapAtEdge = ({ atStart, atEnd }: Edges): boolean => atStart !== null || atEnd !== null;

function edgesOf(days: Ledger['days'], span: DaySpan): Edges {
  const around = readingsOf(days, { from: addDays(span.from, -1), to: addDays(span.to, 1) });
  const [before, ...within] = around.slice(0, -1);
  const [first] = within;
  const after = within.filter((reading) => reading !== null && reading.day >= span.to);
  const reading = after[0] ?? null;
  const isAtStart = before != null && before === first && first.day < span.to;
  return {
    atStart: isAtStart
      ? { days: daysBetween(addDays(first.day, -first.missed), span.from), reading: first.day }
      : null,
    atEnd: reading === null ? null : { days: after.length, reading: reading.day },
  };
}

/** For each day of the span the reading that shows that it has its heat in it. */
const readingsOf = (days: Ledger['days'], span: DaySpan): readonly (Reading | null)[] =>
  readingOfEachDay('energy', days, span, ({ day, missed }) => gapEvidence(days, day, missed).heldBy);

function weatherAdjusted(
  { house, tenancy: { days } }: MeterFacts,
  span: DaySpan,
  line: HeatLine | undefined,
): { readonly change: Statement['weather_adjusted']; readonly isSure: boolean } {
  const yearBefore = spanOf(addMonths(span.from, -12).slice(0, 7));
  const isWhole = ![span, yearBefore].some((one) => hasGapAtEdge(edgesOf(days, one)));
  const compared = isWhole ? house?.changeOver(span, line) : 'gap_at_edge';
  const change = house ? (compared ?? 'days_missing') : 'needs_outdoor_temperature';
  if (typeof change === 'string') return { change: unknown(change), isSure: false };
  const { percent, low, high, expected, isSure } = change;
  const value = {
    percent: tenths(percent),
    low: tenths(low),
    high: tenths(high),
    kwh: Number(expected.toFixed(3)),
  };
  const learnt = { from: addDays(span.from, -YEAR_DAYS), to: span.from };
  const basis: Basis = {
    kind: 'fit',
    from: learnt.from,
    to: addDays(learnt.to, -1),
    days: within(days, learnt).length,
  };
  return { change: known(value, basis), isSure };
}

function heatParts(
  { house, tenancy: { days } }: MeterFacts,
  span: DaySpan,
): Pick<Statement, 'heating' | 'hot_water'> {
  const isWhole = !hasGapAtEdge(edgesOf(days, span));
  const parts = isWhole ? house?.split(span) : 'gap_at_edge';
  const split = house ? (parts ?? 'days_missing') : 'needs_outdoor_temperature';
  if (typeof split === 'string') {
    const silent = unknown(split);
    return { heating: silent, hot_water: silent };
  }
  const year = { from: addDays(span.to, -YEAR_DAYS), to: span.to };
  const read = within(days, year).length;
  const basis = { kind: 'fit', from: year.from, to: addDays(year.to, -1), days: read } as const;
  const told = ({ energy, low, high }: Part) =>
    known({ kwh: tenths(energy), low: tenths(low), high: tenths(high) }, basis);
  return { heating: told(split.heating), hot_water: told(split.hotWater) };
}

/**
 * The tariffs that explain days of the span, oldest first: fitted with the days of the season after it too, as a tariff that began on its
 * last days is not known by these alone.
 */
function pricesIn(days: Ledger['days'], span: DaySpan): Statement['prices'] {
  const prices: NonNullable<Statement['prices']['value']>[number][] = [];
  let explained = 0;
  let since = addDays(span.to, SEASON_DAYS);
  while (since > span.from) {
    const tariff = fitTariff(new Map([...days].filter(([day]) => day < since)));
    if (tariff === null || tariff.to < span.from) break;
    since = tariff.from;
    if (tariff.from >= span.to) continue;
    prices.unshift({
      from: tariff.from < span.from ? span.from : tariff.from,
      to: tariff.to < span.to ? tariff.to : addDays(span.to, -1),
      unit_rate: tariff.unitRate,
      unit_rate_margin: tariff.unitRateMargin,
      standing_charge: inFull(tariff.standingCharge),
      standing_charge_margin: inFull(tariff.standingChargeMargin),
    });
    explained += tariff.daysExplained;
  }
  const last = prices.at(-1);
  if (last === undefined) return unknown('not_explained');
  return known(prices, { kind: 'fit', from: since, to: last.to, days: explained });
}

const untold = ({ asked }: AccountFacts, extra: keyof AccountView['asked']) =>
  unknown(asked[extra] ? 'not_told' : 'switched_off');

/** The register when the day closed. */
function registerAt({ meter, account }: StatementFacts, day: Day): Statement['register_first'] {
  const { register, readingCloses, zone } = meter;
  if (register === null) return untold(account, 'meter_reading');
  const isOfDay = ({ readAt }: { readonly readAt: number }) =>
    dayClosedBy(readAt, readingCloses, zone) === day;
  const reading = register.readings.findLast(isOfDay);
  if (reading === undefined) return unknown('not_recorded');
  const at = zone.iso(reading.readAt);
  return known({ kwh: toUnits(reading.energy), at }, { kind: 'register', at });
}

/** What the meter itself says, by its registers at the midnights of both ends. */
function witnessIn(
  { witness, zone }: MeterFacts,
  { from, to }: DaySpan,
  provider: number | null,
): Pick<Statement, 'witness'> {
  if (witness === undefined) return {};
  const atStartOf = (day: Day) =>
    witness.midnights?.readings.find(({ readAt }) => zone.dayAt(readAt) === day);
  const first = atStartOf(from);
  const last = atStartOf(to);
  if (!first || !last) return { witness: unknown('not_recorded') };
  const value = { kwh: toUnits(last.energy - first.energy), provider_kwh: provider };
  return { witness: known(value, { kind: 'register', at: zone.iso(last.readAt) }) };
}

/** Of those that are known, the ones after which the register was read in the span for the first time. */
function exchangesIn({ register, readingCloses, zone }: MeterFacts, span: DaySpan): Statement['exchanges'] {
  const told = ({ energy, readAt, meter }: Register) => ({
    kwh: toUnits(energy),
    at: zone.iso(readAt),
    meter_identifier: meter ?? null,
  });
  const meters = readingsByMeter(register?.readings ?? []);
  return meters.flatMap(([first], at) => {
    const last = meters[at - 1]?.at(-1);
    if (!last || !first) return [];
    const day = dayClosedBy(first.readAt, readingCloses, zone);
    return day >= span.from && day < span.to ? [{ last: told(last), first: told(first) }] : [];
  });
}

/** The meter at the end of the span, where its register tells; else those of now. */
function identifiersAt(meter: MeterFacts, span: DaySpan): readonly string[] {
  const { register, identifiers, readingCloses, zone } = meter;
  const readings = register?.readings ?? [];
  const isBeforeEnd = ({ readAt }: Register) => dayClosedBy(readAt, readingCloses, zone) < span.to;
  const newest = readings.findLast(isBeforeEnd) ?? readings[0];
  return newest?.meter === undefined ? identifiers : [newest.meter];
}

function marksOf(days: Ledger['days'], span: DaySpan): Omit<Statement['days'], 'of'> {
  const all = daysOf(span);
  const inReading = readingsOf(days, span);
  // With the season before, which tells how often readings are equal by chance.
  const season = { from: addDays(span.from, -SEASON_DAYS), to: addDays(span.to, LONGEST_SPAN_DAYS) };
  const readings = readingsIn('energy', days, season);
  const estimates = estimatedRuns(readings)
    .flatMap(({ first, next }) => readings.slice(first, next))
    .filter(({ day }) => day >= span.from && day < span.to);
  return {
    missing: all.filter((_, at) => (inReading[at] ?? null) === null),
    carried: all.filter((day, at) => inReading[at] && !isRead(days, day)),
    estimated: estimates.map(({ day }) => day),
    corrected: all.filter((day) => (days.get(day)?.revision ?? 0) > 0),
  };
}

function billsOf(account: AccountFacts, { from, to }: DaySpan): Statement['bills'] {
  const { invoices, checks, zone } = account;
  if (invoices === null) return untold(account, 'invoices');
  const found = invoices.all.flatMap((invoice) => {
    const { id, period_start, period_end, amount, amount_due, due } = invoiceRecord(invoice, zone);
    if (period_start === null || period_end === null || period_start >= to || period_end < from) return [];
    const check = checks.get(id);
    // With days missing the sum is not that of the bill.
    const isWhole = check !== undefined && check.missing === 0 && check.together === null;
    const bill: ToldBill = {
      id,
      from: period_start,
      to: period_end,
      amount,
      amount_due,
      due,
      sum_of_days: isWhole ? toUnits(check.sum) : null,
      difference: isWhole ? toUnits(differenceOf(check)) : null,
      verdict: check?.verdict ?? 'unknown',
      unexplained: knownUnits(check?.unexplained),
    };
    return [bill];
  });
  if (found.length === 0) return unknown('no_bill');
  return known(found, { kind: 'bills', ids: found.map(({ id }) => id) });
}

interface ConclusionFacts {
  readonly missing: number;
  readonly edges: Edges;
  readonly bills: Statement['bills']['value'];
  readonly checks: AccountFacts['checks'];
  readonly change: Statement['weather_adjusted']['value'];
  readonly isSure: boolean;
}

/** First what makes the figures incomplete, then the bill, then the use. */
function conclusionOf(facts: ConclusionFacts): Statement['conclusion'] {
  const { missing, edges, bills, checks, change, isSure } = facts;
  const tell = (
    code: Statement['conclusion']['code'],
    amount: number | null = null,
    day: Day | null = null,
  ) => {
    return { code, amount, day };
  };
  if (missing > 0) return tell('days_missing', missing);
  if (edges.atEnd) return tell('gap_at_end', edges.atEnd.days, edges.atEnd.reading);
  if (edges.atStart) return tell('gap_at_start', edges.atStart.days, edges.atStart.reading);
  const standing = bills?.filter((bill) => !isSettled(bill, bills, checks));
  const wrong = standing?.find(({ verdict }) => verdict === 'differs');
  if (wrong) return tell('bill_differs', wrong.unexplained);
  if (standing?.some(({ verdict }) => verdict === 'rule_changed')) return tell('rule_changed');
  if (change === null) return tell('not_compared');
  if (change.low <= 0 && change.high >= 0) return tell('as_usual');
  const isMore = change.percent > 0;
  if (isSure) return tell(isMore ? 'more' : 'less', Math.abs(change.percent));
  return tell(isMore ? 'perhaps_more' : 'perhaps_less', Math.abs(change.percent));
}

type ToldBill = NonNullable<Statement['bills']['value']>[number];

/** Another bill of the same days was judged together with this one: it has the verdict on both. */
function isSettled(bill: ToldBill, bills: readonly ToldBill[], checks: AccountFacts['checks']): boolean {
  const own =
    checks.get(bill.id)?.together?.how === 'same_days' ? (checks.get(bill.id)?.together?.bills ?? 0) : 0;
  return bills.some(({ id, from, to }) => {
    const { how, bills: others = 0 } = checks.get(id)?.together ?? {};
    return id !== bill.id && from === bill.from && to === bill.to && how === 'same_days' && others > own;
  });
}

function areaField(key: string, value: number | null): Field<number> {
  if (value === null) return unknown('not_recorded');
  return known(value, { kind: 'configuration', keys: [key], source: null });
}

/** `energy`: of the month; `ofYear`: of the twelve months that end with it; both in kWh. */
function configured(
  config: StatementConfig,
  meter: Pick<MeterFacts, 'meter' | 'area'>,
  energy: number | null,
  ofYear: number | null,
): Pick<Statement, 'energy_per_m2' | 'heat_source' | 'co2' | 'average_user' | 'contacts'> {
  const { heat_source = null, co2_g_per_kwh: co2, average_kwh_m2_year: average } = config;
  const area_m2 = meter.area ?? config.area_m2;
  const areaKey = meter.area === undefined ? 'statement.area_m2' : `meters.${meter.meter}.area_m2`;
  const perArea = (kwh: number | null) =>
    kwh === null || area_m2 === undefined ? null : tenths(kwh / area_m2);
  const given = <T>(key: keyof StatementConfig, value: T | null, source: string | null = null): Field<T> => {
    if (config[key] === undefined) return unknown('not_configured');
    if (value === null) return unknown('not_recorded');
    return known(value, { kind: 'configuration', keys: [`statement.${key}`], source });
  };
  return {
    energy_per_m2: area_m2 === undefined ? unknown('not_configured') : areaField(areaKey, perArea(energy)),
    heat_source: given('heat_source', heat_source),
    co2: given(
      'co2_g_per_kwh',
      co2 && energy !== null
        ? { g_per_kwh: co2.value, kg: tenths((energy * co2.value) / 1_000), year: co2.year }
        : null,
      co2?.source,
    ),
    average_user: given(
      'average_kwh_m2_year',
      average ? { kwh_m2_year: average.value, own_kwh_m2_year: perArea(ofYear) } : null,
      average?.source,
    ),
    contacts: given('contacts', config.contacts ?? null),
  };
}
