// The words of a language, and how it writes numbers, money, days and months.
import de from '../languages/de.json' with { type: 'json' };
import en from '../languages/en.json' with { type: 'json' };
import ga from '../languages/ga.json' with { type: 'json' };

export type Language = 'en' | 'ga' | 'de';
export type Key = keyof typeof en;

const LANGUAGES: Readonly<Record<Language, Readonly<Record<Key, string>>>> = { en, ga, de };
const LOCALES = { en: 'en-IE', ga: 'ga-IE', de: 'de-DE' } as const;

export const isLanguage = (name: string): name is Language => Object.hasOwn(LANGUAGES, name);

/** The first language of an `Accept-Language` header that there is, else English. */
export function languageOf(header: string): Language {
  const wanted = header
    .split(',')
    .map((one) => {
      const [tag = '', ...parameters] = one.trim().toLowerCase().split(';');
      const quality = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
      return { name: tag.split('-')[0] ?? '', quality: Number(quality ?? 1) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((one, other) => other.quality - one.quality);
  return wanted.map(({ name }) => name).find(isLanguage) ?? 'en';
}

export type Words = ReturnType<typeof wordsIn>;

/** `currency`: ISO 4217. */
export function wordsIn(language: Language, currency: string) {
  const locale = LOCALES[language];
  const texts = LANGUAGES[language];
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
      texts[key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name])),
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
    shortMonth: (month: string): string => date(`${month}-01`, { month: 'short', year: '2-digit' }),
  };
}
