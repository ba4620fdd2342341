// Sentences of a language with values in them: on the page in the browser, and on the statement of a month.

type Format = (value: never, currency: string) => string;

interface Manner {
  readonly locale: string;
  readonly unknown: string;
  readonly dates: DateNames;
}

/** The lists begin with January and with Sunday. */
export type DateNames = Readonly<
  Record<'months' | 'months_short' | 'weekdays' | 'weekdays_short', readonly string[]>
>;

/** It replaces a locale of which this machine knows nothing, such as Irish in Chromium: day before month, and €1.00. */
const USUAL_LOCALE = 'en-GB';

/** Making a format takes a thousand times as long as using it. */
class MadeOnce {
  private readonly locales: readonly string[];
  private readonly made = new Map<string, unknown>();

  constructor(locale: string) {
    this.locales = [locale, USUAL_LOCALE];
  }

  get<T, O>(Format: new (locales: readonly string[], options: O) => T, options: O): T {
    const key = `${Format.name} ${JSON.stringify(options)}`;
    const format = (this.made.get(key) as T | undefined) ?? new Format(this.locales, options);
    this.made.set(key, format);
    return format;
  }
}

function usualFormats(made: MadeOnce, dates: DateNames) {
  function number(value: number, digits: number): string {
    const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    return made.get(Intl.NumberFormat, options).format(value);
  }

  /** `digits`: at least, for prices of a kWh more than the currency has. */
  const money =
    (digits: number) =>
    (value: number, currency: string): string => {
      if (!/^[A-Z]{3}$/.test(currency)) return `${number(value, digits)} ${currency}`;
      const options = { style: 'currency', currency, minimumFractionDigits: digits } as const;
      return made.get(Intl.NumberFormat, options).format(value);
    };

  /** The date in `2026-10`, `2026-10-31` or an instant that begins so: a date without a time zone. */
  const date = (options: Intl.DateTimeFormatOptions) => (text: string) => {
    const at = new Date(Date.parse(text.slice(0, 10)));
    // Only the order and the signs between are the machine's: it may have no names in this language.
    const names: Readonly<Record<string, string | undefined>> = {
      month: dates[options.month === 'long' ? 'months' : 'months_short'][at.getUTCMonth()],
      weekday: dates[options.weekday === 'long' ? 'weekdays' : 'weekdays_short'][at.getUTCDay()],
    };
    const parts = made.get(Intl.DateTimeFormat, { ...options, timeZone: 'UTC' }).formatToParts(at);
    const words = parts.map(({ type, value }) => names[type] ?? value);
    return words.length === 1 ? words.join('').replace(/\.$/, '') : words.join('');
  };

  /** Three digits that count are enough to look at. */
  const energy = (kwh: number): string => number(kwh, Math.abs(kwh) < 100 ? 1 : 0);

  return {
    text: String,
    n: (value: number) => number(value, 0),
    tenths: (value: number) => number(value, 1),
    energy,
    kWh: (value: number) => `${energy(value)}\u00a0kWh`,
    percent: (value: number) => `${number(value, 0)}\u00a0%`,
    change: (value: number) => `${value > 0 ? '+' : ''}${number(value, 1)}\u00a0%`,
    money: money(2),
    price: money(3),
    rate: money(4),
    long: date({ weekday: 'long', day: 'numeric', month: 'long' }),
    short: date({ weekday: 'short', day: 'numeric', month: 'short' }),
    day: date({ day: 'numeric', month: 'long', year: 'numeric' }),
    date: date({ day: 'numeric', month: 'short', year: 'numeric' }),
    tick: date({ day: 'numeric', month: 'short' }),
    month: (text: string) => date({ month: 'long', year: 'numeric' })(text.slice(0, 7)),
    monthTick: date({ month: 'short' }),
    monthAndYear: date({ month: 'short', year: '2-digit' }),
  };
}

/**
 * `unknown` stands in place of a value that is not known. In a sentence `{name:format}` is a value in one of the formats, and `{name}`
 * the value as it is. `own`: formats beside the usual ones.
 */
export function speaker<Key extends string, Own extends string = never>(
  sentences: Readonly<Record<Key, string>>,
  { locale, unknown, dates }: Manner,
  own: Readonly<Record<Own, Format>>,
) {
  const made = new MadeOnce(locale);
  const usual = usualFormats(made, dates);
  const formats = { ...usual, ...own } as Readonly<Record<keyof typeof usual | Own, Format>>;

  const write = (format: keyof typeof formats, value: unknown, currency?: unknown): string =>
    (value ?? null) === null ? unknown : formats[format](value as never, String(currency ?? 'EUR'));

  return {
    made,
    write,
    /** Amounts are in `values.currency`. */
    say(key: Key, values: object = {}): string {
      const { currency, ...others } = values as Readonly<Record<string, unknown>>;
      return (sentences[key] ?? key).replace(/\{(\w+)(?::(\w+))?\}/g, (_, name, format = 'text') =>
        write(format, others[name], currency),
      );
    },
  };
}
