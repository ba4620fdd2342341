// A statement in the words of a language: a headline, and sections of rows.
import { addDays, type Day, type DaySpan } from '../../domain/period.ts';
import { type Language, LOCALES, WORDS } from '../language.ts';
import { speaker } from '../words.ts';
import type { Field, Price, Statement } from './fields.ts';

type Key = keyof (typeof WORDS)['en']['statement'];
type Basis = Field<unknown>['basis'];

interface Entry {
  readonly label: string;
  readonly value: string;
  /** What the value rests on; '' where that is said in the row above. */
  readonly basis: string;
  /** Why there is no value: such fields make a section of their own. */
  readonly reason: Field<unknown>['reason'];
}

export type Wording = ReturnType<typeof wordingOf>;
export type Section = Wording['sections'][number];
type Words = ReturnType<typeof wordsOf>;

/** Conclusions whose amount is a number of days. */
const COUNTS_DAYS: ReadonlySet<string> = new Set(['days_missing', 'gap_at_end', 'gap_at_start']);
/** A smaller one is not to be seen beside prices of four decimals. */
const SMALLEST_MARGIN = 0.000_05;
/** Half of a cent is none. */
const SMALLEST_DIFFERENCE = 0.005;
/** The law asks for these, and no provider tells them. */
const DUTIES: readonly Key[] = ['duty.taxes', 'duty.primary_energy', 'duty.estimates'];

/** `issuedOn`: the day on which it is written. */
export function wordingOf(statement: Statement, language: Language, issuedOn: Day) {
  const words = wordsOf(statement, language);
  const { say, write } = words;
  const meter = statement.meter_identifiers.join(', ') || statement.meter;
  const footer = [
    say('statement.issued', { ...statement, issued: issuedOn }),
    ...(statement.revision > 0 ? [say('statement.revision', statement)] : []),
    say('statement.information'),
  ];
  return {
    say,
    write,
    title: say('statement.title', statement),
    meter: statement.meter_name ?? say('statement.meter', { meter }),
    account: say('statement.account', statement),
    summary: summaryOf(statement, words),
    conclusion: conclusionOf(statement, words),
    sections: sectionsOf(statement, words),
    footer: footer.join(' '),
  };
}

function wordsOf({ currency }: Statement, language: Language) {
  const { statement: sentences, dates } = WORDS[language];
  const manner = { locale: LOCALES[language], unknown: sentences['statement.not_known'], dates };
  const { write, say: speak } = speaker(sentences, manner, {});
  const say = (key: Key, values: object = {}) => speak(key, { currency, ...values });
  function row(label: string, value: string, basis: Basis = null): Entry {
    const hasSource = basis?.kind === 'configuration' && basis.source !== null;
    const kind = hasSource ? 'configuration_source' : basis?.kind;
    const rests = kind === undefined ? '' : say(`basis.${kind}`, basis ?? {});
    return { label, value, basis: rests, reason: null };
  }
  /** `inWords`: a sentence about the value, or about what it consists of. */
  function entry<T>(
    key: Key,
    { value, reason, basis }: Field<T>,
    inWords: Key | ((value: T) => string),
    about: object = {},
  ): Entry {
    const label = say(key, about);
    if (value === null) return { ...row(label, ''), reason: reason ?? 'not_told' };
    const values = typeof value === 'object' ? value : { value };
    return row(label, typeof inWords === 'string' ? say(inWords, values) : inWords(value), basis);
  }
  return { say, write, row, entry };
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

function sectionsOf(statement: Statement, words: Words) {
  const entries: readonly [Key, readonly Entry[]][] = [
    ['heading.use', useEntries(statement, words)],
    ['heading.compare', comparisons(statement, words)],
    ['heading.prices', prices(statement, words)],
    ['heading.bill', bills(statement, words)],
    ['heading.readings', readings(statement, words)],
    ['heading.declared', declared(statement, words)],
  ];
  const unknown = entries.flatMap(([, ofSection]) => ofSection.filter(({ reason }) => reason !== null));
  const sections: typeof entries = [...entries, ['heading.unknown', unknownRows(statement, unknown, words)]];
  return sections
    .map(([heading, ofSection], at) => ({
      heading: words.say(heading),
      rows: ofSection.filter(({ reason }) => reason === null),
      /** The rows about use and its comparisons: the chart stands below these. */
      isFirst: at < 2,
    }))
    .filter(({ rows }) => rows.length > 0);
}

const useEntries = ({ energy, heating, hot_water, cost }: Statement, { entry }: Words): Entry[] => [
  entry('use.energy', energy, 'use.kwh'),
  entry('use.heating', heating, 'use.between'),
  entry('use.hot_water', hot_water, 'use.between'),
  entry('use.cost', cost, (cost.value ?? 0) < 0 ? 'use.credit' : 'use.money'),
];

function comparisons(statement: Statement, { say, entry }: Words): Entry[] {
  const used = statement.energy.value;
  function monthEntry(label: Key, { month, energy, cost }: Statement['month_before']): Entry {
    const inWords = (value: number): string => {
      const use = say(cost.value === null ? 'use.kwh' : 'compare.use', { value, cost: cost.value });
      if (used === null || value <= 0) return use;
      const change = 100 * (used / value - 1);
      return `${use}; ${say(change < 0 ? 'compare.less' : 'compare.more', { change: Math.abs(change) })}`;
    };
    return entry(label, energy, inWords, { month });
  }
  return [
    monthEntry('compare.month_before', statement.month_before),
    monthEntry('compare.year_before', statement.year_before),
    entry('compare.weather', statement.weather_adjusted, 'compare.weather_change'),
  ];
}

function prices({ prices: fitted, currency }: Statement, { say, write, entry }: Words): Entry[] {
  const entryOf = (label: Key, unit: Key, marginOf: (price: Price) => number): Entry =>
    entry(label, fitted, (priced) => {
      const inWords = priced.map((price) => {
        const margin = marginOf(price);
        const about = [
          ...(margin >= SMALLEST_MARGIN ? [`± ${write('rate', margin, currency)}`] : []),
          ...(priced.length > 1 ? [say('prices.span', price)] : []),
        ];
        return about.length === 0 ? say(unit, price) : `${say(unit, price)} (${about.join('; ')})`;
      });
      return inWords.join('; ');
    });
  return [
    entryOf('prices.unit_rate', 'prices.per_kwh', (price) => price.unit_rate_margin),
    entryOf('prices.standing_charge', 'prices.per_day', (price) => price.standing_charge_margin),
  ];
}

function bills({ bills: ofMonth, due }: Statement, { say, row, entry }: Words): Entry[] {
  const rows = ofMonth.value?.map((bill) => {
    const { amount_due: left, sum_of_days: sum, difference } = bill;
    const parts = [say('bill.amount', bill)];
    if (sum !== null && difference !== null) {
      const size = Math.abs(difference);
      const way = difference > 0 ? 'bill.more_than_days' : 'bill.less_than_days';
      parts.push(say(size < SMALLEST_DIFFERENCE ? 'bill.days' : way, { sum, difference: size }));
    }
    parts.push(say(`bill.${bill.verdict}`, bill));
    if (left !== null) parts.push(say(left > 0 ? 'bill.due' : 'bill.paid', bill));
    return row(say('bill.number', bill), parts.join('; '), ofMonth.basis);
  });
  return [...(rows ?? [entry('heading.bill', ofMonth, () => '')]), entry('bill.balance', due, 'use.money')];
}

function readings(statement: Statement, { say, write, row, entry }: Words): Entry[] {
  const { days, exchanges, register_first, register_last, witness } = statement;
  const read = days.of - days.missing.length - days.carried.length;
  const marked = (['missing', 'carried', 'estimated', 'corrected'] as const).flatMap((kind) => {
    const spans = spansOf(days[kind]).map((span) =>
      span.from === span.to ? write('day', span.from) : say('prices.span', span),
    );
    return spans.length === 0 ? [] : [row(say(`readings.${kind}`), spans.join('; '))];
  });
  return [
    entry('readings.first', register_first, 'readings.at'),
    entry('readings.last', register_last, 'readings.at'),
    ...exchanges.flatMap(({ last, first }) => {
      const meters = { old: last.meter_identifier, own: first.meter_identifier };
      const why = meters.old === meters.own ? 'readings.begun_anew' : 'readings.replaced';
      return [
        row(say('readings.register'), say(why, meters)),
        row(say('readings.before'), say('readings.at', last)),
        row(say('readings.after'), say('readings.at', first)),
      ];
    }),
    ...(witness === undefined ? [] : [entry('readings.witness', witness, 'readings.witness_is')]),
    row(say('readings.days'), say('readings.days_of', { read, of: days.of })),
    ...marked,
  ];
}

const declared = (statement: Statement, { say, entry }: Words): Entry[] => [
  entry('declared.area', statement.energy_per_m2, 'use.kwh'),
  entry('declared.heat_source', statement.heat_source, (sources) =>
    sources.map((source) => say('declared.share', source)).join(', '),
  ),
  entry('declared.co2', statement.co2, 'declared.co2_value'),
  entry('declared.average', statement.average_user, 'declared.average_value'),
  entry('declared.contacts', statement.contacts, (lines) => lines.join('; ')),
];

/** One row for each thing that is not known; those that nobody has configured, and those that no provider tells, share one. */
function unknownRows({ contacts }: Statement, unknown: readonly Entry[], { say, row }: Words): Entry[] {
  const others = unknown.filter(({ reason }) => reason !== 'not_configured');
  const unconfigured = unknown.filter(({ reason }) => reason === 'not_configured').map(({ label }) => label);
  const owed = contacts.value === null ? [...DUTIES, 'duty.complaints' as const] : DUTIES;
  return [
    ...others.map(({ label, reason }) => row(label, say(`reason.${reason}` as Key))),
    row(owed.map((key) => say(key)).join(', '), say('reason.not_told')),
    ...(unconfigured.length === 0 ? [] : [row(unconfigured.join(', '), say('reason.not_configured'))]),
  ];
}

/** Days in a row as spans, from their first to their last. */
function spansOf(days: readonly Day[]): DaySpan[] {
  const first = days.filter((day, at) => days[at - 1] !== addDays(day, -1));
  const last = days.filter((day, at) => days[at + 1] !== addDays(day, 1));
  return first.map((from, at) => ({ from, to: last[at] ?? from }));
}
