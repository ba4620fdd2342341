// Years of an invented household whose truth is known: weather, heat, readings, costs, invoices and register, all from a seed.
import { type Micro, toMicro } from '../../src/domain/amount.ts';
import type { Invoice } from '../../src/domain/invoice.ts';
import type { DayRecord, Ledger } from '../../src/domain/ledger.ts';
import { addDays, addMonths, type Day, type DaySpan, daysBetween, zone } from '../../src/domain/period.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { type Draw, drawFor } from '../../src/simulator/random.ts';
import { invoiceOf } from './building.ts';

/** From the day on, until another entry holds. */
type Since<T> = readonly ({ readonly from: Day } & T)[];

/** From here on the use is another: a factor of all of it. */
interface Change extends Partial<DaySpan> {
  readonly from: Day;
  readonly factor: number;
}

export interface HouseholdOptions {
  readonly seed: number;
  readonly from?: Day;
  readonly days?: number;
  /** kWh of a weekday without heating, and its factor on Saturday and Sunday. */
  readonly hotWater?: number;
  readonly weekend?: number;
  /** kWh per K·d. */
  readonly slope?: number;
  /** Factor of the heating from Monday to Friday, when nobody is at home by day. */
  readonly setback?: number;
  /** Standard deviation of a day's use, as a share of what it should be. */
  readonly noise?: number;
  /** Days away: so many spells a year, 5 to 12 days each, or these. */
  readonly holidays?: number | readonly DaySpan[];
  readonly changes?: readonly Change[];
  /** A reading each so many days; it carries the days before it. */
  readonly readEvery?: number;
  /** Chance that a reading is not taken and the next one carries its day. */
  readonly missed?: number;
  /** EUR per kWh and per day. */
  readonly tariffs?: Since<{ readonly unitRate: number; readonly standing: number }>;
}

interface TrueDay {
  readonly day: Day;
  readonly temperature: number;
  /** kWh that were used. */
  readonly used: number;
}

/** One reading: what it books on its day, and what the register shows at the day's end. */
interface TrueReading {
  readonly day: Day;
  readonly energy: Micro;
  readonly cost: Micro;
  readonly register: Micro;
}

interface BillingOptions {
  /** Percent on top. */
  readonly vat?: number;
  /** EUR too much, by the number of the invoice (0 = the oldest). */
  readonly wrong?: Readonly<Record<number, number>>;
}

export const DUBLIN = zone('Europe/Dublin');

const YEAR_DAYS = 365.25;
const COLDEST_DAY = 22;
const HEATED_BELOW = 15.5;
/** Share of the use that goes on while everybody is away. */
const AWAY_USE = 0.3;
/** °C of the year, half the way from winter to summer, standard deviation of a day beside its season, and how that persists. */
const CLIMATE = { mean: 10, swing: 5.5, anomaly: 2.5, persistence: 0.75 };
const PRICES = [{ from: '2000-01-01', unitRate: 0.124, standing: 0.686 }];
const REGISTER_START = toMicro(4711);

export class Household {
  readonly span: DaySpan;
  readonly truth: readonly TrueDay[];
  readonly readings: readonly TrueReading[];
  readonly days: Ledger['days'];
  /** Daily means, °C, to a tenth. */
  readonly temperatures: ReadonlyMap<Day, number>;

  constructor(options: HouseholdOptions) {
    const { from = '2022-07-01', days = 1096 } = options;
    this.span = { from, to: addDays(from, days) };
    this.truth = trueDays(options, from, days);
    this.readings = readingsOf(options, this.truth);
    this.days = new Map(this.readings.map((one) => [one.day, recordOf(one)]));
    this.temperatures = new Map(this.truth.map(({ day, temperature }) => [day, temperature]));
  }

  /** What was known at the end of this day. */
  until(newest: Day): Ledger['days'] {
    return new Map([...this.days].filter(([day]) => day <= newest));
  }

  /** kWh that were used in a span, told or not. */
  used({ from, to }: DaySpan): number {
    const within = this.truth.filter(({ day }) => day >= from && day < to);
    return within.reduce((sum, { used }) => sum + used, 0);
  }

  /** Oldest first: those whose month lies within the years, made from the readings of its days; `sum` is theirs, in millionths of EUR. */
  invoices({ vat = 0, wrong = {} }: BillingOptions = {}) {
    const invoices: { readonly invoice: Invoice; readonly sum: Micro }[] = [];
    let to = addMonths(this.span.from, this.span.from.endsWith('-01') ? 0 : 1);
    for (;;) {
      const from = to;
      to = addMonths(from, 1);
      if (to > this.span.to) return invoices;
      const ofMonth = this.readings.filter(({ day }) => day >= from && day < to);
      const sum = ofMonth.reduce((total, { cost }) => total + cost, 0);
      const id = `INV-${String(invoices.length + 1).padStart(4, '0')}`;
      const total = cents(sum * (1 + vat / 100)) + toMicro(wrong[invoices.length] ?? 0);
      invoices.push({ invoice: invoiceOf(id, from, to, total), sum });
    }
  }

  /** The same readings for a simulated provider, told at once: each five minutes before the end of its day. */
  events(): ExplicitEvent[] {
    return this.readings.map(({ day, energy, cost, register }) => {
      const at = DUBLIN.startOf(addDays(day, 1)) - 300_000;
      return { at, kwh: energy / 1e6, eur: cost / 1e6, register: register / 1e6 };
    });
  }

  /** As the simulated provider gives it. */
  static told({ id, startAt, endAt, dueAt, total }: Invoice) {
    const amount = (total ?? 0) / 1e6;
    const dates = { start_time: startAt, end_time: endAt, payment_due: dueAt };
    return { id, status: 'invoice', ...dates, total_amount: amount, due_amount: amount };
  }
}

function trueDays(options: HouseholdOptions, from: Day, days: number): TrueDay[] {
  const { seed, hotWater = 4, weekend = 1.25, slope = 1.6 } = options;
  const { setback = 0.9, noise = 0.15, changes = [] } = options;
  const temperatures = weatherOf(seed, from, days);
  const spells = holidaysOf(options, from, days);
  const normal = normals(drawFor(seed, 0, 'noise'));
  return temperatures.map((temperature, at) => {
    const day = addDays(from, at);
    const isWeekend = new Date(`${day}T00:00:00Z`).getUTCDay() % 6 === 0;
    const isAway = spells.some((spell) => day >= spell.from && day < spell.to);
    const holding = changes.filter((change) => day >= change.from && (!change.to || day < change.to));
    const factor = holding.reduce((all, one) => all * one.factor, isAway ? AWAY_USE : 1);
    const heating = slope * Math.max(0, HEATED_BELOW - temperature) * (isWeekend ? 1 : setback);
    const water = hotWater * (isWeekend ? weekend : 1);
    return { day, temperature, used: (heating + water) * factor * Math.max(0, 1 + noise * normal()) };
  });
}

/** Daily means, °C. The weather of a seed is the same, whatever else is changed. */
function weatherOf(seed: number, from: Day, days: number): number[] {
  const { mean, swing, anomaly, persistence } = CLIMATE;
  const normal = normals(drawFor(seed, 0, 'weather'));
  let beside = anomaly * normal();
  return Array.from({ length: days }, (_, at) => {
    const ofYear = daysBetween(`${from.slice(0, 4)}-01-01`, from) + at;
    const season = mean - swing * Math.cos(((ofYear - COLDEST_DAY) / YEAR_DAYS) * 2 * Math.PI);
    beside = persistence * beside + anomaly * Math.sqrt(1 - persistence ** 2) * normal();
    return Math.round((season + beside) * 10) / 10;
  });
}

function holidaysOf({ seed, holidays = 2 }: HouseholdOptions, from: Day, days: number): readonly DaySpan[] {
  if (typeof holidays !== 'number') return holidays;
  const draw = drawFor(seed, 0, 'holidays');
  return Array.from({ length: Math.round((holidays * days) / YEAR_DAYS) }, () => {
    const start = addDays(from, Math.floor(draw() * days));
    return { from: start, to: addDays(start, 5 + Math.floor(draw() * 8)) };
  });
}

function readingsOf(options: HouseholdOptions, truth: readonly TrueDay[]): TrueReading[] {
  const { seed, readEvery = 1, missed = 0, tariffs = PRICES } = options;
  const draw = drawFor(seed, 0, 'readings');
  const readings: TrueReading[] = [];
  let carried = { kwh: 0, eur: 0 };
  let register = REGISTER_START;
  truth.forEach(({ day, used }, at) => {
    const { unitRate = 0, standing = 0 } = tariffs.findLast(({ from }) => from <= day) ?? {};
    const kwh = Number(used.toFixed(3));
    carried = { kwh: carried.kwh + kwh, eur: carried.eur + unitRate * kwh + standing };
    if (at % readEvery !== readEvery - 1 || draw() < missed) return;
    const energy = toMicro(carried.kwh);
    register += energy;
    readings.push({ day, energy, cost: toMicro(Number(carried.eur.toFixed(4))), register });
    carried = { kwh: 0, eur: 0 };
  });
  return readings;
}

const recordOf = ({ energy, cost, day }: TrueReading): DayRecord => ({
  energy,
  cost,
  revision: 0,
  receivedAt: DUBLIN.startOf(addDays(day, 1)) + 6 * 3_600_000,
});

const cents = (amount: number): Micro => Math.round(amount / 10_000) * 10_000;

/** Standard normal, by Box and Muller. */
function normals(draw: Draw): () => number {
  return () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}
