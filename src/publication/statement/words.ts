// The words of a statement, and how its language writes numbers, money, days and months.
import { filled, type Language, LOCALES, WORDS } from '../language.ts';

type Texts = (typeof WORDS)['en']['statement'];
export type Key = keyof Texts;

export type Words = ReturnType<typeof wordsIn>;

/** `currency`: ISO 4217. */
export function wordsIn(language: Language, currency: string) {
  const locale = LOCALES[language];
  const texts = WORDS[language].statement;
  const number = (value: number, digits: number) =>
    new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(
      value,
    );
  const date = (day: string, options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options }).format(Date.parse(`${day}T00:00:00Z`));
  return {
    locale,
    /** The text of the key with `{name}` filled in. */
    say: (key: Key, values: Readonly<Record<string, string | number>> = {}): string =>
      filled(texts[key], values),
    kwh: (value: number): string => `${number(value, 1)} kWh`,
    number,
    percent: (value: number, digits = 1): string => `${number(value, digits)}\u00a0%`,
    /** With its sign. */
    change: (value: number): string => `${value > 0 ? '+' : ''}${number(value, 1)}\u00a0%`,
    money: (value: number, digits = 2): string =>
      new Intl.NumberFormat(locale, {
        style: 'currency',
        currency,
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      }).format(value),
    day: (day: string): string => date(day, { day: 'numeric', month: 'long', year: 'numeric' }),
    /** `2026-10`. */
    month: (month: string): string => date(`${month}-01`, { month: 'long', year: 'numeric' }),
    shortMonth: (month: string, hasYear: boolean): string =>
      date(`${month}-01`, { month: 'short', ...(hasYear && { year: '2-digit' }) }),
  };
}
