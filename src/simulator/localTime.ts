// Local calendars: the offset of a zone at an instant, and where days, weeks, months, quarters and years begin.

export const CALENDAR_UNITS = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
type CalendarUnit = (typeof CALENDAR_UNITS)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// A format is expensive to make, and the past of a zone is the same for every question.
const zones = new Map<string, ZoneCache>();

interface ZoneCache {
  readonly format: Intl.DateTimeFormat;
  // Asking Intl costs microseconds; a day whose two ends agree has one offset, so twenty years stay cheap.
  readonly offsetOfDay: Map<number, number | 'mixed'>;
}

export class Zone {
  readonly name: string;
  readonly #cache: ZoneCache;

  /** Throws a RangeError for a zone that does not exist. */
  constructor(name: string) {
    this.name = name;
    const options = { timeZone: name, dateStyle: 'short', timeStyle: 'medium' } as const;
    this.#cache = zones.get(name) ?? {
      format: new Intl.DateTimeFormat('sv-SE', options),
      offsetOfDay: new Map(),
    };
    zones.set(name, this.#cache);
  }

  offsetMs(at: number): number {
    const day = Math.floor(at / DAY_MS);
    let offset = this.#cache.offsetOfDay.get(day);
    if (offset === undefined) {
      const first = this.#askedOffsetMs(day * DAY_MS);
      offset = first === this.#askedOffsetMs((day + 1) * DAY_MS) ? first : 'mixed';
      this.#cache.offsetOfDay.set(day, offset);
    }
    return offset === 'mixed' ? this.#askedOffsetMs(at) : offset;
  }

  /** The local date of an instant as `YYYY-MM-DD`. */
  dateOf(at: number): string {
    return new Date(at + this.offsetMs(at)).toISOString().slice(0, 10);
  }

  /** The instant of a local wall time; the earlier one when it happens twice, the end of the gap when it never does. */
  instantOf(localMs: number): number {
    const before = this.offsetMs(localMs - DAY_MS);
    const after = this.offsetMs(localMs + DAY_MS);
    if (this.offsetMs(localMs - before) === before) return localMs - before;
    if (this.offsetMs(localMs - after) === after) return localMs - after;
    return localMs - before;
  }

  /** The local midnight that begins a date. */
  startOfDate(date: string): number {
    return this.instantOf(Date.parse(`${date}T00:00:00Z`));
  }

  floor(at: number, unit: CalendarUnit): number {
    // An hour that happens twice is two buckets.
    if (unit === 'hour') return at - ((at + this.offsetMs(at)) % HOUR_MS);
    return this.instantOf(localStart(at + this.offsetMs(at), unit));
  }

  next(start: number, unit: CalendarUnit): number {
    if (unit === 'hour') return this.floor(start + HOUR_MS, unit);
    return this.instantOf(localStart(start + this.offsetMs(start), unit, 1));
  }

  #askedOffsetMs(at: number): number {
    const whole = Math.floor(at / 1000) * 1000;
    // `2025-06-15 13:00:00`, as they write it in Sweden.
    return Date.parse(`${this.#cache.format.format(whole).replace(' ', 'T')}Z`) - whole;
  }
}

/** The beginning of a local time's unit, or of one that is so many later. */
function localStart(localMs: number, unit: Exclude<CalendarUnit, 'hour'>, later = 0): number {
  const date = new Date(localMs);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (unit === 'year') return Date.UTC(year + later, 0, 1);
  if (unit === 'quarter') return Date.UTC(year, month - (month % 3) + 3 * later, 1);
  if (unit === 'month') return Date.UTC(year, month + later, 1);
  if (unit === 'day') return Date.UTC(year, month, day + later);
  return Date.UTC(year, month, day - ((date.getUTCDay() + 6) % 7) + 7 * later);
}
