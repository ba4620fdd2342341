// An invented meter: what it reads, what that costs, when it is booked, and what is corrected afterwards.

import { Zone } from './localTime.ts';
import { type Draw, drawFor } from './random.ts';

interface Amounts {
  readonly kwh: number | null;
  readonly eur: number | null;
  /** Default: the sum of all kWh so far. */
  readonly register?: number;
  /** The Euro documents in place of one of `eur`. */
  readonly charges?: readonly number[];
}

/** A reading, spelled out by a test or invented. A test's list is read live: push to it and the provider knows more. */
export interface ExplicitEvent extends Amounts {
  readonly at: number;
  /** Visible from this instant on; default: the reading's own. */
  readonly bookedAt?: number;
  /** The oldest first. */
  readonly corrections?: readonly (Amounts & { readonly from: number })[];
}

export interface MeterOptions {
  readonly seed?: number;
  /** Local date of the first reading; default: 1 January two years back. */
  readonly since?: string;
  /** Local date after which no reading is taken any more. */
  readonly until?: string;
  readonly meanKwhPerDay?: number;
  /** Chances per day. */
  readonly late?: number;
  readonly missing?: number;
  readonly corrected?: number;
  readonly withoutStandingCharge?: number;
  readonly idle?: number;
  /** Until then the last day before the newest is an estimate. Read live. */
  readonly estimate?: { until: number };
  /** They replace everything above. */
  readonly events?: ExplicitEvent[];
}

/** One reading as the provider tells it at some instant. */
export interface VisibleReading {
  readonly index: number;
  readonly at: number;
  readonly bookedAt: number;
  readonly kwh: number | null;
  readonly register: number;
  readonly charges: readonly number[];
}

const DAY_MS = 86_400_000;
const EUR_PER_KWH = 0.124;
const EUR_PER_DAY = 0.686;
const BOOKED_AFTER_UTC_MIDNIGHT_MS = 100 * 60_000;

export class Meter {
  readonly #options: MeterOptions;
  readonly #zone = new Zone('Europe/Dublin');
  readonly #taken: ExplicitEvent[] = [];
  #nextDay: number | undefined;
  #registerKwh = 0;
  #carriedKwh = 0;
  #carriedDays = 0;
  /** Another meter counts from this moment on, from this register; the oldest first. */
  readonly #exchanges: { readonly at: number; readonly register: number }[] = [];

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  exchange(at: number, register: number): void {
    this.#exchanges.push({ at, register });
  }

  readingsAt(now: number): VisibleReading[] {
    const { events, estimate } = this.#options;
    const visible = events ? visibleAt(events, now) : this.#exchangedOf(visibleAt(this.#invented(now), now));
    return estimate && now < estimate.until ? withEstimate(visible) : visible;
  }

  /** Registers that are spelled out stay as they are. */
  #exchangedOf(readings: VisibleReading[]): VisibleReading[] {
    return readings.map((reading) => {
      const { at, register } = reading;
      const exchange = this.#exchanges.findLast((earlier) => earlier.at <= at);
      if (exchange === undefined) return reading;
      const before = this.#taken.findLast((event) => event.at < exchange.at)?.register ?? register;
      return { ...reading, register: round(exchange.register + register - before, 3) };
    });
  }

  #invented(now: number): readonly ExplicitEvent[] {
    const today = this.#zone.dateOf(now);
    const { until = today, since = `${Number(today.slice(0, 4)) - 2}-01-01`, seed = 1 } = this.#options;
    if (this.#nextDay === undefined) {
      this.#nextDay = dayNumber(since);
      this.#registerKwh = 1000 + Math.floor(drawFor(seed, 0, 'register')() * 9000);
    }
    const last = dayNumber(until < today ? until : today);
    while (this.#nextDay <= last) this.#take(this.#nextDay++, seed);
    return this.#taken;
  }

  #take(day: number, seed: number): void {
    const { late = 0.03, missing = 0.01, corrected = 0.015, withoutStandingCharge = 0.005 } = this.#options;
    const draw = drawFor(seed, day, 'reading');
    this.#carriedKwh = round(this.#carriedKwh + this.#used(day, draw), 3);
    this.#carriedDays += 1;
    if (draw() < missing) return;

    const kwh = this.#carriedKwh;
    this.#registerKwh = round(this.#registerKwh + kwh, 3);
    const register = this.#registerKwh;
    const standing = draw() < withoutStandingCharge ? 0 : round(EUR_PER_DAY * this.#carriedDays, 4);
    const at = this.#zone.instantOf(day * DAY_MS) + 5000 + Math.floor(draw() * 240) * 1000;
    const lateDays = draw() < late ? 1 + Math.floor(draw() * 4) : 0;
    const bookedAt =
      (day + lateDays) * DAY_MS + BOOKED_AFTER_UTC_MIDNIGHT_MS + Math.floor(draw() * 600) * 1000;
    const amounts = (value: number): Amounts => ({
      kwh: value,
      eur: null,
      register: round(register + value - kwh, 3),
      charges: [round(EUR_PER_KWH * value, 4), ...(standing ? [standing] : [])],
    });
    if (draw() < corrected) {
      // First an estimate, days later the truth.
      const correctedFrom = bookedAt + (2 + Math.floor(draw() * 8)) * DAY_MS;
      const estimate = amounts(round(kwh * (0.6 + draw()), 3));
      this.#taken.push({
        at,
        bookedAt,
        ...estimate,
        corrections: [{ from: correctedFrom, ...amounts(kwh) }],
      });
    } else this.#taken.push({ at, bookedAt, ...amounts(kwh) });
    this.#carriedKwh = 0;
    this.#carriedDays = 0;
  }

  #used(day: number, draw: Draw): number {
    const { meanKwhPerDay = 12, idle = 0.01 } = this.#options;
    const season = 1 + 0.8 * Math.cos(((day - 20) / 365.25) * 2 * Math.PI);
    const kwh = round(meanKwhPerDay * season * (0.6 + 0.8 * draw()), 3);
    return draw() < idle ? 0 : kwh;
  }
}

function visibleAt(events: readonly ExplicitEvent[], now: number): VisibleReading[] {
  let total = 0;
  return events.flatMap((event, index) => {
    const { at, bookedAt = at, corrections = [] } = event;
    total = round(total + (event.kwh ?? 0), 6);
    if (bookedAt > now) return [];
    const current = corrections.findLast(({ from }) => from <= now) ?? event;
    const { kwh, eur, register = event.register ?? total, charges = eur === null ? [] : [eur] } = current;
    return [{ index, at, bookedAt, kwh, register, charges }];
  });
}

/** The estimate is of a day on which something was used, so that there is something to correct. */
function withEstimate(readings: readonly VisibleReading[]): VisibleReading[] {
  const estimated = readings.slice(0, -1).findLastIndex(({ kwh }) => kwh);
  return readings.map((reading, at) => {
    const kwh = round((reading.kwh ?? 0) * 0.7, 3);
    const charges = [round(EUR_PER_KWH * kwh, 4), ...reading.charges.slice(1)];
    return at === estimated ? { ...reading, kwh, charges } : reading;
  });
}

const dayNumber = (date: string): number => Date.parse(`${date}T00:00:00Z`) / DAY_MS;

function round(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}
