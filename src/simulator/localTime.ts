// Local calendars: the offset of a zone at an instant, and where days, weeks, months, quarters and years begin.

export const CALENDAR_UNITS = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// The past of a zone is the same for every question.
const knownOffsets = new Map<string, Map<number, number | 'mixed'>>();

export class Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  // Asking Intl costs microseconds; a day whose two ends agree has one offset, so twenty years stay cheap.
  readonly #offsetOfDay: Map<number, number | 'mixed'>;

  /** Throws a RangeError for a zone that does not exist. */
  constructor(name: string) {
    this.name = name;
    this.#offsetOfDay = knownOffsets.get(name) ?? new Map();
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    knownOffsets.set(name, this.#offsetOfDay);
  }

  offsetMs(at: number): number {
    const day = Math.floor(at / DAY_MS);
    let known = this.#offsetOfDay.get(day);
    if (known === undefined) {
      const first = this.#askedOffsetMs(day * DAY_MS);
      known = first === this.#askedOffsetMs((day + 1) * DAY_MS) ? first : 'mixed';
      this.#offsetOfDay.set(day, known);
    }
    return known === 'mixed' ? this.#askedOffsetMs(at) : known;
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
    // When an hour happens twice, each is one of its own.
    if (unit === 'hour') return at - ((at + this.offsetMs(at)) % HOUR_MS);
    return this.instantOf(floorLocal(at + this.offsetMs(at), unit));
  }

  next(start: number, unit: CalendarUnit): number {
    if (unit === 'hour') return this.floor(start + HOUR_MS, unit);
    return this.instantOf(nextLocal(floorLocal(start + this.offsetMs(start), unit), unit));
  }

  #askedOffsetMs(at: number): number {
    const whole = Math.floor(at / 1000) * 1000;
    const field: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(whole)) field[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = field;
    return Date.UTC(year, month - 1, day, hour, minute, second) - whole;
  }
}

function floorLocal(localMs: number, unit: Exclude<CalendarUnit, 'hour'>): number {
  const date = new Date(localMs);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  if (unit === 'year') return Date.UTC(year, 0, 1);
  if (unit === 'quarter') return Date.UTC(year, month - (month % 3), 1);
  if (unit === 'month') return Date.UTC(year, month, 1);
  const midnight = Math.floor(localMs / DAY_MS) * DAY_MS;
  if (unit === 'day') return midnight;
  return midnight - ((date.getUTCDay() + 6) % 7) * DAY_MS;
}

function nextLocal(localStart: number, unit: Exclude<CalendarUnit, 'hour'>): number {
  const date = new Date(localStart);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  if (unit === 'year') return Date.UTC(year + 1, 0, 1);
  if (unit === 'quarter') return Date.UTC(year, month + 3, 1);
  if (unit === 'month') return Date.UTC(year, month + 1, 1);
  return localStart + (unit === 'week' ? 7 : 1) * DAY_MS;
}
