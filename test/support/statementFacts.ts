// The facts of an invented household from which statements are made: three years until the end of June 2025.
import { billJudge } from '../../src/domain/insight/bill.ts';
import { openHouse } from '../../src/domain/insight/weather.ts';
import type { DayRecord, Ledger } from '../../src/domain/ledger.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import type { RegisterHistory } from '../../src/domain/reading.ts';
import type { MeterView, StatementConfig } from '../../src/publication/views.ts';
import { DUBLIN, Household, type HouseholdOptions } from './household.ts';
import { ACCOUNT, EMPTY, meterView } from './inventedHome.ts';

const CONFIG: StatementConfig = {
  area_m2: 62,
  heat_source: [
    { name: 'natural gas', percent: 80 },
    { name: 'heat pump', percent: 20 },
  ],
  co2_g_per_kwh: { value: 190, source: "the provider's web page", year: 2024 },
  average_kwh_m2_year: { value: 71, source: 'a report on similar buildings' },
  contacts: ['Energy advice: +353 1 555 0199'],
};

export interface Home extends Partial<HouseholdOptions> {
  readonly change?: (days: Map<Day, DayRecord>) => void;
  readonly origin?: Day;
  readonly meter?: Partial<MeterView>;
  readonly config?: StatementConfig;
  readonly wrong?: Readonly<Record<number, number>>;
  readonly bills?: boolean;
  /** The day on which another meter begins at 0. */
  readonly replacedOn?: Day;
}

/** The facts of an invented household at the end of June 2025. */
export function factsOf({
  change = () => {},
  origin,
  meter = {},
  config = CONFIG,
  wrong = {},
  bills = true,
  replacedOn,
  ...options
}: Home = {}) {
  const house = new Household({ ...options, seed: 4 });
  const days = new Map(house.days);
  change(days);
  for (const day of days.keys()) if (origin !== undefined && day < origin) days.delete(day);
  const ledger: Ledger = { ...EMPTY.ledger, days, origin: origin ?? house.span.from };
  const before = house.readings.findLast(({ day }) => replacedOn !== undefined && day < replacedOn);
  const readings = house.readings.map(({ day, register }) => ({
    energy: register - (before && day > before.day ? before.register : 0),
    readAt: DUBLIN.startOf(addDays(day, 1)) - 300_000,
  }));
  const register = { ...readings.at(-1), readings } as RegisterHistory;
  const view: MeterView = {
    ...meterView(ledger, { today: '2025-07-01' }),
    house: openHouse(days, { temperatures: house.temperatures, base: null }),
    register,
    ...meter,
  };
  const issued = house.invoices({ vat: 13.5, wrong }).map(({ invoice }) => invoice);
  const invoices = { all: issued.toReversed(), knownIds: [], profiles: [], notFoundAt: null, fetchedAt: 0 };
  const checks = billJudge()(invoices.all, [{ days, origin: ledger.origin } as never], DUBLIN);
  const account = {
    ...ACCOUNT,
    statement: config,
    ...(bills ? { invoices, checks } : { invoices: null, checks: new Map() }),
  };
  return { house, facts: { meter: view, account } };
}
