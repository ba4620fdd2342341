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
import type { StatementReason } from '../payloads/statement.ts';
import type { Topics } from '../topics.ts';
import type { AccountView, MeterView, StatementConfig } from '../views.ts';

export type Statement = PayloadByTopic['meter/<meter>/statement'];
export type StatementBasis = NonNullable<Statement['energy']['basis']>;

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

interface Field<T> {
  readonly value: T | null;
  readonly reason: StatementReason | null;
  readonly basis: StatementBasis | null;
}
const known = <T>(value: T, basis: StatementBasis): Field<T> => ({ value, reason: null, basis });
const unknown = (reason: StatementReason): Field<never> => ({ value: null, reason, basis: null });

const HOUR_MS = 3_600_000;
const MOST_TARIFFS = 4;

/** `2026-10` as its days. */
export const spanOfMonth = (month: string): DaySpan => ({
  from: `${month}-01`,
  to: addMonths(`${month}-01`, 1),
});
const monthOf = (day: Day): string => day.slice(0, 7);

/** Months of which a statement can be had, newest first: whole, since the ledger's origin, and complete. */
export function* completeMonths(
  { origin, days }: Pick<Ledger, 'origin' | 'days'>,
  {
    zone,
    now,
    lateAfterHours,
  }: { readonly zone: MeterView['zone']; readonly now: number; readonly lateAfterHours: number },
): Generator<string, undefined> {
  for (
    let start = addMonths(monthStart(zone.dayAt(now)), -1);
    start >= origin;
    start = addMonths(start, -1)
  ) {
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
  const [before, yearBefore] = [addMonths(span.from, -1), addMonths(span.from, -12)].map(monthOf) as [
    string,
    string,
  ];
  const year = Array.from({ length: 13 }, (_, at) => monthOf(addMonths(span.from, at - 12)));
  const energy = usedIn(days, span, 'energy');
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
    energy,
    cost: usedIn(days, span, 'cost'),
    month_before: { month: before, ...useOf(days, before) },
    year_before: { month: yearBefore, ...useOf(days, yearBefore) },
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
    ...configured(account.statement, energy.value, sumOfYear(days, year)),
  };
}

const within = (days: Ledger['days'], span: DaySpan) => daysOf(span).flatMap((day) => days.get(day) ?? []);
const sumsOf = (days: Ledger['days'], span: DaySpan): Amounts => sumAmounts(within(days, span));

function usedIn(days: Ledger['days'], span: DaySpan, kind: keyof Amounts): Field<number> {
  const amount = sumsOf(days, span)[kind];
  const read = within(days, span).filter((day) => day[kind] !== null).length;
  return amount === null
    ? unknown('not_recorded')
    : known(toUnits(amount), { kind: 'readings', days: read, of: daysOf(span).length });
}

const useOf = (days: Ledger['days'], month: string) => ({
  energy: usedIn(days, spanOfMonth(month), 'energy'),
  cost: usedIn(days, spanOfMonth(month), 'cost'),
});

/** Kilowatt-hours of twelve months, each of them with readings. */
function sumOfYear(days: Ledger['days'], months: readonly string[]): number | null {
  const energies = months.slice(1).map((month) => sumsOf(days, spanOfMonth(month)).energy);
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
  const basis = {
    kind: 'fit' as const,
    from: year.from,
    to: addDays(year.to, -1),
    days: within(tenancy.days, year).length,
  };
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
    const check = checks.get(id);
    const unexplained = check?.unexplained == null ? null : toUnits(check.unexplained);
    return [
      {
        id,
        from: period_start,
        to: period_end,
        amount,
        amount_due,
        due,
        verdict: check?.verdict ?? ('unknown' as const),
        unexplained,
      },
    ];
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

function configured(
  { area_m2, heat_source, co2_g_per_kwh, average_kwh_m2_year, contacts }: StatementConfig,
  energy: number | null,
  ofYear: number | null,
): Pick<Statement, 'energy_per_m2' | 'heat_source' | 'co2' | 'average_user' | 'contacts'> {
  const from = (keys: readonly string[], source: string | null = null): StatementBasis => ({
    kind: 'configuration',
    keys: keys.map((key) => `statement.${key}`),
    source,
  });
  const given = <T>(value: T | undefined, key: string) =>
    value === undefined ? unknown('not_configured') : known(value, from([key]));
  const perArea = (kwh: number | null) =>
    kwh === null || area_m2 === undefined ? null : tenths(kwh / area_m2);
  return {
    energy_per_m2:
      area_m2 === undefined
        ? unknown('not_configured')
        : energy === null
          ? unknown('not_recorded')
          : known(tenths(energy / area_m2), from(['area_m2'])),
    heat_source: given(heat_source, 'heat_source'),
    co2:
      co2_g_per_kwh === undefined
        ? unknown('not_configured')
        : energy === null
          ? unknown('not_recorded')
          : known(
              {
                g_per_kwh: co2_g_per_kwh.value,
                kg: tenths((energy * co2_g_per_kwh.value) / 1_000),
                year: co2_g_per_kwh.year,
              },
              from(['co2_g_per_kwh'], co2_g_per_kwh.source),
            ),
    average_user:
      average_kwh_m2_year === undefined
        ? unknown('not_configured')
        : known(
            { kwh_m2_year: average_kwh_m2_year.value, own_kwh_m2_year: perArea(ofYear) },
            from(['average_kwh_m2_year'], average_kwh_m2_year.source),
          ),
    contacts: given(contacts, 'contacts'),
  };
}
