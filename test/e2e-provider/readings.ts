// Invented readings of two homes over both changes of the clock, and their exact sums, with no code of the program's.

export interface Reading {
  readonly at: number;
  /** As decimal numbers, with up to six decimals. */
  readonly kwh: string;
  readonly eur: string;
}

export interface Home {
  readonly property: number;
  readonly meter: string;
  /** Half an hour apart around the changes of the clock, or one for each day, taken twenty minutes after it. */
  readonly every: 'half hour' | 'day';
}

export const ZONE = 'Europe/Dublin';
export const HALF_HOURLY: Home = { property: 612_001, meter: '70660101', every: 'half hour' };
export const DAILY: Home = { property: 612_002, meter: '70660102', every: 'day' };
export const HOMES = [HALF_HOURLY, DAILY];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LAST_YEAR = new Date().getUTCFullYear() - 1;
/** All of them are in the past. */
const FIRST = Date.UTC(LAST_YEAR, 0, 1);
const END = Math.floor(Date.now() / DAY_MS) * DAY_MS - 2 * DAY_MS;
export const SINCE = `${LAST_YEAR}-01-01`;

/** Irish clocks change at 01:00 UTC on the last Sundays of March and October. */
const CHANGES = [LAST_YEAR, LAST_YEAR + 1].flatMap((year) => [lastSunday(year, 2), lastSunday(year, 9)]);

function lastSunday(year: number, month: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0, 1));
  return last.getTime() - last.getUTCDay() * DAY_MS;
}

export function readingsOf({ every }: Home): Reading[] {
  const readings: Reading[] = [];
  for (let day = FIRST; day < END; day += DAY_MS) {
    const number = Math.round((day - FIRST) / DAY_MS);
    // Days without any reading.
    if (number % 37 === 5) continue;
    const isNear = CHANGES.some((change) => Math.abs(change - day) < 8 * DAY_MS);
    const step = every === 'half hour' && isNear ? 30 * MINUTE_MS : DAY_MS;
    const first = every === 'day' ? day + DAY_MS + 20 * MINUTE_MS - offset(day + DAY_MS) : day;
    for (let at = first; at < first + DAY_MS; at += step) readings.push(drawn(at, step));
    // A correction of energy and money, and a credit of money alone: no day becomes negative, which would wait for a second poll.
    if (number % 29 === 3) readings.push({ at: first, kwh: '-0.3125', eur: '-0.0417' });
    if (number % 53 === 7) readings.push({ at: first, kwh: '0', eur: '-0.0815' });
  }
  return readings;
}

/** With decimals that floating point numbers cannot hold. */
function drawn(at: number, step: number): Reading {
  const draw = Math.floor(at / MINUTE_MS) % 7_919;
  const halfHours = step / (30 * MINUTE_MS);
  const energy = ((draw % 997) + 80) * halfHours + 1;
  return { at, kwh: decimal(energy), eur: decimal(Math.ceil(energy / 11) + 20 * halfHours + (draw % 13)) };
}

const decimal = (tenThousandths: number): string =>
  `${Math.floor(tenThousandths / 10_000)}.${String(tenThousandths % 10_000).padStart(4, '0')}`;

function offset(at: number): number {
  const [spring = 0, autumn = 0] = CHANGES.filter(
    (change) => new Date(change).getUTCFullYear() === new Date(at).getUTCFullYear(),
  );
  return at >= spring && at < autumn ? HOUR_MS : 0;
}

export interface Sum {
  readonly kwh: bigint;
  readonly eur: bigint;
}

const localDate = new Intl.DateTimeFormat('en-CA', { timeZone: ZONE, dateStyle: 'short' });

/** In millionths, for each period that `periodOf` makes of a local date such as `2026-03-29`. */
export function sums(home: Home, periodOf: (day: string) => string = (day) => day): Map<string, Sum> {
  const found = new Map<string, Sum>();
  for (const { at, kwh, eur } of readingsOf(home)) {
    // A reading shortly after midnight closes the day before.
    const day = localDate.format(home.every === 'day' ? at - HOUR_MS : at);
    const period = periodOf(day);
    const before = found.get(period) ?? { kwh: 0n, eur: 0n };
    found.set(period, { kwh: before.kwh + millionths(kwh), eur: before.eur + millionths(eur) });
  }
  return found;
}

function millionths(written: string): bigint {
  const [whole = '', fraction = ''] = written.replace('-', '').split('.');
  const value = BigInt(whole + fraction.padEnd(6, '0'));
  return written.startsWith('-') ? -value : value;
}
