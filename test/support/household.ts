// Years of an invented household whose truth is known: weather, heat, readings, costs, invoices and register, all from a seed.
import { type Micro, toMicro } from '../../src/domain/amount.ts';
import type { Invoice } from '../../src/domain/invoice.ts';
import type { DayRecord, Ledger } from '../../src/domain/ledger.ts';
import { addDays, addMonths, type Day, type DaySpan, daysBetween, zone } from '../../src/domain/period.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { type Draw, drawFor } from '../../src/simulator/random.ts';

/** From the day on, until another entry holds. */
type Since<T> = readonly ({ readonly from: Day } & T)[];

interface Climate {
  /** °C of the year, half the way from winter to summer, standard deviation of a day beside its season. */
  readonly mean: number;
  readonly swing: number;
  readonly anomaly: number;
  /** Correlation of a day's anomaly with the day before. */
  readonly persistence: number;
}

interface Price {
  /** EUR per kWh and per day. */
  readonly unitRate: number;
  readonly standing: number;
}

/** From here on the use is another: a factor of all of it, or of its heating alone. */
export interface Change extends Partial<DaySpan> {
  readonly from: Day;
  readonly factor: number;
  readonly of?: 'heating';
}

export interface HouseholdOptions {
  readonly seed: number;
  readonly from?: Day;
  readonly days?: number;
  readonly climate?: Partial<Climate>;
  /** kWh of a weekday without heating, and its factor on Saturday and Sunday. */
  readonly hotWater?: number;
  readonly weekend?: number;
  /** kWh per K·d, and the outdoor mean (°C) below which the house is heated. */
  readonly slope?: number;
  readonly heatedBelow?: number;
  /** Factor of the heating from Monday to Friday, when nobody is at home by day. */
  readonly setback?: number;
  /** Standard deviation of a day's use, as a share of what it should be. */
  readonly noise?: number;
  /** Days away: so many spells a year, 5 to 12 days each, or these. */
  readonly holidays?: number | readonly DaySpan[];
  /** Share of the use that goes on while everybody is away. */
  readonly awayUse?: number;
  readonly changes?: readonly Change[];
  /** A reading each so many days; it carries the days before it. */
  readonly readEvery?: number;
  /** Chance that a reading is not taken and the next one carries its day, or that its day is never told. */
  readonly missed?: number;
  readonly lost?: number;
  /** A reading that carries days has the standing charge of each of them, or only its own. */
  readonly chargedOnce?: boolean;
  readonly tariffs?: Since<Price>;
  /** Decimals of a day's cost. */
  readonly costDecimals?: number;
  /** kWh. */
  readonly registerStart?: number;
}

export interface TrueDay {
  readonly day: Day;
  readonly temperature: number;
  /** kWh that the household should need on such a day, and what it used. */
  readonly expected: number;
  readonly used: number;
  readonly away: boolean;
}

/** One reading: what it books on its day, and what the register shows at the day's end. */
export interface TrueReading {
  readonly day: Day;
  readonly energy: Micro;
  readonly cost: Micro;
  readonly register: Micro;
  /** Days whose use is in it, at least one. */
  readonly carries: number;
  /** The provider never tells of it; the register has counted on. */
  readonly lost: boolean;
}

export interface BillingOptions {
  readonly months?: number;
  /** Percent on top, by the day on which the period ends. */
  readonly vat?: Since<{ readonly percent: number }>;
  /** EUR on each invoice, after VAT. */
  readonly fee?: number;
  /** EUR too much, by the number of the invoice (0 = the oldest). */
  readonly wrong?: Readonly<Record<number, number>>;
  /** Where the provider ends a period: at midnight, or a millisecond before. */
  readonly endsBefore?: boolean;
  /** Days before the first of the month on which periods begin. */
  readonly shift?: number;
  /** A bill counts each reading so many days later than the ledger: 1 where that has one of 00:02 on the day before. */
  readonly countedLater?: number;
}

/** What an invoice is made of, EUR in millionths. */
export interface TrueInvoice extends DaySpan {
  readonly invoice: Invoice;
  /** Sum of the days that the provider tells. */
  readonly sum: Micro;
  readonly percent: number;
  readonly fee: Micro;
  readonly wrong: Micro;
}

export const DUBLIN = zone('Europe/Dublin');

const YEAR_DAYS = 365.25;
const COLDEST_DAY = 22;
const PRICES: Since<Price> = [{ from: '2000-01-01', unitRate: 0.124, standing: 0.686 }];

/** The valve no longer closes: 40 % more from this day on. */
export const stuckValve = (from: Day, factor = 1.4): Change => ({ from, factor });

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
    this.days = new Map(this.readings.filter(({ lost }) => !lost).map((one) => [one.day, recordOf(one)]));
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

  /** Days of readings that hold the use of other days as well. */
  carrying(): Day[] {
    return this.readings.filter(({ carries }) => carries > 1).map(({ day }) => day);
  }

  /** Oldest first: those whose period lies within the years. A bill is made from the readings of its days. */
  invoices({
    months = 1,
    vat = [],
    fee = 0,
    wrong = {},
    endsBefore = false,
    shift = 0,
    countedLater = 0,
  }: BillingOptions = {}) {
    const found: TrueInvoice[] = [];
    let start = addMonths(this.span.from, this.span.from.endsWith('-01') && shift === 0 ? 0 : 1);
    for (;;) {
      const from = addDays(start, -shift);
      start = addMonths(start, months);
      const to = addDays(start, -shift);
      if (to > this.span.to) return found;
      const counted = { from: addDays(from, -countedLater), to: addDays(to, -countedLater) };
      const told = this.readings.filter(({ day, lost }) => day >= counted.from && day < counted.to && !lost);
      const sum = told.reduce((all, { cost }) => all + cost, 0);
      const percent = holding(vat, addDays(to, -1))?.percent ?? 0;
      const parts = { sum, percent, fee: toMicro(fee), wrong: toMicro(wrong[found.length] ?? 0) };
      const total = cents(sum * (1 + percent / 100)) + parts.fee + parts.wrong;
      const endAt = DUBLIN.startOf(to) - (endsBefore ? 1 : 0);
      const invoice: Invoice = {
        id: `INV-${String(found.length + 1).padStart(4, '0')}`,
        status: 'CLOSED',
        startAt: DUBLIN.startOf(from),
        endAt,
        dueAt: DUBLIN.startOf(addDays(to, 14)),
        total,
        open: 0,
      };
      found.push({ from, to, invoice, ...parts });
    }
  }

  /**
   * The same readings for a simulated provider, told at once: each five minutes before the end of its day, or
   * `afterMidnight` five minutes later than that, on the next day.
   */
  events({ afterMidnight = false } = {}): ExplicitEvent[] {
    return this.readings.flatMap(({ day, energy, cost, register, lost }) => {
      const at = DUBLIN.startOf(addDays(day, 1)) + (afterMidnight ? 300_000 : -300_000);
      const told = { at, kwh: energy / 1e6, eur: cost / 1e6, register: register / 1e6 };
      return lost ? [] : [told];
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
  const { seed, hotWater = 4, weekend = 1.25, slope = 1.6, heatedBelow = 15.5 } = options;
  const { setback = 0.9, noise = 0.15, awayUse = 0.3, changes = [] } = options;
  const temperatures = weatherOf(options, from, days);
  const spells = holidaysOf(options, from, days);
  const normal = normals(drawFor(seed, 0, 'noise'));
  return temperatures.map((temperature, at) => {
    const day = addDays(from, at);
    const isWeekend = new Date(`${day}T00:00:00Z`).getUTCDay() % 6 === 0;
    const away = spells.some((spell) => day >= spell.from && day < spell.to);
    const holds = changes.filter((change) => day >= change.from && (!change.to || day < change.to));
    const factor = (of?: 'heating') =>
      holds.filter((one) => one.of === of).reduce((all, one) => all * one.factor, 1);
    const heating =
      slope * Math.max(0, heatedBelow - temperature) * (isWeekend ? 1 : setback) * factor('heating');
    const water = hotWater * (isWeekend ? weekend : 1);
    const expected = (heating + water) * factor() * (away ? awayUse : 1);
    return { day, temperature, expected, used: expected * Math.max(0, 1 + noise * normal()), away };
  });
}

/** Daily means, °C. The weather of a seed is the same, whatever else is changed. */
function weatherOf({ seed, climate = {} }: HouseholdOptions, from: Day, days: number): number[] {
  const { mean = 10, swing = 5.5, anomaly = 2.5, persistence = 0.75 } = climate;
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
  const { seed, readEvery = 1, missed = 0, lost = 0, chargedOnce = false } = options;
  const { tariffs = PRICES, costDecimals = 4, registerStart = 4711 } = options;
  const draw = drawFor(seed, 0, 'readings');
  const found: TrueReading[] = [];
  let carried = { kwh: 0, eur: 0, days: 0 };
  let register = toMicro(registerStart);
  truth.forEach(({ day, used }, at) => {
    const [isMissed, isLost] = [draw() < missed, draw() < lost];
    const { unitRate, standing } = holding(tariffs, day) ?? { unitRate: 0, standing: 0 };
    const kwh = Number(used.toFixed(3));
    const isFree = chargedOnce && carried.days > 0;
    carried = {
      kwh: carried.kwh + kwh,
      eur: carried.eur + unitRate * kwh + (isFree ? 0 : standing),
      days: carried.days + 1,
    };
    if (at % readEvery !== readEvery - 1 || isMissed) return;
    const energy = toMicro(carried.kwh);
    const cost = toMicro(Number(carried.eur.toFixed(costDecimals)));
    register += energy;
    found.push({ day, energy, cost, register, carries: carried.days, lost: isLost });
    carried = { kwh: 0, eur: 0, days: 0 };
  });
  return found;
}

const recordOf = ({ energy, cost, day }: TrueReading): DayRecord => ({
  energy,
  cost,
  revision: 0,
  receivedAt: DUBLIN.startOf(addDays(day, 1)) + 6 * 3_600_000,
});

const holding = <T>(since: Since<T>, day: Day): T | undefined => since.findLast(({ from }) => from <= day);

const cents = (amount: number): Micro => Math.round(amount / 10_000) * 10_000;

/** Standard normal, by Box and Muller. */
function normals(draw: Draw): () => number {
  return () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}
