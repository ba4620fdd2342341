// A statement put into words: sections of rows, in the order in which a person asks.
import type { Statement, StatementBasis } from './statement.ts';
import type { Key, Words } from './words.ts';

export interface Row {
  readonly label: string;
  readonly value: string;
  /** What the value rests on; '' where that is said in the row above. */
  readonly basis: string;
}

export interface Section {
  /** The chart stands behind the last of these. */
  readonly isBeforeChart: boolean;
  readonly heading: string;
  readonly rows: readonly Row[];
}

interface Field<T> {
  readonly value: T | null;
  readonly reason: string | null;
  readonly basis: StatementBasis | null;
}

/** The one thing to know of the month. */
export function conclusionOf({ conclusion: { code, amount } }: Statement, words: Words): string {
  if (code === 'days_missing')
    return words.say(amount === 1 ? 'conclusion.days_missing.one' : 'conclusion.days_missing', {
      amount: amount ?? 0,
    });
  const told = code === 'bill_differs' ? words.money(Math.abs(amount ?? 0)) : words.percent(amount ?? 0, 0);
  return words.say(`conclusion.${code}`, { amount: told });
}

export function sectionsOf(statement: Statement, words: Words): Section[] {
  const { say, kwh, money, day } = words;
  const unknown: Row[] = [];
  /** The rows of a field, or a row among what is not known. */
  function told<T>(label: string, field: Field<T>, write: (value: T) => string): Row[] {
    if (field.value !== null)
      return [{ label, value: write(field.value), basis: basisOf(field.basis, words) }];
    const value = say(`reason.${field.reason}` as Key);
    if (!unknown.some((row) => row.label === label)) unknown.push({ label, value, basis: '' });
    return [];
  }
  const band = (part: { readonly kwh: number; readonly low: number; readonly high: number }) =>
    say('use.between', { value: kwh(part.kwh), low: words.number(part.low, 1), high: kwh(part.high) });
  const monthUse = (label: Key, { month, energy, cost }: Statement['month_before']) =>
    told(say(label, { month: words.month(month) }), energy, (value) =>
      cost.value === null ? kwh(value) : say('compare.use', { energy: kwh(value), cost: money(cost.value) }),
    );
  const days = (list: readonly string[], label: Key): Row[] =>
    list.length === 0
      ? []
      : [
          {
            label: say(label),
            value: spansOf(list)
              .map(([from, to]) =>
                from === to ? day(from) : say('prices.span', { from: day(from), to: day(to) }),
              )
              .join('; '),
            basis: '',
          },
        ];
  const { bills, prices } = statement;

  const known: Section[] = [
    {
      isBeforeChart: true,
      heading: say('heading.use'),
      rows: [
        ...told(say('use.energy'), statement.energy, kwh),
        ...told(say('use.heating'), statement.heating, band),
        ...told(say('use.hot_water'), statement.hot_water, band),
        ...told(say('use.cost'), statement.cost, (value) =>
          value < 0 ? say('use.credit', { amount: money(value) }) : money(value),
        ),
      ],
    },
    {
      isBeforeChart: true,
      heading: say('heading.compare'),
      rows: [
        ...monthUse('compare.month_before', statement.month_before),
        ...monthUse('compare.year_before', statement.year_before),
        ...told(say('compare.weather'), statement.weather_adjusted, ({ kwh: energy, percent, low, high }) =>
          say('compare.weather_change', {
            energy: kwh(energy),
            percent: words.change(percent),
            low: words.change(low),
            high: words.change(high),
          }),
        ),
      ],
    },
    {
      isBeforeChart: false,
      heading: say('heading.prices'),
      rows: (['unit_rate', 'standing_charge'] as const).flatMap((key) =>
        told(say(`prices.${key}`), prices, (all) =>
          all
            .map((one) => {
              const amount = say(key === 'unit_rate' ? 'prices.per_kwh' : 'prices.per_day', {
                amount: money(one[key], 4),
              });
              const span =
                all.length === 1 ? '' : ` (${say('prices.span', { from: day(one.from), to: day(one.to) })})`;
              return amount + span;
            })
            .join('; '),
        ),
      ),
    },
    {
      isBeforeChart: false,
      heading: say('heading.bill'),
      rows: [
        ...(bills.value ?? []).map((bill) => ({
          label: bill.id,
          value: billWords(bill, words),
          basis: basisOf(bills.basis, words),
        })),
        ...(bills.value === null ? told(say('heading.bill'), bills, () => '') : []),
        ...told(say('bill.balance'), statement.due, (value) => money(value)),
      ],
    },
    {
      isBeforeChart: false,
      heading: say('heading.readings'),
      rows: [
        ...told(say('readings.first'), statement.register_first, (one) =>
          say('readings.at', { energy: kwh(one.kwh), at: day(one.at.slice(0, 10)) }),
        ),
        ...told(say('readings.last'), statement.register_last, (one) =>
          say('readings.at', { energy: kwh(one.kwh), at: day(one.at.slice(0, 10)) }),
        ),
        ...(isLower(statement)
          ? [{ label: say('readings.register'), value: say('readings.begun_anew'), basis: '' }]
          : []),
        {
          label: say('readings.days'),
          value: say('readings.days_of', {
            read: statement.days.of - statement.days.missing.length - statement.days.carried.length,
            of: statement.days.of,
          }),
          basis: '',
        },
        ...(['missing', 'carried', 'estimated', 'corrected'] as const).flatMap((kind) =>
          days(statement.days[kind], `readings.${kind}`),
        ),
      ],
    },
    {
      isBeforeChart: false,
      heading: say('heading.declared'),
      rows: [
        ...told(say('declared.area'), statement.energy_per_m2, (value) =>
          say('declared.area_value', { value: words.number(value, 1) }),
        ),
        ...told(say('declared.heat_source'), statement.heat_source, (all) =>
          all
            .map(({ name, percent }) => say('declared.share', { name, percent: words.percent(percent, 0) }))
            .join(', '),
        ),
        ...told(say('declared.co2'), statement.co2, ({ kg, g_per_kwh, year }) =>
          say('declared.co2_value', { kg: words.number(kg, 1), grams: g_per_kwh, year }),
        ),
        ...told(say('declared.average'), statement.average_user, ({ kwh_m2_year, own_kwh_m2_year: own }) =>
          say('declared.average_value', {
            value: kwh_m2_year,
            own: own === null ? say('statement.not_known') : words.number(own, 1),
          }),
        ),
        ...told(say('declared.contacts'), statement.contacts, (lines) => lines.join('; ')),
      ],
    },
  ];
  return [...known, { isBeforeChart: false, heading: say('heading.unknown'), rows: unknown }].filter(
    ({ rows }) => rows.length > 0,
  );
}

/** Registers only grow: another meter has been put in, or this one has begun anew. */
const isLower = ({ register_first: first, register_last: last }: Statement): boolean =>
  first.value !== null && last.value !== null && last.value.kwh < first.value.kwh;

function billWords(
  bill: NonNullable<Statement['bills']['value']>[number],
  { say, money, day }: Words,
): string {
  const { from, to, amount, amount_due, due, verdict, unexplained } = bill;
  const difference = { amount: money(unexplained ?? 0) };
  const left =
    amount_due === null
      ? []
      : amount_due > 0
        ? [
            say('bill.due', {
              amount: money(amount_due),
              due: due === null ? say('statement.not_known') : day(due),
            }),
          ]
        : [say('bill.paid')];
  return [
    say('bill.amount', {
      amount: amount === null ? say('statement.not_known') : money(amount),
      from: day(from),
      to: day(to),
    }),
    say(`bill.${verdict}`, difference),
    ...left,
  ].join('; ');
}

function basisOf(basis: StatementBasis | null, { say, day }: Words): string {
  switch (basis?.kind) {
    case undefined:
      return '';
    case 'readings':
      return say('basis.readings', { days: basis.days, of: basis.of });
    case 'fit':
      return say('basis.fit', { days: basis.days, from: day(basis.from), to: day(basis.to) });
    case 'configuration': {
      const keys = basis.keys.join(', ');
      return basis.source === null
        ? say('basis.configuration', { keys })
        : say('basis.configuration_source', { keys, source: basis.source });
    }
    case 'register':
    case 'bills':
    case 'provider':
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
