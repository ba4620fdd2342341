// Years of an invented dwelling, hour by hour: weather of a climate, walls that keep heat, people with habits, and a register that is read
// once a day. It shares nothing with `support/building.ts`, so that no method is fitted to one of them.
import type { DayRecord } from '../../src/domain/ledger.ts';
import { addDays, type Day, daysBetween } from '../../src/domain/period.ts';
import { type Draw, drawFor } from '../../src/simulator/random.ts';

/** °C: the mean of the year, how far summer and winter lie from it, and the standard deviation of weather; °C of a day's afternoon above its mean. */
const CLIMATES = {
  dublin: { mean: 9.8, swing: 5.2, spread: 2.4, noon: 3 },
  berlin: { mean: 10.1, swing: 9.6, spread: 3.6, noon: 4 },
  oulu: { mean: 3.4, swing: 13, spread: 4.4, noon: 3.5 },
  milan: { mean: 13.4, swing: 10.5, spread: 2.6, noon: 5 },
} as const;
export type Climate = keyof typeof CLIMATES;
export const ALL_CLIMATES = Object.keys(CLIMATES) as readonly Climate[];

/** What becomes of a day that is not read in time. */
export type Gap = 'lost' | 'carried' | 'carried_without_charges';

export interface DwellingOptions {
  readonly seed: number;
  readonly from?: Day;
  readonly days?: number;
  readonly climate?: Climate;
  /** kWh that the register counts by. */
  readonly step?: number;
  /** The local hour at which it is read. */
  readonly readAt?: number;
  /** The plant is off for the rooms from the middle of May to the middle of September. */
  readonly isOffInSummer?: boolean;
  readonly holidays?: number;
  /** Days on which the network brings nothing, in a year. */
  readonly outages?: number;
  /** Chance that a gap of one to three days begins, and what becomes of it. */
  readonly gaps?: { readonly chance: number; readonly kind: Gap };
  /** Chance that a run of four to six days of an estimate begins, whose correction is cut at zero. */
  readonly estimates?: number;
  /** Heating is so many times what it was, from the day on. */
  readonly saved?: { readonly from: Day; readonly factor: number };
  /** Units of the currency in a euro, and the decimals of a day's cost. */
  readonly money?: { readonly perEuro: number; readonly decimals: number };
}

export interface TrueDay {
  readonly day: Day;
  readonly temperature: number;
  readonly heating: number;
  readonly water: number;
  /** What the register grew by from midnight to midnight. */
  readonly kwh: number;
  /** Prices in units of the currency. */
  readonly rate: number;
  readonly standing: number;
}

const HOURS = 24;

export class Dwelling {
  readonly from: Day;
  readonly seed: number;
  readonly truth: readonly TrueDay[];
  readonly days: ReadonlyMap<Day, DayRecord>;
  readonly temperatures: ReadonlyMap<Day, number>;
  readonly step: number;

  constructor(options: DwellingOptions) {
    const { seed, from = '2021-01-01', days = 1461 } = options;
    this.seed = seed;
    this.from = from;
    const draw = drawFor(seed, 0, 'dwelling');
    const climate = options.climate ?? (ALL_CLIMATES[seed % ALL_CLIMATES.length] as Climate);
    const outside = hourlyWeather(climate, from, days + 1, drawFor(seed, 0, 'sky'));
    const used = hourlyUse(options, from, outside, draw);
    this.step = options.step ?? pick(draw, 0.001, 0.1, 1, 1, 10);
    const { perEuro, decimals } = options.money ?? { perEuro: 1, decimals: pick(draw, 2, 2, 3, 4) };
    const price = prices(draw, days, perEuro, decimals);
    const { readAt = 0 } = options;
    let counted = 0;
    const cumulated = [0];
    for (let hour = 0; hour < used.heating.length; hour += 1) {
      counted += (used.heating[hour] ?? 0) + (used.water[hour] ?? 0);
      cumulated.push(counted);
    }
    const shown = (hour: number) => Math.floor((cumulated[hour] ?? counted) / this.step + 1e-9) * this.step;
    const dayOf = (values: readonly number[], at: number) =>
      values.slice(at * HOURS, (at + 1) * HOURS).reduce((sum, one) => sum + one, 0);
    this.truth = Array.from({ length: days }, (_, at) => {
      return {
        day: addDays(from, at),
        temperature: Math.round((10 * dayOf(outside, at)) / HOURS) / 10,
        heating: dayOf(used.heating, at),
        water: dayOf(used.water, at),
        kwh: shown((at + 1) * HOURS) - shown(at * HOURS),
        ...price(at),
      };
    });
    const told = this.truth.map((one, at) => {
      const kwh = shown((at + 1) * HOURS + readAt) - shown(at * HOURS + readAt);
      return { ...one, kwh };
    });
    this.temperatures = new Map(this.truth.map(({ day, temperature }) => [day, temperature]));
    this.days = booked(options, told, decimals, drawFor(seed, 0, 'office'));
  }

  until(newest: Day): ReadonlyMap<Day, DayRecord> {
    return new Map([...this.days].filter(([day]) => day <= newest));
  }

  within(from: Day, to: Day): readonly TrueDay[] {
    return this.truth.slice(
      Math.max(0, daysBetween(this.from, from)),
      Math.max(0, daysBetween(this.from, to)),
    );
  }
}

/** A yearly wave, years that differ, weather that lasts for days, and the hours of a day. */
function hourlyWeather(climate: Climate, from: Day, days: number, draw: Draw): number[] {
  const { mean, swing, spread, noon } = CLIMATES[climate];
  const normal = normals(draw);
  const phase = daysBetween(`${from.slice(0, 4)}-01-01`, from);
  const hours: number[] = [];
  let [slow, fast, year] = [0, 0, 0.7 * normal()];
  for (let day = 0; day < days; day += 1) {
    if (day % 365 === 364) year = 0.7 * normal();
    const season = Math.cos((2 * Math.PI * (phase + day - 22)) / 365.25);
    slow = 0.9 * slow + Math.sqrt(1 - 0.81) * normal();
    fast = 0.5 * fast + Math.sqrt(1 - 0.25) * normal();
    const wider = 1 + 0.35 * season;
    const of = mean + year - swing * season + spread * wider * (0.75 * slow + 0.65 * fast);
    const clear = draw() * (1 - 0.5 * season);
    for (let hour = 0; hour < HOURS; hour += 1)
      hours.push(of - noon * clear * Math.cos((2 * Math.PI * (hour - 3)) / HOURS));
  }
  return hours;
}

/** kWh of each hour: what keeps the rooms warm, and what is drawn at the taps. */
function hourlyUse(options: DwellingOptions, from: Day, outside: readonly number[], draw: Draw) {
  const normal = normals(drawFor(options.seed, 0, 'habits'));
  const days = Math.floor(outside.length / HOURS);
  const people = 1 + Math.floor(4 * draw());
  const loss = 0.05 + 0.11 * draw();
  const mass = 3 + 9 * draw();
  const glass = 0.6 + 2 * draw();
  const [warm, night] = [19.5 + 2.5 * draw(), pick(draw, 0, 0, 2, 3.5)];
  const isOff = options.isOffInSummer ?? draw() < 0.5;
  const perPerson = 1.2 + 1.2 * draw();
  const circulation = pick(draw, 0, 0, 0.02, 0.06);
  const fluctuation = 0.2 + 0.25 * draw();
  const away = spells(options.holidays ?? 2.5, days, draw, 4, 11);
  const guests = spells(2, days, draw, 2, 6);
  const dark = spells(options.outages ?? 0.7, days, draw, 1, 2);
  const heating: number[] = [];
  const water: number[] = [];
  let [rooms, walls, habit, month] = [warm, warm, 0, 1];
  for (let at = 0; at < days; at += 1) {
    const day = addDays(from, at);
    if (day.endsWith('-01')) month = Math.exp(0.18 * normal());
    habit = 0.7 * habit + 0.7 * normal();
    const isSummer = day.slice(5) >= '05-16' && day.slice(5) <= '09-14';
    const saved = options.saved && day >= options.saved.from ? options.saved.factor : 1;
    const season = Math.cos((2 * Math.PI * (daysBetween(`${day.slice(0, 4)}-01-01`, day) - 172)) / 365.25);
    const sky = draw();
    const wind = 1 + 0.15 * draw();
    const isAway = away.has(at);
    const heads = isAway ? 0 : people + (guests.has(at) ? 2 : 0);
    const weekend = new Date(`${day}T00:00:00Z`).getUTCDay() % 6 === 0 ? 1.25 : 1;
    const drawn =
      heads * perPerson * month * weekend * Math.exp(fluctuation * normal() - fluctuation ** 2 / 2);
    for (let hour = 0; hour < HOURS; hour += 1) {
      const isNight = hour < 6 || hour > 21;
      const target = (isAway ? warm - 4 : warm - (isNight ? night : 0)) + 0.25 * habit;
      const sun = hour > 7 && hour < 19 ? glass * sky * (0.18 + 0.14 * season) : 0;
      const gains = sun + 0.06 * heads + 0.08;
      const cold = outside[at * HOURS + hour] ?? 0;
      const flow = loss * wind * (rooms - cold);
      const between = 0.5 * (rooms - walls);
      const wanted = (target - rooms) * 1.2 + flow + between - gains;
      const given = dark.has(at) || (isOff && isSummer) ? 0 : Math.min(9, Math.max(0, wanted));
      rooms += (given + gains - flow - between) / 1.2;
      walls += between / mass;
      heating.push(given * saved);
      const share = [7, 8, 19, 20, 21].includes(hour) ? 0.14 : 0.3 / 19;
      water.push(dark.has(at) ? 0 : drawn * share + circulation);
    }
  }
  return { heating, water };
}

/** Days of spells, so many in a year. */
function spells(perYear: number, days: number, draw: Draw, shortest: number, longest: number): Set<number> {
  const all = new Set<number>();
  for (let one = 0; one < Math.round((perYear * days) / 365); one += 1) {
    const first = Math.floor(draw() * days);
    const length = shortest + Math.floor((longest - shortest + 1) * draw());
    for (let at = 0; at < length; at += 1) all.add(first + at);
  }
  return all;
}

/** Prices in units of the currency; that of energy rises twice. */
function prices(draw: Draw, days: number, perEuro: number, decimals: number) {
  const rate = 0.08 + 0.13 * draw();
  const standing = 0.25 + 0.8 * draw();
  const raised = [Math.floor(days * (0.2 + 0.3 * draw())), Math.floor(days * (0.6 + 0.3 * draw()))];
  const digits = perEuro > 100 ? 1 : 4;
  const rounded = (value: number, to: number) => Math.round(value * 10 ** to) / 10 ** to;
  const charge = rounded(standing * perEuro, Math.min(4, decimals));
  return (at: number) => {
    const factor = raised.filter((day) => at >= day).length * 0.08 + 1;
    return {
      rate: rounded(rate * perEuro * factor, digits),
      standing: charge,
    };
  };
}

/** What the provider tells of the days. */
function booked(options: DwellingOptions, told: readonly TrueDay[], decimals: number, draw: Draw) {
  const { gaps, estimates = 0 } = options;
  const records = new Map<Day, DayRecord>();
  const micro = (value: number, to: number) => Math.round(Math.round(value * 10 ** to) * 10 ** (6 - to));
  let [waiting, charges, left] = [0, 0, 0];
  let [estimate, run, owed] = [0, 0, 0];
  for (const [at, { day, kwh, rate, standing }] of told.entries()) {
    if (left === 0 && run === 0 && gaps && draw() < gaps.chance)
      left = draw() < 0.8 ? 1 : 1 + Math.ceil(2 * draw());
    if (left > 0) {
      left -= 1;
      if (gaps?.kind !== 'lost') waiting += kwh;
      if (gaps?.kind === 'carried') charges += standing;
      continue;
    }
    if (run === 0 && at > 10 && draw() < estimates) {
      run = 4 + Math.floor(3 * draw());
      const week = told.slice(at - 7, at).reduce((sum, one) => sum + one.kwh, 0) / 7;
      estimate = Math.round(week * (0.7 + 0.6 * draw()));
    }
    let energy = kwh + waiting;
    if (run > 0) {
      run -= 1;
      owed += kwh - estimate;
      energy = estimate;
    } else if (owed !== 0) {
      // What was estimated too high is given back up to this day's own use, and never beyond.
      energy = Math.max(0, kwh + owed);
      owed = 0;
    }
    const cost = energy * rate + standing + charges;
    records.set(day, {
      energy: micro(energy, 3),
      cost: micro(cost, decimals),
      revision: 0,
      receivedAt: Date.parse(`${addDays(day, 1)}T06:00:00Z`),
    });
    [waiting, charges] = [0, 0];
  }
  return records;
}

export const pick = <T>(draw: Draw, ...of: readonly T[]): T => of[Math.floor(draw() * of.length)] as T;

/** Standard normal, by Box and Muller. */
export const normals = (draw: Draw) => () =>
  Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
