// Words of the page: sentences by their key, and amounts, days and times in the reader's own language. What is not known is a dash, never 0.
import { daysBetween } from '../../domain/period.ts';
import type { PageWords } from '../../publication/language.ts';

export type Key = keyof PageWords['words'];
type Counted = { [K in Key]: K extends `${infer Name}.other` ? Name : never }[Key];
/** By the names that a sentence uses; `currency` is that of the amounts. */
type Values = Readonly<Record<string, unknown>>;

export const UNKNOWN = '–';
let sentences: Readonly<Record<string, string>> = {};
let locale = 'en';
let now = Date.now;
const made = new Map<string, unknown>();

/** To be called before anything is said. `preferred`: the reader's own locales, of which one may be in this language. */
export function useWords(told: PageWords, preferred: readonly string[], clock = Date.now): void {
  sentences = told.words;
  locale = preferred.find((one) => one.split('-')[0] === told.language) ?? told.locale;
  now = clock;
  made.clear();
}

/** Making a format takes a thousand times as long as using it. */
function kept<T, O>(Format: new (locale: string, options: O) => T, options: O): T {
  const key = `${Format.name} ${JSON.stringify(options)}`;
  const format = (made.get(key) as T | undefined) ?? new Format(locale, options);
  made.set(key, format);
  return format;
}

/** A sentence, in which `{name:format}` stands for a value in one of FORMATS, and `{name}` for the value as it is. */
export function say(key: Key, given: object = {}): string {
  const values = given as Values;
  return (sentences[key] ?? key).replace(/\{(\w+)(?::(\w+))?\}/g, (_, name, format = 'text') =>
    write(format, values[name], values.currency),
  );
}

/** The same; `null` where one of the values is not known. */
export function tell(key: Key, values: object): string | null {
  const names = [...(sentences[key] ?? '').matchAll(/\{(\w+)/g)].map(([, name = '']) => name);
  return names.every((name) => ((values as Values)[name] ?? null) !== null) ? say(key, values) : null;
}

/** The sentence for so many: a language has one for each of its plural forms. */
export function sayCount(name: Counted, count: number): string {
  const form = `${name}.${kept(Intl.PluralRules, {}).select(count)}`;
  return say((form in sentences ? form : `${name}.other`) as Key, { count });
}

/** How a session is, by its state on bridge/health. */
export const sessionWords = (state: string): string => sentences[`session.${state}`] ?? state;

/** Without those that are not there. */
export const joined = (parts: readonly (string | false | null)[], separator = ', '): string =>
  parts.filter(Boolean).join(separator);

/** A value in one of FORMATS. */
export const write = (format: keyof typeof FORMATS, value: unknown, currency?: unknown): string =>
  (value ?? null) === null ? UNKNOWN : FORMATS[format](value as never, String(currency ?? 'EUR'));

function number(value: number, digits: number): string {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return kept(Intl.NumberFormat, options).format(value);
}

/** Three digits that count are enough to look at. */
const energy = (kwh: number): string => number(kwh, Math.abs(kwh) < 100 ? 1 : 0);

/** `digits`: more than the currency has, for prices of a kWh. */
function money(value: number, currency: string, digits = 2): string {
  if (!/^[A-Z]{3}$/.test(currency)) return `${number(value, digits)} ${currency}`;
  return kept(Intl.NumberFormat, { style: 'currency', currency, minimumFractionDigits: digits }).format(
    value,
  );
}

/** Of `YYYY-MM-DD`, a date without a time zone. */
const dayAs = (options: Intl.DateTimeFormatOptions) => (day: string) =>
  kept(Intl.DateTimeFormat, { ...options, timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`));

/** The time, with its day unless that is today. */
function time(at: string | number): string {
  const isToday = new Date(at).toDateString() === new Date(now()).toDateString();
  const day = isToday ? {} : ({ day: 'numeric', month: 'short' } as const);
  return kept(Intl.DateTimeFormat, { ...day, hour: '2-digit', minute: '2-digit' }).format(new Date(at));
}

/** To the second. A line of the log may have no time that can be read: a part of it may have been masked. */
function clock(at: string): string {
  const then = Date.parse(at);
  return Number.isNaN(then) ? UNKNOWN : kept(Intl.DateTimeFormat, { timeStyle: 'medium' }).format(then);
}

// In seconds: the length of each, and from when on it is counted in them.
const UNITS = [
  ['day', 86_400, 172_800],
  ['hour', 3_600, 3_600],
  ['minute', 60, 60],
] as const;
const relative = (count: number, unit: 'day' | 'hour' | 'minute'): string =>
  kept(Intl.RelativeTimeFormat, { numeric: 'auto' }).format(count, unit);

/** `3 hours ago`, `in 2 minutes`. */
function ago(at: string | number): string {
  const seconds = Math.round((new Date(at).getTime() - now()) / 1000);
  const [unit, length] = UNITS.find(([, , from]) => Math.abs(seconds) >= from) ?? [];
  if (unit) return relative(Math.trunc(seconds / length), unit);
  return seconds > 0 ? say('inSeconds', { seconds }) : say('justNow');
}

/** `yesterday`, `3 days ago`. */
export const dayAgo = (day: string, today: string): string => relative(daysBetween(today, day), 'day');

/** How values are written that are known. */
export const FORMATS = {
  text: (value: unknown) => String(value),
  n: (value: number) => number(value, 0),
  energy,
  kWh: (value: number) => `${energy(value)}\u00a0kWh`,
  money: (value: number, currency: string) => money(value, currency),
  price: (value: number, currency: string) => money(value, currency, 3),
  long: dayAs({ weekday: 'long', day: 'numeric', month: 'long' }),
  short: dayAs({ weekday: 'short', day: 'numeric', month: 'short' }),
  date: dayAs({ day: 'numeric', month: 'short', year: 'numeric' }),
  tick: dayAs({ day: 'numeric', month: 'short' }),
  monthTick: dayAs({ month: 'short' }),
  month: (value: string) => dayAs({ month: 'long', year: 'numeric' })(`${value.slice(0, 7)}-01`),
  time,
  clock,
  ago,
};

/** A sentence of the bridge, whose amounts are written as all others here. */
export const withMoney = (sentence: string): string =>
  sentence.replace(/(-?\d+(\.\d+)?) ([A-Z]{3})\b/g, (_, amount, decimals = '', currency) =>
    money(Number(amount), currency, Math.max(2, decimals.length - 1)),
  );
