// A statement in the words of a language: as one page to read, print and hand over, without any script, and as plain text.
import { createHash } from 'node:crypto';
import { addDays, type Day, type DaySpan } from '../../domain/period.ts';
import { type Language, LOCALES, WORDS } from '../language.ts';
import { speaker } from '../words.ts';
import type { Field, Statement } from './statement.ts';

type Key = keyof (typeof WORDS)['en']['statement'];
type Wording = ReturnType<typeof wordingOf>;

/** Conclusions whose amount is a number of days. */
const COUNTS_DAYS: ReadonlySet<string> = new Set(['days_missing', 'gap_at_end', 'gap_at_start']);

/** In sections of rows. `basis`: what the value rests on; '' where that is said in the row above. */
function wordingOf(statement: Statement, language: Language) {
  const { bills, cost, currency, days, prices, register_first, register_last } = statement;
  const { code, amount, day } = statement.conclusion;
  const sentences = WORDS[language].statement;
  const { dates } = WORDS[language];
  const manner = { locale: LOCALES[language], unknown: sentences['statement.not_known'], dates };
  const speak = speaker(sentences, manner, {});
  const say = (key: Key, values: object = {}) => speak.say(key, { currency, ...values });

  const row = (label: string, value: string, basis: Field<unknown>['basis'] = null) => {
    const hasSource = basis?.kind === 'configuration' && basis.source !== null;
    const kind = hasSource ? 'configuration_source' : basis?.kind;
    return { label, value, basis: kind === undefined ? '' : say(`basis.${kind}`, basis ?? {}) };
  };
  const unknown: ReturnType<typeof row>[] = [];
  /** The row of a field, or one among what is not known. `words`: a sentence about the value, or about what it consists of. */
  function told<T>(
    label: Key,
    { value, reason, basis }: Field<T>,
    words: Key | ((value: T) => string),
    about: object = {},
  ) {
    const name = say(label, about);
    if (value === null) {
      if (!unknown.some((one) => one.label === name)) unknown.push(row(name, say(`reason.${reason}` as Key)));
      return [];
    }
    const told = typeof value === 'object' ? value : { value };
    return [row(name, typeof words === 'string' ? say(words, told) : words(value), basis)];
  }
  const monthUse = (label: Key, { month, energy, cost: { value: cost } }: Statement['month_before']) =>
    told(label, energy, (value) => say(cost === null ? 'use.kwh' : 'compare.use', { value, cost }), {
      month,
    });
  const price = (label: Key, unit: Key) =>
    told(label, prices, (all) => {
      const spanOf = (one: DaySpan) => (all.length === 1 ? '' : ` (${say('prices.span', one)})`);
      return all.map((one) => `${say(unit, one)}${spanOf(one)}`).join('; ');
    });
  const marked = (kind: 'missing' | 'carried' | 'estimated' | 'corrected') => {
    const spans = spansOf(days[kind]).map((span) =>
      span.from === span.to ? speak.write('day', span.from) : say('prices.span', span),
    );
    return spans.length === 0 ? [] : [row(say(`readings.${kind}`), spans.join('; '))];
  };
  const billRows = bills.value?.map((bill) => {
    const { id, amount_due: left, verdict } = bill;
    const toPay = left === null ? [] : [say(left > 0 ? 'bill.due' : 'bill.paid', bill)];
    return row(
      id,
      [say('bill.amount', bill), say(`bill.${verdict}`, bill), ...toPay].join('; '),
      bills.basis,
    );
  });
  const exchanged = statement.exchanges.flatMap(({ last, first }) => {
    const [old, own] = [last.meter_identifier, first.meter_identifier];
    const why = old === own ? say('readings.begun_anew') : say('readings.replaced', { old, own });
    return [
      row(say('readings.register'), why),
      row(say('readings.before'), say('readings.at', last)),
      row(say('readings.after'), say('readings.at', first)),
    ];
  });
  const read = days.of - days.missing.length - days.carried.length;

  const sections: [Key, ...ReturnType<typeof row>[][]][] = [
    [
      'heading.use',
      told('use.energy', statement.energy, 'use.kwh'),
      told('use.heating', statement.heating, 'use.between'),
      told('use.hot_water', statement.hot_water, 'use.between'),
      told('use.cost', cost, (cost.value ?? 0) < 0 ? 'use.credit' : 'use.money'),
    ],
    [
      'heading.compare',
      monthUse('compare.month_before', statement.month_before),
      monthUse('compare.year_before', statement.year_before),
      told('compare.weather', statement.weather_adjusted, 'compare.weather_change'),
    ],
    [
      'heading.prices',
      price('prices.unit_rate', 'prices.per_kwh'),
      price('prices.standing_charge', 'prices.per_day'),
    ],
    [
      'heading.bill',
      billRows ?? told('heading.bill', bills, () => ''),
      told('bill.balance', statement.due, 'use.money'),
    ],
    [
      'heading.readings',
      told('readings.first', register_first, 'readings.at'),
      told('readings.last', register_last, 'readings.at'),
      exchanged,
      [row(say('readings.days'), say('readings.days_of', { read, of: days.of }))],
      marked('missing'),
      marked('carried'),
      marked('estimated'),
      marked('corrected'),
    ],
    [
      'heading.declared',
      told('declared.area', statement.energy_per_m2, 'use.kwh'),
      told('declared.heat_source', statement.heat_source, (all) =>
        all.map((one) => say('declared.share', one)).join(', '),
      ),
      told('declared.co2', statement.co2, 'declared.co2_value'),
      told('declared.average', statement.average_user, 'declared.average_value'),
      told('declared.contacts', statement.contacts, (lines) => lines.join('; ')),
    ],
    // The others have filled it.
    ['heading.unknown', unknown],
  ];
  const numbers = statement.meter_identifiers.join(', ');
  const isOneDay = COUNTS_DAYS.has(code) && amount === 1;
  const headline = say(isOneDay ? (`conclusion.${code}.one` as Key) : `conclusion.${code}`, {
    amount: Math.abs(amount ?? 0),
    day,
  });
  const count = days.carried.length;
  // A gap at an end has named them.
  const carried =
    count === 0 || code === 'gap_at_end'
      ? ''
      : say(count === 1 ? 'conclusion.carried.one' : 'conclusion.carried', { count });
  return {
    say,
    write: speak.write,
    title: say('statement.title', statement),
    meter: statement.meter_name ?? say('statement.meter', { meter: numbers || statement.meter }),
    conclusion: [headline, carried].filter(Boolean).join(' '),
    // The first two have what was used and how that compares: the chart stands below them.
    sections: sections
      .map(([heading, ...rows], at) => ({ heading: say(heading), rows: rows.flat(), isFirst: at < 2 }))
      .filter(({ rows }) => rows.length > 0),
    revision: say('statement.revision', statement),
    information: say('statement.information'),
  };
}

/** Days in a row as spans, from their first to their last. */
function spansOf(days: readonly Day[]): DaySpan[] {
  const first = days.filter((day, at) => days[at - 1] !== addDays(day, -1));
  const last = days.filter((day, at) => days[at + 1] !== addDays(day, 1));
  return first.map((from, at) => ({ from, to: last[at] ?? from }));
}

/** The whole style of the page: a server that forbids inline styles allows this one by its hash. */
const STYLE = `
:root{color-scheme:light}
body{margin:0 auto;padding:1rem;max-width:46rem;font:1rem/1.4 system-ui,sans-serif;color:#111;background:#fff}
h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:1.1rem 0 .3rem}
p{margin:.3rem 0}.conclusion{font-size:1.15rem;font-weight:600}.small{font-size:.8rem;color:#444}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.15rem .5rem .15rem 0;border-top:1px solid #bbb}
th{font-weight:400;width:34%}td.basis{font-size:.8rem;color:#444;width:26%}
svg{width:100%;height:auto;display:block}svg.narrow{display:none}svg text{font:11px system-ui,sans-serif;fill:#111;paint-order:stroke;stroke:#fff;stroke-width:3px}
.bar{fill:#ccc;stroke:#111}.newest{fill:#999;stroke-width:2}.line{fill:none;stroke:#111;stroke-width:2;stroke-dasharray:5 3}.point{fill:#fff;stroke:#111;stroke-width:1.5}
@media screen and (max-width:30rem){svg.wide{display:none}svg.narrow{display:block}th,td,td.basis{display:block;width:auto;border-top:0;padding:0}tr{display:block;border-top:1px solid #bbb;padding:.2rem 0}th{font-size:.85rem;color:#444}}
@media print{@page{margin:11mm}body{padding:0;max-width:none;font-size:8.2pt;line-height:1.2}h1{font-size:13pt}h2{font-size:9pt;margin:.45rem 0 .1rem}p{margin:.1rem 0}.conclusion{font-size:10pt}th,td{padding:.05rem .4rem .05rem 0}th{width:30%}.small,td.basis{font-size:7pt}td.basis{width:32%}svg{height:40mm}section{break-inside:avoid}}
`;
export const STATEMENT_STYLE_HASH = `sha256-${createHash('sha256').update(STYLE).digest('base64')}`;

export function statementPage(statement: Statement, language: Language): string {
  const wording = wordingOf(statement, language);
  const { title, meter, conclusion, sections, revision, information } = wording;
  const first = sections.filter(({ isFirst }) => isFirst);
  const others = sections.filter(({ isFirst }) => !isFirst);
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${html(`${title}: ${meter}`)}</title><style>${STYLE}</style></head>
<body><main><header><h1>${html(title)}</h1><p>${html(meter)}</p><p class="conclusion">${html(conclusion)}</p></header>
${[...first.map(table), chart(statement, wording), ...others.map(table)].join('\n')}
<footer><p class="small">${html(revision)} ${html(information)}</p></footer></main></body></html>
`;
}

export function statementText(statement: Statement, language: Language): string {
  const { title, meter, conclusion, sections, revision, information } = wordingOf(statement, language);
  const lines = sections.flatMap(({ heading, rows }) => [
    '',
    heading,
    ...rows.map(({ label, value, basis }) => `  ${label}: ${value}${basis && ` [${basis}]`}`),
  ]);
  return [`${title}: ${meter}`, '', conclusion, ...lines, '', revision, information, ''].join('\n');
}

function table({ heading, rows }: Wording['sections'][number]): string {
  const cells = rows.map(
    ({ label, value, basis }) =>
      `<tr><th scope="row">${html(label)}</th><td>${html(value)}</td><td class="basis">${html(basis)}</td></tr>`,
  );
  return `<section><h2>${html(heading)}</h2><table>${cells.join('')}</table></section>`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' };
const html = (text: string): string => text.replace(/[&<>"']/g, (one) => `&${ENTITIES[one] ?? '#39'};`);

/** On a narrow screen there is room for a text only along its bar. */
const SIZES = [
  { kind: 'wide', width: 680, height: 190, top: 16, bottom: 22 },
  { kind: 'narrow', width: 340, height: 262, top: 48, bottom: 70 },
] as const;

/** Bars of thirteen months, and the weather-adjusted year before as a dashed line: told apart without colour. */
function chart({ months }: Statement, { say, write }: Wording): string {
  const adjusted = months.map(({ year_before_adjusted_kwh: kwh }) => kwh);
  const most = Math.max(...[...adjusted, ...months.map(({ energy_kwh }) => energy_kwh)].map(Number));
  if (most <= 0) return '';
  const isCompared = adjusted.some((kwh) => kwh !== null);
  const legend = isCompared ? `${say('chart.bars')} ${say('chart.line')}` : say('chart.bars');
  const spoken = months.map(({ month, energy_kwh: value }) => {
    const use = say(value === null ? 'statement.not_known' : 'use.kwh', { value });
    return `${write('month', month)}: ${use}`;
  });
  const label = html(spoken.join('; '));

  const drawn = SIZES.map(({ kind, width, height, top, bottom }) => {
    const step = width / months.length;
    const floor = height - bottom;
    const yOf = (kwh: number) => Number((floor - (Math.max(0, kwh) / most) * (floor - top)).toFixed(1));
    const xOf = (at: number) => Number((step * (at + 0.5)).toFixed(1));
    /** Above its place, or below. */
    function text(x: number, y: number, side: 'above' | 'below', said: string): string {
      const place =
        kind === 'wide'
          ? `x="${x}" y="${side === 'above' ? y : y + 16}" text-anchor="middle"`
          : `transform="translate(${x + 4} ${side === 'above' ? y : y + 6})rotate(-90)" text-anchor="${side === 'above' ? 'start' : 'end'}"`;
      return `<text ${place}>${html(said)}</text>`;
    }
    const points = adjusted.map((kwh, at) => (kwh === null ? null : ([xOf(at), yOf(kwh)] as const)));
    const bars = months.map(({ energy_kwh }, at) => {
      if (energy_kwh === null) return '';
      const y = yOf(energy_kwh);
      const place = `x="${(xOf(at) - step * 0.32).toFixed(1)}" y="${y}" width="${(step * 0.64).toFixed(1)}" height="${(floor - y).toFixed(1)}"`;
      return `<rect class="${at === months.length - 1 ? 'bar newest' : 'bar'}" ${place}/>`;
    });
    const texts = months.map(({ month, energy_kwh }, at) => {
      // A year beside each month would run into the next one, in Irish at least.
      const hasYear = kind === 'narrow' || at === 0 || at === months.length - 1 || month.endsWith('-01');
      const name = text(xOf(at), floor, 'below', write(hasYear ? 'monthAndYear' : 'monthTick', month));
      if (energy_kwh === null) return name;
      // Above the line too, which would strike it through.
      const y = Math.min(yOf(energy_kwh), points[at]?.[1] ?? floor);
      return text(xOf(at), y - 5, 'above', write('n', energy_kwh)) + name;
    });
    const line = points.map((point, at) => {
      if (point === null) return '';
      const [x, y] = point;
      const last = points[at - 1];
      const way = last ? `<line class="line" x1="${last[0]}" y1="${last[1]}" x2="${x}" y2="${y}"/>` : '';
      return `${way}<circle class="point" cx="${x}" cy="${y}" r="3"/>`;
    });
    const shapes = [...bars, ...line, ...texts].join('');
    return `<svg class="${kind}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">${shapes}</svg>`;
  });
  return `<section><h2>${html(say('heading.chart'))}</h2>${drawn.join('')}<p class="small">${html(legend)}</p></section>`;
}
