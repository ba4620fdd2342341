// A statement in the words of a language: a headline, and sections of rows.
import { addDays, type Day, type DaySpan } from '../../domain/period.ts';
import { type Language, LOCALES, WORDS } from '../language.ts';
import { speaker } from '../words.ts';
import type { Field, Statement } from './statement.ts';

type Key = keyof (typeof WORDS)['en']['statement'];
type Basis = Field<unknown>['basis'];

/** `basis`: what the value rests on; '' where that is said in the row above. */
export interface Row {
  readonly label: string;
  readonly value: string;
  readonly basis: string;
}

export interface Section {
  readonly heading: string;
  readonly rows: readonly Row[];
  /** The rows about use and its comparisons: the chart stands below these. */
  readonly isFirst: boolean;
}

export type Wording = ReturnType<typeof wordingOf>;
type Words = ReturnType<typeof wordsOf>;

/** Conclusions whose amount is a number of days. */
const COUNTS_DAYS: ReadonlySet<string> = new Set(['days_missing', 'gap_at_end', 'gap_at_start']);

/** `issuedOn`: the day on which it is written. */
export function wordingOf(statement: Statement, language: Language, issuedOn: Day) {
  const words = wordsOf(statement, language);
  const { say, write } = words;
  const { meter_name, revision } = statement;
  const meter = statement.meter_identifiers.join(', ') || statement.meter;
  return {
    say,
    write,
    title: say('statement.title', statement),
    meter: meter_name ?? say('statement.meter', { meter }),
    account: say('statement.account', statement),
    summary: summaryOf(statement, words),
    conclusion: conclusionOf(statement, words),
    sections: sectionsOf(statement, words),
    footer: [
      say('statement.issued', { ...statement, issued: issuedOn }),
      revision > 0 ? say('statement.revision', statement) : '',
      say('statement.information'),
    ]
      .filter(Boolean)
      .join(' '),
  };
}

/** The source of the rows. */
function wordsOf({ currency }: Statement, language: Language) {
  const sentences = WORDS[language].statement;
  const { dates } = WORDS[language];
  const manner = { locale: LOCALES[language], unknown: sentences['statement.not_known'], dates };
  const { write, say: speak } = speaker(sentences, manner, {});
  const say = (key: Key, values: object = {}) => speak(key, { currency, ...values });
  function row(label: string, value: string, basis: Basis = null): Row {
    const hasSource = basis?.kind === 'configuration' && basis.source !== null;
    const kind = hasSource ? 'configuration_source' : basis?.kind;
    return { label, value, basis: kind === undefined ? '' : say(`basis.${kind}`, basis ?? {}) };
  }
  const unknown: { readonly label: string; readonly reason: string }[] = [];
  /** The row of a field, or one among what is not known. `inWords`: a sentence about the value, or about what it consists of. */
  function told<T>(
    label: Key,
    { value, reason, basis }: Field<T>,
    inWords: Key | ((value: T) => string),
    about: object = {},
  ): Row[] {
    const name = say(label, about);
    if (value === null) {
      if (!unknown.some((one) => one.label === name))
        unknown.push({ label: name, reason: reason ?? 'not_told' });
      return [];
    }
    const values = typeof value === 'object' ? value : { value };
    return [row(name, typeof inWords === 'string' ? say(inWords, values) : inWords(value), basis)];
  }
  return { say, write, row, told, unknown };
}

/** `358.0 kWh, €65.00` */
function summaryOf({ energy, cost }: Statement, { say }: Words): string {
  if (energy.value === null) return '';
  const words = cost.value === null ? 'use.kwh' : 'compare.use';
  return say(words, { value: energy.value, cost: cost.value });
}

function conclusionOf({ conclusion, days }: Statement, { say }: Words): string {
  const { code, amount, day } = conclusion;
  const isOneDay = COUNTS_DAYS.has(code) && amount === 1;
  const key = (isOneDay ? `conclusion.${code}.one` : `conclusion.${code}`) as Key;
  const headline = say(key, { amount: Math.abs(amount ?? 0), day });
  const count = days.carried.length;
  // A gap at an end has named them.
  if (count === 0 || code === 'gap_at_end') return headline;
  const carried = say(count === 1 ? 'conclusion.carried.one' : 'conclusion.carried', { count });
  return `${headline} ${carried}`;
}

function sectionsOf(statement: Statement, words: Words): Section[] {
  const sections: readonly [Key, readonly Row[]][] = [
    ['heading.use', useRows(statement, words)],
    ['heading.compare', compareRows(statement, words)],
    ['heading.prices', priceRows(statement, words)],
    ['heading.bill', billRows(statement, words)],
    ['heading.readings', readingRows(statement, words)],
    ['heading.declared', declaredRows(statement, words)],
    // The others have filled it.
    ['heading.unknown', unknownRows(statement, words)],
  ];
  return sections
    .map(([heading, rows], at) => ({ heading: words.say(heading), rows, isFirst: at < 2 }))
    .filter(({ rows }) => rows.length > 0);
}

function useRows({ energy, heating, hot_water, cost }: Statement, { told }: Words): Row[] {
  return [
    ...told('use.energy', energy, 'use.kwh'),
    ...told('use.heating', heating, 'use.between'),
    ...told('use.hot_water', hot_water, 'use.between'),
    ...told('use.cost', cost, (cost.value ?? 0) < 0 ? 'use.credit' : 'use.money'),
  ];
}

function compareRows(statement: Statement, { say, told }: Words): Row[] {
  const own = statement.energy.value;
  function monthRows(label: Key, { month, energy, cost }: Statement['month_before']): Row[] {
    const use = (value: number) =>
      say(cost.value === null ? 'use.kwh' : 'compare.use', { value, cost: cost.value });
    return told(
      label,
      energy,
      (value) => {
        if (own === null || value <= 0) return use(value);
        const change = 100 * (own / value - 1);
        return `${use(value)}; ${say(change < 0 ? 'compare.less' : 'compare.more', { change: Math.abs(change) })}`;
      },
      { month },
    );
  }
  return [
    ...monthRows('compare.month_before', statement.month_before),
    ...monthRows('compare.year_before', statement.year_before),
    ...told('compare.weather', statement.weather_adjusted, 'compare.weather_change'),
  ];
}

/** A smaller one is not to be seen beside prices of four decimals. */
const SMALLEST_MARGIN = 0.000_05;

function priceRows({ prices, currency }: Statement, { say, write, told }: Words): Row[] {
  const price = (label: Key, unit: Key, margin: 'unit_rate_margin' | 'standing_charge_margin') =>
    told(label, prices, (spans) => {
      const written = spans.map((span) => {
        const about = [
          ...(span[margin] >= SMALLEST_MARGIN ? [`± ${write('rate', span[margin], currency)}`] : []),
          ...(spans.length > 1 ? [say('prices.span', span)] : []),
        ];
        return about.length === 0 ? say(unit, span) : `${say(unit, span)} (${about.join('; ')})`;
      });
      return written.join('; ');
    });
  return [
    ...price('prices.unit_rate', 'prices.per_kwh', 'unit_rate_margin'),
    ...price('prices.standing_charge', 'prices.per_day', 'standing_charge_margin'),
  ];
}

function billRows({ bills, due }: Statement, { say, row, told }: Words): Row[] {
  const rows = bills.value?.map((bill) => {
    const { amount_due: left, verdict, sum_of_days: sum, difference } = bill;
    const parts = [say('bill.amount', bill)];
    if (sum !== null && difference !== null) {
      const size = Math.abs(difference);
      const way = difference > 0 ? 'bill.more_than_days' : 'bill.less_than_days';
      parts.push(
        size < SMALLEST_DIFFERENCE ? say('bill.days', { sum }) : say(way, { sum, difference: size }),
      );
    }
    parts.push(say(`bill.${verdict}`, bill));
    if (left !== null) parts.push(say(left > 0 ? 'bill.due' : 'bill.paid', bill));
    return row(say('bill.number', bill), parts.join('; '), bills.basis);
  });
  return [...(rows ?? told('heading.bill', bills, () => '')), ...told('bill.balance', due, 'use.money')];
}

/** Half of a cent is none. */
const SMALLEST_DIFFERENCE = 0.005;

function readingRows(statement: Statement, { say, write, row, told }: Words): Row[] {
  const { days, exchanges, register_first, register_last, witness } = statement;
  const read = days.of - days.missing.length - days.carried.length;
  function marked(kind: 'missing' | 'carried' | 'estimated' | 'corrected'): Row[] {
    const spans = spansOf(days[kind]).map((span) =>
      span.from === span.to ? write('day', span.from) : say('prices.span', span),
    );
    return spans.length === 0 ? [] : [row(say(`readings.${kind}`), spans.join('; '))];
  }
  function exchangeRows({ last, first }: Statement['exchanges'][number]): Row[] {
    const [old, own] = [last.meter_identifier, first.meter_identifier];
    const why = old === own ? say('readings.begun_anew') : say('readings.replaced', { old, own });
    return [
      row(say('readings.register'), why),
      row(say('readings.before'), say('readings.at', last)),
      row(say('readings.after'), say('readings.at', first)),
    ];
  }
  return [
    ...told('readings.first', register_first, 'readings.at'),
    ...told('readings.last', register_last, 'readings.at'),
    ...exchanges.flatMap(exchangeRows),
    ...(witness === undefined ? [] : told('readings.witness', witness, 'readings.witness_is')),
    row(say('readings.days'), say('readings.days_of', { read, of: days.of })),
    ...marked('missing'),
    ...marked('carried'),
    ...marked('estimated'),
    ...marked('corrected'),
  ];
}

function declaredRows(statement: Statement, { say, told }: Words): Row[] {
  return [
    ...told('declared.area', statement.energy_per_m2, 'use.kwh'),
    ...told('declared.heat_source', statement.heat_source, (all) =>
      all.map((one) => say('declared.share', one)).join(', '),
    ),
    ...told('declared.co2', statement.co2, 'declared.co2_value'),
    ...told('declared.average', statement.average_user, 'declared.average_value'),
    ...told('declared.contacts', statement.contacts, (lines) => lines.join('; ')),
  ];
}

/** One row for each thing that is not known; those that nobody has configured, and those that no provider tells, share one. */
function unknownRows({ contacts }: Statement, { say, row, unknown }: Words): Row[] {
  const isGiven = ({ reason }: { readonly reason: string }) => reason !== 'not_configured';
  const left = unknown.filter((one) => !isGiven(one)).map(({ label }) => label);
  const duties: readonly Key[] = ['duty.taxes', 'duty.primary_energy', 'duty.estimates'];
  const owed = contacts.value === null ? [...duties, 'duty.complaints' as const] : duties;
  return [
    ...unknown.filter(isGiven).map(({ label, reason }) => row(label, say(`reason.${reason}` as Key))),
    row(owed.map((key) => say(key)).join(', '), say('reason.not_told')),
    ...(left.length === 0 ? [] : [row(left.join(', '), say('reason.not_configured'))]),
  ];
}

/** Days in a row as spans, from their first to their last. */
function spansOf(days: readonly Day[]): DaySpan[] {
  const first = days.filter((day, at) => days[at - 1] !== addDays(day, -1));
  const last = days.filter((day, at) => days[at + 1] !== addDays(day, 1));
  return first.map((from, at) => ({ from, to: last[at] ?? from }));
}
