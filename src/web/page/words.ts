// Words of the page: sentences by their key, and amounts, days and times in the reader's own language.
import { daysBetween } from '../../domain/period.ts';
import type { PageWords } from '../../publication/language.ts';
import { type DateNames, speaker } from '../../publication/words.ts';

export type Key = keyof PageWords['words'];
type Counted = { [K in Key]: K extends `${infer Name}.other` ? Name : never }[Key];

export const UNKNOWN = '–';
let sentences: Readonly<Record<string, string>> = {};
let language = 'en';
let now = Date.now;
let spoken = speakerIn('en', { months: [], months_short: [], weekdays: [], weekdays_short: [] });

function speakerIn(locale: string, dates: DateNames) {
  return speaker<string, 'time' | 'clock' | 'ago'>(
    sentences,
    { locale, unknown: UNKNOWN, dates },
    { time, clock: timeOfDay, ago },
  );
}

/** The page calls it before it says anything. `preferred`: the reader's own locales, of which one may be in this language. */
export function useWords(words: PageWords, preferred: readonly string[], clock = Date.now): void {
  sentences = words.words;
  language = words.language;
  now = clock;
  const locale = preferred.find((name) => name.split('-')[0] === language) ?? words.locale;
  spoken = speakerIn(locale, words.dates);
}

export const isEnglish = (): boolean => language === 'en';

export const say = (key: Key, values: object = {}): string => spoken.say(key, values);
export type Format = Parameters<typeof spoken.write>[0];
export const write = (format: Format, value: unknown, currency?: unknown): string =>
  spoken.write(format, value, currency);

/** The same; `null` where one of the values is not known. */
export function tell(key: Key, values: object): string | null {
  const names = [...(sentences[key] ?? '').matchAll(/\{(\w+)/g)].map(([, name = '']) => name);
  const isKnown = (name: string) => ((values as Readonly<Record<string, unknown>>)[name] ?? null) !== null;
  return names.every(isKnown) ? say(key, values) : null;
}

/** The sentence for so many: a language has one for each of its plural forms. */
export function sayCount(name: Counted, count: number): string {
  const form = `${name}.${spoken.made.get(Intl.PluralRules, {}).select(count)}`;
  return say((form in sentences ? form : `${name}.other`) as Key, { count });
}

/** `state`: that of a session on bridge/health. */
export const sessionWords = (state: string): string => sentences[`session.${state}`] ?? state;

/** Parts that are not there are left out. */
export const joined = (parts: readonly (string | false | null)[], separator = ', '): string =>
  parts.filter(Boolean).join(separator);

/** The time, with its day unless that is today. */
function time(at: string | number): string {
  const then = new Date(at);
  const clock = spoken.made.get(Intl.DateTimeFormat, { hour: '2-digit', minute: '2-digit' }).format(then);
  if (then.toDateString() === new Date(now()).toDateString()) return clock;
  // The reader's own day, as a date without a time zone.
  const day = new Date(Date.UTC(then.getFullYear(), then.getMonth(), then.getDate())).toISOString();
  return `${write('tick', day)}, ${clock}`;
}

/** It has seconds. A line of the log may have no time that can be read: a part of it may have been masked. */
function timeOfDay(at: string): string {
  const then = Date.parse(at);
  return Number.isNaN(then)
    ? UNKNOWN
    : spoken.made.get(Intl.DateTimeFormat, { timeStyle: 'medium' }).format(then);
}

// Seconds: the length of each unit, and the span from which on it is used.
const UNITS = [
  ['day', 86_400, 172_800],
  ['hour', 3_600, 3_600],
  ['minute', 60, 60],
] as const;

/** The sentences are our own: a browser that does not know the language has none. */
function relative(count: number, unit: 'day' | 'hour' | 'minute'): string {
  const near = unit === 'day' ? NEAR.get(count) : undefined;
  if (near !== undefined) return say(near);
  return sayCount(`${count < 0 ? 'past' : 'future'}.${unit}`, Math.abs(count));
}

const NEAR = new Map<number, Key>([
  [-1, 'day.yesterday'],
  [0, 'day.today'],
  [1, 'day.tomorrow'],
]);

/** `3 hours ago`, `in 2 minutes`. */
function ago(at: string | number): string {
  const seconds = Math.round((new Date(at).getTime() - now()) / 1000);
  const [unit, length] = UNITS.find(([, , from]) => Math.abs(seconds) >= from) ?? [];
  if (unit) return relative(Math.trunc(seconds / length), unit);
  return seconds > 0 ? say('inSeconds', { seconds }) : say('justNow');
}

/** `yesterday`, `3 days ago`. */
export const dayAgo = (day: string, today: string): string => relative(daysBetween(today, day), 'day');

/** A sentence of the bridge, whose amounts are written as all others here. */
export const withMoney = (sentence: string): string =>
  sentence.replace(/(-?\d+(?:\.\d+)?) ([A-Z]{3})\b/g, (_, amount, currency) =>
    write('money', Number(amount), currency),
  );
