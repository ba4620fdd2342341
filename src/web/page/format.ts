// Amounts, days and times in words, in the reader's own locale. What is not known is a dash, never 0.

import { daysBetween } from '../../domain/period.ts';

type Unsure<T> = T | null | undefined;

export const UNKNOWN = '–';

const cache = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();
/** Making a format takes a thousand times as long as using it. */
function kept<T extends Intl.NumberFormat | Intl.DateTimeFormat>(key: string, make: () => T): T {
  const made = (cache.get(key) as T | undefined) ?? make();
  cache.set(key, made);
  return made;
}

export function number(value: Unsure<number>, digits: number): string {
  if (typeof value !== 'number') return UNKNOWN;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return kept(`number ${digits}`, () => new Intl.NumberFormat(undefined, options)).format(value);
}

export const plural = (count: number, one: string, many: string): string =>
  `${number(count, 0)} ${count === 1 ? one : many}`;

/** Without the unit: three digits that count are enough to look at. */
export const energy = (kwh: Unsure<number>): string => number(kwh, Math.abs(kwh ?? 0) < 100 ? 1 : 0);

export const kWh = (kwh: Unsure<number>): string =>
  typeof kwh === 'number' ? `${energy(kwh)}\u00a0kWh` : UNKNOWN;

/** `digits`: more than the currency has, for prices of a kWh. */
export function money(value: Unsure<number>, currency: string, digits = 2): string {
  if (typeof value !== 'number') return UNKNOWN;
  if (!/^[A-Z]{3}$/.test(currency)) return `${number(value, digits)} ${currency}`;
  const options = { style: 'currency', currency, minimumFractionDigits: digits } as const;
  return kept(`${currency} ${digits}`, () => new Intl.NumberFormat(undefined, options)).format(value);
}

const STYLES = {
  long: { weekday: 'long', day: 'numeric', month: 'long' },
  short: { weekday: 'short', day: 'numeric', month: 'short' },
  date: { day: 'numeric', month: 'short', year: 'numeric' },
  tick: { day: 'numeric', month: 'short' },
  monthTick: { month: 'short' },
  month: { month: 'long', year: 'numeric' },
} as const;

/** `day`: `YYYY-MM-DD`, a date without a time zone. */
export function dayWords(day: Unsure<string>, style: keyof typeof STYLES): string {
  if (!day) return UNKNOWN;
  const format = kept(style, () => new Intl.DateTimeFormat(undefined, { ...STYLES[style], timeZone: 'UTC' }));
  return format.format(new Date(`${day}T00:00:00Z`));
}

/** `due 19 Nov 2026`, or `paid`: by what is still open, or by the status where that is not told. */
export function paymentWords(invoice: {
  readonly amount_due: number | null;
  readonly status: string | null;
  readonly due: string | null;
}): string {
  const { amount_due, status, due } = invoice;
  const isPaid = amount_due === null ? status?.toLowerCase() === 'paid' : amount_due <= 0;
  return isPaid ? 'paid' : `due ${dayWords(due, 'date')}`;
}

/** `2026-11-21`, there where the meter is. */
export const dayIn = (timeZone: string, now: number): string =>
  kept(`day ${timeZone}`, () => new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short' })).format(now);

/** The time, with its day unless that is today. */
export function timeWords(at: Unsure<string | number>, now = Date.now()): string {
  if (at === null || at === undefined) return UNKNOWN;
  const then = new Date(at);
  const isToday = then.toDateString() === new Date(now).toDateString();
  const day = isToday ? {} : ({ day: 'numeric', month: 'short' } as const);
  const options = { ...day, hour: '2-digit', minute: '2-digit' } as const;
  return kept(`time ${isToday}`, () => new Intl.DateTimeFormat(undefined, options)).format(then);
}

/** To the second. A line of the log may have no time that can be read: a part of it may be somebody's password. */
export function clockWords(at = ''): string {
  const then = Date.parse(at);
  if (Number.isNaN(then)) return UNKNOWN;
  return kept('clock', () => new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })).format(then);
}

const STEPS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** `3 hours ago`, `in 2 minutes`. */
export function ago(at: Unsure<string | number>, now = Date.now()): string {
  if (at === null || at === undefined) return UNKNOWN;
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  for (const [unit, length] of STEPS) {
    const count = unit === 'day' ? 2 * length : length;
    if (Math.abs(seconds) >= count) return relative.format(Math.trunc(seconds / length), unit);
  }
  return seconds > 0 ? `in ${seconds} s` : 'just now';
}

/** `yesterday`, `3 days ago`. */
export const dayAgo = (day: string, today: string): string => relative.format(daysBetween(today, day), 'day');
