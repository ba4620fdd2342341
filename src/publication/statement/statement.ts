// What is known of one complete month: what was used and charged, how it compares, and what is not known and why.
import { inFull, knownUnits, sumKnown, toUnits } from '../../domain/amount.ts';
import { fitHouse, type Part, splitHeat, YEAR_DAYS } from '../../domain/insight/degreeDays.ts';
import { estimatedRuns, readingOfEachDay, readingsIn } from '../../domain/insight/readings.ts';
import { invoiceRecord } from '../../domain/invoice.ts';
import type { Amounts, Ledger } from '../../domain/ledger.ts';
import { addDays, addMonths, type Day, type DaySpan, daysOf, monthStart } from '../../domain/period.ts';
import { dayClosedBy } from '../../domain/readingCloses.ts';
import { fitTariff } from '../../domain/tariff/tariff.ts';
import { sumAmounts } from '../../domain/totals.ts';
import type { Message } from '../../mqtt/message.ts';
import type { PayloadByTopic } from '../payloads/payloads.ts';
import type { Topics } from '../topics.ts';
import type { AccountView, MeterView, StatementConfig } from '../views.ts';

export type Statement = PayloadByTopic['meter/<meter>/statement'];
/** A value or the reason why there is none, and what it rests on. */
export type Field<T> = Omit<Statement['energy'], 'value'> & { readonly value: T | null };
type Basis = NonNullable<Field<unknown>['basis']>;
type Reason = NonNullable<Field<unknown>['reason']>;

/** The facts that a statement is made from. */
export interface StatementFacts {
  readonly meter: Pick<
    MeterView,
    | 'meter'
    | 'friendlyName'
    | 'tenancy'
    | 'weather'
    | 'changeOver'
    | 'register'
    | 'zone'
    | 'currency'
    | 'readingCloses'
  >;
  readonly account: Pick<
    AccountView,
    'account' | 'zone' | 'invoices' | 'checks' | 'balance' | 'statement' | 'asked'
  >;
}
type MeterFacts = StatementFacts['meter'];

const known = <T>(value: T, basis: Basis): Field<T> => ({ value, reason: null, basis });
const unknown = (reason: Reason): Field<never> => ({ value: null, reason, basis: null });

const HOUR_MS = 3_600_000;
const MOST_TARIFFS = 4;

/** `2026-10` as its days. */
const spanOfMonth = (month: string): DaySpan => ({
  from: `${month}-01`,
  to: addMonths(`${month}-01`, 1),
});
const monthOf = (day: Day): string => day.slice(0, 7);

/** Months of which a statement can be had, newest first: whole, since the ledger's origin, and complete. */
export function* completeMonths(
  { origin, days }: Pick<Ledger, 'origin' | 'days'>,
  at: { readonly zone: MeterView['zone']; readonly now: number; readonly lateAfterHours: number },
): Generator<string, undefined> {
  const { zone, now, lateAfterHours } = at;
  const newest = addMonths(monthStart(zone.dayAt(now)), -1);
  for (let start = newest; start >= origin; start = addMonths(start, -1)) {
    const span = spanOfMonth(monthOf(start));
    const isLate = now >= zone.startOf(span.to) + lateAfterHours * HOUR_MS;
    if (isLate || daysOf(span).every((day) => isRead(days, day))) yield monthOf(start);
  }
}

const isRead = (days: Ledger['days'], day: Day): boolean => (days.get(day)?.energy ?? null) !== null;

export const statementMessage = (topics: Topics, statement: Statement): Message =>
  topics.message('meter/<meter>/statement', [statement.meter], statement);

/** `month`: one of `completeMonths`. */
export function statementOf(month: string, facts: StatementFacts): Statement {
  const { meter, account } = facts;
  const { days } = meter.tenancy;
  const span = spanOfMonth(month);
  const back = (months: number) => monthOf(addMonths(span.from, -months));
  const year = Array.from({ length: 13 }, (_, at) => back(12 - at));
  const used = usedIn(days, month);
  const weather = weatherAdjusted(meter, span);
  const bills = billsOf(account, span);
  const marks = marksOf(days, span);
  const parts = heatParts(meter, span);
  return {
    month,
    from: span.from,
    to: addDays(span.to, -1),
    timezone: meter.zone.name,
    currency: meter.currency,
    account: account.account,
    meter: meter.meter,
    meter_name: meter.friendlyName,
    revision: revisionOf(days, { from: `${year[0]}-01`, to: span.to }),
    conclusion: conclusionOf(marks.missing.length, bills, weather),
    ...used,
    month_before: { month: back(1), ...usedIn(days, back(1)) },
    year_before: { month: back(12), ...usedIn(days, back(12)) },
    weather_adjusted: weather,
    months: year.map((one) => {
      const { energy: kwh, cost } = sumsOf(days, spanOfMonth(one));
      const adjusted = one === month ? weather : weatherAdjusted(meter, spanOfMonth(one));
      return {
        month: one,
        energy_kwh: knownUnits(kwh),
        cost: knownUnits(cost),
        year_before_adjusted_kwh: adjusted.value?.kwh ?? null,
      };
    }),
    prices: pricesIn(days, span),
    heating: parts.heating,
    hot_water: parts.hot_water,
    register_first: registerAt(facts, addDays(span.from, -1)),
    register_last: registerAt(facts, addDays(span.to, -1)),
    days: { of: daysOf(span).length, ...marks },
    bills,
    due:
      account.balance?.amount == null
        ? untold(account, 'balance')
        : known(toUnits(account.balance.amount), { kind: 'provider' }),
    ...configured(account.statement, used.energy.value, sumOfYear(days, year.slice(1))),
  };
}

const within = (days: Ledger['days'], span: DaySpan) => daysOf(span).flatMap((day) => days.get(day) ?? []);
const sumsOf = (days: Ledger['days'], span: DaySpan): Amounts => sumAmounts(within(days, span));

/** What was used in a month, and what it cost. */
function usedIn(days: Ledger['days'], month: string): Pick<Statement, 'energy' | 'cost'> {
  const span = spanOfMonth(month);
  const sums = sumsOf(days, span);
  const field = (kind: keyof Amounts): Field<number> => {
    const read = within(days, span).filter((day) => day[kind] !== null).length;
    return sums[kind] === null
      ? unknown('not_recorded')
      : known(toUnits(sums[kind]), { kind: 'readings', days: read, of: daysOf(span).length });
  };
  return { energy: field('energy'), cost: field('cost') };
}

/** Kilowatt-hours; `null`: a month is without readings. */
function sumOfYear(days: Ledger['days'], months: readonly string[]): number | null {
  const energies = months.map((month) => sumsOf(days, spanOfMonth(month)).energy);
  return energies.includes(null) ? null : knownUnits(sumKnown(energies));
}

function weatherAdjusted({ changeOver }: MeterFacts, span: DaySpan): Statement['weather_adjusted'] {
  const change = changeOver(span);
  if (change === null) return unknown('needs_outdoor_temperature');
  if (typeof change === 'string') return unknown(change);
  const { percent, low, high, expected, from, to, days } = change;
  const value = {
    percent: tenths(percent),
    low: tenths(low),
    high: tenths(high),
    kwh: Number(expected.toFixed(3)),
  };
  return known(value, { kind: 'fit', from, to, days });
}

const tenths = (value: number): number => Math.round(value * 10) / 10 || 0;

function heatParts(
  { weather, tenancy }: MeterFacts,
  span: DaySpan,
): Pick<Statement, 'heating' | 'hot_water'> {
  const fit = weather && fitHouse(tenancy.days, weather, span.to);
  const split = weather && fit && splitHeat(tenancy.days, weather.temperatures, fit, span);
  if (split === null || typeof split === 'string') {
    const silent = unknown(split ?? 'needs_outdoor_temperature');
    return { heating: silent, hot_water: silent };
  }
  const year = { from: addDays(span.to, -YEAR_DAYS), to: span.to };
  const read = within(tenancy.days, year).length;
  const basis = { kind: 'fit', from: year.from, to: addDays(year.to, -1), days: read } as const;
  const told = ({ energy, low, high }: Part) =>
    known({ kwh: tenths(energy), low: tenths(low), high: tenths(high) }, basis);
  return { heating: told(split.heating), hot_water: told(split.hotWater) };
}

/** The tariffs that explain days of the span, oldest first. */
function pricesIn(days: Ledger['days'], span: DaySpan): Statement['prices'] {
  const found: NonNullable<Statement['prices']['value']>[number][] = [];
  let explained = 0;
  let since = span.to;
  for (let end = span.to; end > span.from && found.length < MOST_TARIFFS; ) {
    const tariff = fitTariff(new Map([...days].filter(([day]) => day < end)));
    if (tariff === null || tariff.to < span.from) break;
    const from = tariff.from < span.from ? span.from : tariff.from;
    found.unshift({
      from,
      to: tariff.to,
      unit_rate: tariff.unitRate,
      standing_charge: inFull(tariff.standingCharge),
    });
    explained += tariff.daysExplained;
    since = tariff.from;
    end = tariff.from;
  }
  const last = found.at(-1);
  if (last === undefined) return unknown('not_explained');
  return known(found, { kind: 'fit', from: since, to: last.to, days: explained });
}

const untold = ({ asked }: StatementFacts['account'], extra: keyof AccountView['asked']) =>
  unknown(asked[extra] ? 'not_told' : 'switched_off');

/** What the register showed when the day closed. */
function registerAt({ meter, account }: StatementFacts, day: Day): Statement['register_first'] {
  const { register, readingCloses, zone } = meter;
  if (register === null) return untold(account, 'meter_reading');
  const reading = register.readings.findLast(
    ({ readAt }) => dayClosedBy(readAt, readingCloses, zone) === day,
  );
  if (reading === undefined) return unknown('not_recorded');
  const at = zone.iso(reading.readAt);
  return known({ kwh: toUnits(reading.energy), at }, { kind: 'register', at });
}

function marksOf(days: Ledger['days'], span: DaySpan): Omit<Statement['days'], 'of'> {
  const all = daysOf(span);
  const inReading = readingOfEachDay('energy', days, span);
  const readings = readingsIn('energy', days, span);
  const estimates = estimatedRuns(readings).flatMap(({ first, next }) => readings.slice(first, next));
  return {
    missing: all.filter((_, at) => (inReading[at] ?? null) === null),
    carried: all.filter((day, at) => inReading[at] && !isRead(days, day)),
    estimated: estimates.map(({ day }) => day),
    corrected: all.filter((day) => (days.get(day)?.revision ?? 0) > 0),
  };
}

const revisionOf = (days: Ledger['days'], span: DaySpan): number =>
  within(days, span).reduce((sum, { revision }) => sum + revision, 0);

function billsOf(account: StatementFacts['account'], { from, to }: DaySpan): Statement['bills'] {
  const { invoices, checks, zone } = account;
  if (invoices === null) return untold(account, 'invoices');
  const found = invoices.all.flatMap((invoice) => {
    const { id, period_start, period_end, amount, amount_due, due } = invoiceRecord(invoice, zone);
    if (period_start === null || period_end === null || period_start >= to || period_end < from) return [];
    const { verdict = 'unknown' as const, unexplained } = checks.get(id) ?? {};
    const bill = { id, from: period_start, to: period_end, amount, amount_due, due, verdict };
    return [{ ...bill, unexplained: knownUnits(unexplained) }];
  });
  return found.length === 0
    ? unknown('no_bill')
    : known(found, { kind: 'bills', ids: found.map(({ id }) => id) });
}

/** First what makes the figures incomplete, then the bill, then the use. */
function conclusionOf(
  missing: number,
  { value: bills }: Statement['bills'],
  { value: change }: Statement['weather_adjusted'],
): Statement['conclusion'] {
  if (missing > 0) return { code: 'days_missing', amount: missing };
  const wrong = bills?.find(({ verdict }) => verdict === 'differs');
  if (wrong) return { code: 'bill_differs', amount: wrong.unexplained };
  if (bills?.some(({ verdict }) => verdict === 'rule_changed')) return { code: 'rule_changed', amount: null };
  if (change === null) return { code: 'not_compared', amount: null };
  if (change.low > 0) return { code: 'more', amount: change.percent };
  if (change.high < 0) return { code: 'less', amount: -change.percent };
  return { code: 'as_usual', amount: null };
}

/** `energy`: of the month; `ofYear`: of the twelve months that end with it; both in kWh. */
function configured(
  { area_m2, heat_source, co2_g_per_kwh: co2, average_kwh_m2_year: average, contacts }: StatementConfig,
  energy: number | null,
  ofYear: number | null,
): Pick<Statement, 'energy_per_m2' | 'heat_source' | 'co2' | 'average_user' | 'contacts'> {
  const perArea = (kwh: number | null, area: number) => (kwh === null ? null : tenths(kwh / area));
  return {
    energy_per_m2: given('area_m2', area_m2, (area) => perArea(energy, area)),
    heat_source: given('heat_source', heat_source, (all) => all),
    co2: given('co2_g_per_kwh', co2, ({ value, year }) =>
      energy === null ? null : { g_per_kwh: value, kg: tenths((energy * value) / 1_000), year },
    ),
    average_user: given('average_kwh_m2_year', average, ({ value }) => ({
      kwh_m2_year: value,
      own_kwh_m2_year: area_m2 === undefined ? null : perArea(ofYear, area_m2),
    })),
    contacts: given('contacts', contacts, (all) => all),
  };
}

/** What follows from a key of the configuration; `null` of `write`: the energy is not known. */
function given<C extends object | number, T>(
  key: keyof StatementConfig,
  configured: C | undefined,
  write: (configured: C) => T | null,
): Field<T> {
  if (configured === undefined) return unknown('not_configured');
  const value = write(configured);
  const { source = null } = Object(configured) as { source?: string };
  return value === null
    ? unknown('not_recorded')
    : known(value, { kind: 'configuration', keys: [`statement.${key}`], source });
}
