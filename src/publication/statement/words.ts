// A statement put into the words of a language: sections of rows, in the order in which a person asks.
import { filled, type Language, LOCALES, WORDS } from '../language.ts';
import type { Field, Statement } from './statement.ts';

type Key = keyof (typeof WORDS)['en']['statement'];
type Values = Readonly<Record<string, string | number>>;

interface Row {
  readonly label: string;
  readonly value: string;
  /** What the value rests on; '' where that is said in the row above. */
  readonly basis: string;
}

export interface Section {
  readonly heading: string;
  readonly rows: readonly Row[];
}

export type Words = ReturnType<typeof wordsIn>;

/** How a language says and writes things. `currency`: ISO 4217. */
export function wordsIn(language: Language, currency: string) {
  const locale = LOCALES[language];
  const texts = WORDS[language].statement;
  const number = (value: number, digits: number, options: Intl.NumberFormatOptions = {}) =>
    new Intl.NumberFormat(locale, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      ...options,
    }).format(value);
  const date = (day: string, options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options }).format(Date.parse(`${day}T00:00:00Z`));
  return {
    /** The text of the key with `{name}` filled in. */
    say: (key: Key, values: Values = {}): string => filled(texts[key], values),
    number,
    kwh: (value: number): string => `${number(value, 1)} kWh`,
    percent: (value: number): string => `${number(value, 0)}\u00a0%`,
    /** With its sign. */
    change: (value: number): string => `${value > 0 ? '+' : ''}${number(value, 1)}\u00a0%`,
    money: (value: number, digits = 2): string => number(value, digits, { style: 'currency', currency }),
    day: (day: string): string => date(day, { day: 'numeric', month: 'long', year: 'numeric' }),
    /** `2026-10`. */
    month: (month: string): string => date(`${month}-01`, { month: 'long', year: 'numeric' }),
    shortMonth: (month: string, hasYear: boolean): string =>
      date(`${month}-01`, { month: 'short', ...(hasYear && { year: '2-digit' }) }),
  };
}

/** What stands above and below the sections. */
export function frameOf(statement: Statement, { say, month, day }: Words) {
  const { revision, timezone, from, to } = statement;
  return {
    title: say('statement.title', { month: month(statement.month) }),
    meter: statement.meter_name ?? say('statement.meter', { meter: statement.meter }),
    revision: say('statement.revision', { revision, timezone, from: day(from), to: day(to) }),
    information: say('statement.information'),
  };
}

/** The one thing to know of the month. */
export function conclusionOf({ conclusion }: Statement, { say, money, percent }: Words): string {
  const { code, amount } = conclusion;
  const known = amount ?? 0;
  if (code === 'days_missing')
    return say(known === 1 ? 'conclusion.days_missing.one' : 'conclusion.days_missing', { amount: known });
  return say(`conclusion.${code}`, {
    amount: code === 'bill_differs' ? money(Math.abs(known)) : percent(known),
  });
}

/** `first` has what was used and how that compares: the chart stands behind it. Sections without rows are left out. */
export function sectionsOf(
  statement: Statement,
  words: Words,
): { readonly first: Section[]; readonly others: Section[] } {
  const { say, kwh, money, number, day, percent, change } = words;
  const unknown: Row[] = [];
  const row = (label: string, value: string, basis: Field<unknown>['basis'] = null): Row => ({
    label,
    value,
    basis: basisOf(basis, words),
  });
  /** The row of a field, or one among what is not known. */
  function told<T>(label: string, { value, reason, basis }: Field<T>, write: (value: T) => string): Row[] {
    if (value !== null) return [row(label, write(value), basis)];
    if (!unknown.some((one) => one.label === label)) unknown.push(row(label, say(`reason.${reason}` as Key)));
    return [];
  }
  const section = (heading: Key, ...rows: readonly (readonly Row[])[]): Section[] =>
    rows.some(({ length }) => length > 0) ? [{ heading: say(heading), rows: rows.flat() }] : [];
  const span = (from: string, to: string) => say('prices.span', { from: day(from), to: day(to) });
  const band = (part: { readonly kwh: number; readonly low: number; readonly high: number }) =>
    say('use.between', { value: kwh(part.kwh), low: number(part.low, 1), high: kwh(part.high) });
  const monthUse = (label: Key, { month, energy, cost }: Statement['month_before']) =>
    told(say(label, { month: words.month(month) }), energy, (value) =>
      cost.value === null ? kwh(value) : say('compare.use', { energy: kwh(value), cost: money(cost.value) }),
    );
  const price = (key: 'unit_rate' | 'standing_charge', unit: Key) =>
    told(say(`prices.${key}`), statement.prices, (all) =>
      all
        .map((one) => {
          const amount = say(unit, { amount: money(one[key], 4) });
          return all.length === 1 ? amount : `${amount} (${span(one.from, one.to)})`;
        })
        .join('; '),
    );
  const reading = (label: Key, field: Statement['register_first']) =>
    told(say(label), field, (one) =>
      say('readings.at', { energy: kwh(one.kwh), at: day(one.at.slice(0, 10)) }),
    );
  const marked = (kind: 'missing' | 'carried' | 'estimated' | 'corrected') => {
    const spans = spansOf(statement.days[kind]);
    const written = spans.map(([from, to]) => (from === to ? day(from) : span(from, to)));
    return spans.length === 0 ? [] : [row(say(`readings.${kind}`), written.join('; '))];
  };
  const { bills, days, register_first: before, register_last: after } = statement;
  // Registers only grow: another meter has been put in, or this one has begun anew.
  const isLower = before.value !== null && after.value !== null && after.value.kwh < before.value.kwh;

  const first = [
    ...section(
      'heading.use',
      told(say('use.energy'), statement.energy, kwh),
      told(say('use.heating'), statement.heating, band),
      told(say('use.hot_water'), statement.hot_water, band),
      told(say('use.cost'), statement.cost, (value) =>
        value < 0 ? say('use.credit', { amount: money(value) }) : money(value),
      ),
    ),
    ...section(
      'heading.compare',
      monthUse('compare.month_before', statement.month_before),
      monthUse('compare.year_before', statement.year_before),
      told(say('compare.weather'), statement.weather_adjusted, (found) =>
        say('compare.weather_change', {
          energy: kwh(found.kwh),
          percent: change(found.percent),
          low: change(found.low),
          high: change(found.high),
        }),
      ),
    ),
  ];
  const others = [
    ...section(
      'heading.prices',
      price('unit_rate', 'prices.per_kwh'),
      price('standing_charge', 'prices.per_day'),
    ),
    ...section(
      'heading.bill',
      bills.value === null
        ? told(say('heading.bill'), bills, () => '')
        : bills.value.map((bill) => row(bill.id, billWords(bill, words), bills.basis)),
      told(say('bill.balance'), statement.due, (value) => money(value)),
    ),
    ...section(
      'heading.readings',
      reading('readings.first', before),
      reading('readings.last', after),
      isLower ? [row(say('readings.register'), say('readings.begun_anew'))] : [],
      [
        row(
          say('readings.days'),
          say('readings.days_of', {
            read: days.of - days.missing.length - days.carried.length,
            of: days.of,
          }),
        ),
      ],
      marked('missing'),
      marked('carried'),
      marked('estimated'),
      marked('corrected'),
    ),
    ...section(
      'heading.declared',
      told(say('declared.area'), statement.energy_per_m2, (value) =>
        say('declared.area_value', { value: number(value, 1) }),
      ),
      told(say('declared.heat_source'), statement.heat_source, (all) =>
        all.map((one) => say('declared.share', { ...one, percent: percent(one.percent) })).join(', '),
      ),
      told(say('declared.co2'), statement.co2, ({ kg, g_per_kwh: grams, year }) =>
        say('declared.co2_value', { kg: number(kg, 1), grams, year }),
      ),
      told(say('declared.average'), statement.average_user, ({ kwh_m2_year, own_kwh_m2_year: own }) =>
        say('declared.average_value', {
          value: kwh_m2_year,
          own: own === null ? say('statement.not_known') : number(own, 1),
        }),
      ),
      told(say('declared.contacts'), statement.contacts, (lines) => lines.join('; ')),
    ),
  ];
  return { first, others: [...others, ...section('heading.unknown', unknown)] };
}

function billWords(
  bill: NonNullable<Statement['bills']['value']>[number],
  { say, money, day }: Words,
): string {
  const { from, to, amount, amount_due: left, due, verdict, unexplained } = bill;
  const known = <T>(value: T | null, write: (value: T) => string) =>
    value === null ? say('statement.not_known') : write(value);
  const toPay =
    left !== null && left > 0
      ? say('bill.due', { amount: money(left), due: known(due, day) })
      : say('bill.paid');
  return [
    say('bill.amount', { amount: known(amount, money), from: day(from), to: day(to) }),
    say(`bill.${verdict}`, { amount: money(unexplained ?? 0) }),
    ...(left === null ? [] : [toPay]),
  ].join('; ');
}

function basisOf(basis: Field<unknown>['basis'], { say, day }: Words): string {
  if (basis === null) return '';
  switch (basis.kind) {
    case 'readings':
      return say('basis.readings', { days: basis.days, of: basis.of });
    case 'fit':
      return say('basis.fit', { days: basis.days, from: day(basis.from), to: day(basis.to) });
    case 'configuration': {
      const keys = basis.keys.join(', ');
      const { source } = basis;
      return source === null
        ? say('basis.configuration', { keys })
        : say('basis.configuration_source', { keys, source });
    }
    default:
      return say(`basis.${basis.kind}`);
  }
}

/** First and last of days in a row. */
function spansOf(days: readonly string[]): [string, string][] {
  const spans: [string, string][] = [];
  for (const day of days) {
    const last = spans.at(-1);
    if (last && Date.parse(day) - Date.parse(last[1]) <= 86_400_000) last[1] = day;
    else spans.push([day, day]);
  }
  return spans;
}
