// Words of the page: sentences by their key, and amounts, days and times in the reader's own language. What is not known is a dash, never 0.
import { daysBetween } from '../../domain/period.ts';
import type { PageWords } from '../../publication/language.ts';

type Key = keyof PageWords['words'];
type Counted = { [K in Key]: K extends `${infer Name}.other` ? Name : never }[Key];
/** By the names that a sentence uses; `currency` is that of the amounts. */
type Values = Readonly<Record<string, unknown>>;
type Unsure<T> = T | null | undefined;

export const UNKNOWN = '–';
let sentences: Readonly<Record<string, string>> = {};
let locale = 'en';

/** To be called before anything is said. `preferred`: the reader's own locales, of which one may be in this language. */
export function useWords(told: PageWords, preferred: readonly string[]): void {
  sentences = told.words;
  locale = preferred.find((one) => one.split('-')[0] === told.language) ?? told.locale;
  cache.clear();
}

/** A sentence, in which `{name:format}` stands for a value in one of FORMATS, and `{name}` for the value as it is. */
export function say(key: Key, given: object = {}): string {
  const values = given as Values;
  return (sentences[key] ?? key).replace(/\{(\w+)(?::(\w+))?\}/g, (_, name, format) => {
    const value = values[name] ?? null;
    if (value === null) return UNKNOWN;
    return format === undefined ? String(value) : (FORMATS[format]?.(value as never, values) ?? UNKNOWN);
  });
}

/** The same; `null` where one of the values is not known. */
export function tell(key: Key, values: object): string | null {
  const names = [...(sentences[key] ?? '').matchAll(/\{(\w+)/g)].map(([, name = '']) => name);
  return names.every((name) => ((values as Values)[name] ?? null) !== null) ? say(key, values) : null;
}

/** The sentence for so many: a language has one for each of its plural forms. */
export function sayCount(name: Counted, count: number): string {
  const form = `${name}.${kept('plural', () => new Intl.PluralRules(locale)).select(count)}`;
  return say((form in sentences ? form : `${name}.other`) as Key, { count });
}

/** How a session is, by its state on bridge/health. */
export const sessionWords = (state: string): string => sentences[`session.${state}`] ?? state;

/** Without those that are not there. */
export const joined = (parts: readonly (string | false | null)[], separator = ', '): string =>
  parts.filter(Boolean).join(separator);

const cache = new Map<string, unknown>();
/** Making a format takes a thousand times as long as using it. */
function kept<T>(key: string, make: () => T): T {
  const made = (cache.get(key) as T | undefined) ?? make();
  cache.set(key, made);
  return made;
}

export function number(value: Unsure<number>, digits: number): string {
  if (typeof value !== 'number') return UNKNOWN;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return kept(`number ${digits}`, () => new Intl.NumberFormat(locale, options)).format(value);
}

/** Without the unit: three digits that count are enough to look at. */
export const energy = (kwh: Unsure<number>): string => number(kwh, Math.abs(kwh ?? 0) < 100 ? 1 : 0);

export const kWh = (kwh: Unsure<number>): string =>
  typeof kwh === 'number' ? `${energy(kwh)}\u00a0kWh` : UNKNOWN;

/** `digits`: more than the currency has, for prices of a kWh. */
export function money(value: Unsure<number>, currency: string, digits = 2): string {
  if (typeof value !== 'number') return UNKNOWN;
  if (!/^[A-Z]{3}$/.test(currency)) return `${number(value, digits)} ${currency}`;
  const options = { style: 'currency', currency, minimumFractionDigits: digits } as const;
  return kept(`${currency} ${digits}`, () => new Intl.NumberFormat(locale, options)).format(value);
}

/** A sentence of the bridge, whose amounts are written as all others here. */
export const withMoney = (sentence: string): string =>
  sentence.replace(/(-?\d+(\.\d+)?) ([A-Z]{3})\b/g, (_, amount, decimals = '', currency) =>
    money(Number(amount), currency, Math.max(2, decimals.length - 1)),
  );

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
  const format = kept(style, () => new Intl.DateTimeFormat(locale, { ...STYLES[style], timeZone: 'UTC' }));
  return format.format(new Date(`${day}T00:00:00Z`));
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
  return kept(`time ${isToday}`, () => new Intl.DateTimeFormat(locale, options)).format(then);
}

/** To the second. A line of the log may have no time that can be read: a part of it may have been masked. */
export function clockWords(at = ''): string {
  const then = Date.parse(at);
  if (Number.isNaN(then)) return UNKNOWN;
  return kept('clock', () => new Intl.DateTimeFormat(locale, { timeStyle: 'medium' })).format(then);
}

const STEPS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
const relative = () => kept('relative', () => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }));

/** `3 hours ago`, `in 2 minutes`. */
export function ago(at: Unsure<string | number>, now = Date.now()): string {
  if (at === null || at === undefined) return UNKNOWN;
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  for (const [unit, length] of STEPS) {
    const count = unit === 'day' ? 2 * length : length;
    if (Math.abs(seconds) >= count) return relative().format(Math.trunc(seconds / length), unit);
  }
  return seconds > 0 ? say('inSeconds', { seconds }) : say('justNow');
}

/** `yesterday`, `3 days ago`. */
export const dayAgo = (day: string, today: string): string =>
  relative().format(daysBetween(today, day), 'day');

const currencyIn = ({ currency }: Values): string => (typeof currency === 'string' ? currency : 'EUR');

export const FORMATS: Readonly<Record<string, (value: never, values: Values) => string>> = {
  n: (value: number) => number(value, 0),
  energy,
  kWh,
  money: (value: number, values) => money(value, currencyIn(values)),
  price: (value: number, values) => money(value, currencyIn(values), 3),
  short: (day: string) => dayWords(day, 'short'),
  date: (day: string) => dayWords(day, 'date'),
  tick: (day: string) => dayWords(day, 'tick'),
  month: (month: string) => dayWords(`${month}-01`, 'month'),
  time: (at: string) => timeWords(at),
  ago: (at: string) => ago(at),
};
