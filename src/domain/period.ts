// Local calendar days as 'YYYY-MM-DD' text, intervals made of them, and where days begin in a time zone, daylight saving included.

/** A calendar day, `YYYY-MM-DD`. Compares and sorts as text. */
export type Day = string;
export const DAY_SHAPE = /^\d{4}-\d{2}-\d{2}$/;

/** The shape is right, and the calendar has the day. */
export const isDay = (text: string): boolean =>
  DAY_SHAPE.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);

const LATEST_MS = 8.6e15;

/** Epoch milliseconds of which a date can be made, and of the years around it: not so far away that formatting it would throw. */
export const isInstant = (value: unknown): boolean =>
  Number.isSafeInteger(value) && Math.abs(Number(value)) <= LATEST_MS;

/** `from` inclusive, `to` exclusive. */
export interface DaySpan {
  readonly from: Day;
  readonly to: Day;
}

/** No meter has a day before or after it. Whatever goes from day to day would take minutes for ten thousand years. */
export const METERED: DaySpan = { from: '1900-01-01', to: '2200-01-01' };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Days since 1970. */
export const epochDay = (day: Day): number => Date.parse(`${day}T00:00:00Z`) / DAY_MS;

// Histories are walked through again and again: a text that is the same object is found faster in a map, too.
const dayTexts = new Map<number, Day>();

/** `count`: days since 1970. */
export function fromEpochDay(count: number): Day {
  const text = dayTexts.get(count);
  if (text !== undefined) return text;
  if (dayTexts.size >= MOST_WRITTEN) dayTexts.clear();
  const day = new Date(count * DAY_MS).toISOString().slice(0, 10);
  dayTexts.set(count, day);
  return day;
}

const wholeSecond = (epochMs: number): number => Math.floor(epochMs / 1000) * 1000;
const twoDigits = (count: number): string => (count < 10 ? `0${count}` : `${count}`);

const SHORTEST_MONTH_DAYS = 28;
const MOST_WRITTEN = 4_096;

export function addDays(day: Day, days: number): Day {
  // Within the month no calendar is needed.
  const ofMonth = Number(day.slice(8)) + days;
  if (ofMonth >= 1 && ofMonth <= SHORTEST_MONTH_DAYS) return day.slice(0, 8) + twoDigits(ofMonth);
  return fromEpochDay(epochDay(day) + days);
}

export const daysBetween = (from: Day, to: Day): number => epochDay(to) - epochDay(from);

/** All days of the span. */
export function daysOf({ from, to }: DaySpan): Day[] {
  const days: Day[] = [];
  const end = epochDay(to);
  for (let count = epochDay(from); count < end; count += 1) days.push(fromEpochDay(count));
  return days;
}

/** The Monday on or before the day. */
const weekStart = (day: Day): Day => addDays(day, -((epochDay(day) + 3) % 7));
export const monthStart = (day: Day): Day => `${day.slice(0, 7)}-01`;

/** The first day of the month that lies `months` after the month of the day (negative: before). */
export function addMonths(day: Day, months: number): Day {
  const count = Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7)) - 1 + months;
  return `${String(Math.floor(count / 12)).padStart(4, '0')}-${String((count % 12) + 1).padStart(2, '0')}-01`;
}

export const INTERVALS = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type Interval = (typeof INTERVALS)[number];

const MONTHS = { month: 1, quarter: 3, year: 12 } as const;

/** The part of a span within one interval. */
interface Piece extends DaySpan {
  /** First day of the whole interval. */
  readonly start: Day;
  /** The span begins or ends within the interval. */
  readonly isPartial: boolean;
}

/** The first day of the interval that the day lies in, or of the one that lies so many `further` (negative: before). */
export function intervalStart(interval: Interval, day: Day, further = 0): Day {
  if (interval === 'day') return addDays(day, further);
  if (interval === 'week') return addDays(weekStart(day), 7 * further);
  const months = MONTHS[interval];
  const month = Number(day.slice(5, 7)) - 1;
  return addMonths(day, further * months - (month % months));
}

/** Oldest first. */
export function piecesOf(span: DaySpan, interval: Interval): Piece[] {
  const pieces: Piece[] = [];
  for (let from = span.from; from < span.to; ) {
    const start = intervalStart(interval, from);
    const end = intervalStart(interval, from, 1);
    const to = end < span.to ? end : span.to;
    pieces.push({ start, from, to, isPartial: from !== start || to !== end });
    from = to;
  }
  return pieces;
}

/** A time zone that answers what the local day is, when a day begins, and how an instant is written there. */
export interface Zone {
  readonly name: string;
  dayAt(epochMs: number): Day;
  /** First instant of the local day: midnight, or the end of the gap where a clock change swallows midnight. */
  startOf(day: Day): number;
  /** ISO 8601 with the zone's offset, to the second: `2026-03-29T00:00:00+00:00`. */
  iso(epochMs: number): string;
}

/** The local time for a sentence: `08:30`, with the date in front when that is not the day of `now`. */
export function timeWords(zone: Zone, epochMs: number, now: number): string {
  const [day, time] = [zone.dayAt(epochMs), zone.iso(epochMs).slice(11, 16)];
  return day === zone.dayAt(now) ? time : `${day} ${time}`;
}

/** A time zone has several names, and whoever writes one may have misspelt it: what is no time zone is the same as its own text. */
export function isSameZone(one: string, other: string): boolean {
  if (one === other) return true;
  const proper = (timeZone: string) => new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
  try {
    return proper(one) === proper(other);
  } catch {
    return false;
  }
}

/** Each is expensive to make, and the same for all accounts. */
const zones = new Map<string, Zone>();

/** `name` is an IANA time zone; throws RangeError for any other. */
export function zone(name: string): Zone {
  const opened = zones.get(name) ?? openZone(name);
  zones.set(name, opened);
  return opened;
}

/** A function that tells how far the clocks there are ahead of UTC. */
function offsetsIn(timeZone: string): (epochMs: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  function askedOffsetMs(epochMs: number): number {
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(epochMs)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) - wholeSecond(epochMs);
  }
  // Asking Intl is slow: once for each day whose two ends have one offset, by the day of UTC.
  const offsets = new Map<number, number | 'mixed'>();
  return (epochMs) => {
    const day = Math.floor(epochMs / DAY_MS);
    let offset = offsets.get(day);
    if (offset === undefined) {
      if (offsets.size >= MOST_WRITTEN) offsets.clear();
      const first = askedOffsetMs(day * DAY_MS);
      offset = first === askedOffsetMs((day + 1) * DAY_MS) ? first : 'mixed';
      offsets.set(day, offset);
    }
    return offset === 'mixed' ? askedOffsetMs(epochMs) : offset;
  };
}

function openZone(name: string): Zone {
  const offsetMs = offsetsIn(name);
  const starts = new Map<Day, number>();
  /** The wall clock there, as if it were UTC. */
  const localMs = (epochMs: number): number => wholeSecond(epochMs) + offsetMs(epochMs);
  const dayAt = (epochMs: number): Day => fromEpochDay(Math.floor(localMs(epochMs) / DAY_MS));

  function findStart(day: Day): number {
    const utcMidnight = epochDay(day) * DAY_MS;
    const guess = utcMidnight - offsetMs(utcMidnight - offsetMs(utcMidnight));
    if (localMs(guess) === utcMidnight && dayAt(guess - 1000) < day) return guess;
    // A clock change about midnight: search for the first second of the day. No zone is 15 hours off UTC.
    let before = utcMidnight - 15 * HOUR_MS;
    let inside = utcMidnight + 15 * HOUR_MS;
    while (inside - before > 1000) {
      const middle = Math.floor((before + inside) / 2000) * 1000;
      if (dayAt(middle) < day) before = middle;
      else inside = middle;
    }
    return inside;
  }

  return {
    name,
    dayAt,
    startOf(day) {
      const start = starts.get(day) ?? findStart(day);
      starts.set(day, start);
      return start;
    },
    iso(epochMs) {
      const minutes = Math.round(offsetMs(epochMs) / 60_000);
      const sign = minutes < 0 ? '-' : '+';
      const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
      const offset = `${sign}${twoDigits(hours)}:${twoDigits(rest)}`;
      return new Date(localMs(epochMs)).toISOString().slice(0, 19) + offset;
    },
  };
}
