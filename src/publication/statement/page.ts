// A statement as one page to read, print and hand over, without any script, and as plain text.
import { createHash } from 'node:crypto';
import type { Language } from '../language.ts';
import type { Statement } from './statement.ts';
import { conclusionOf, frameOf, type Section, sectionsOf, type Words, wordsIn } from './words.ts';

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
  const words = wordsIn(language, statement.currency);
  const { title, meter, revision, information } = frameOf(statement, words);
  const { first, others } = sectionsOf(statement, words);
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${html(`${title}: ${meter}`)}</title><style>${STYLE}</style></head>
<body><main><header><h1>${html(title)}</h1><p>${html(meter)}</p><p class="conclusion">${html(conclusionOf(statement, words))}</p></header>
${[...first.map(table), chart(statement, words), ...others.map(table)].join('\n')}
<footer><p class="small">${html(revision)} ${html(information)}</p></footer></main></body></html>
`;
}

function table({ heading, rows }: Section): string {
  const cells = rows.map(
    ({ label, value, basis }) =>
      `<tr><th scope="row">${html(label)}</th><td>${html(value)}</td><td class="basis">${html(basis)}</td></tr>`,
  );
  return `<section><h2>${html(heading)}</h2><table>${cells.join('')}</table></section>`;
}

export function statementText(statement: Statement, language: Language): string {
  const words = wordsIn(language, statement.currency);
  const { title, meter, revision, information } = frameOf(statement, words);
  const { first, others } = sectionsOf(statement, words);
  const lines = [...first, ...others].flatMap(({ heading, rows }) => [
    '',
    heading,
    ...rows.map(({ label, value, basis }) => `  ${label}: ${value}${basis && ` [${basis}]`}`),
  ]);
  const all = [`${title}: ${meter}`, '', conclusionOf(statement, words), ...lines, '', revision, information];
  return `${all.join('\n')}\n`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const html = (text: string): string => text.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? one);

interface Size {
  readonly kind: 'wide' | 'narrow';
  readonly width: number;
  readonly height: number;
  readonly top: number;
  readonly bottom: number;
}

/** On a narrow screen there is room for a text only along its bar. */
const SIZES: readonly Size[] = [
  { kind: 'wide', width: 680, height: 190, top: 16, bottom: 22 },
  { kind: 'narrow', width: 340, height: 262, top: 48, bottom: 70 },
];

/** Bars of thirteen months, and the weather-adjusted year before as a dashed line: told apart without colour. */
function chart({ months }: Statement, words: Words): string {
  const all = months.flatMap(({ energy_kwh, year_before_adjusted_kwh }) => [
    energy_kwh ?? 0,
    year_before_adjusted_kwh ?? 0,
  ]);
  const most = Math.max(...all);
  if (most <= 0) return '';
  const isCompared = months.some(({ year_before_adjusted_kwh: kwh }) => kwh !== null);
  const legend = isCompared
    ? `${words.say('chart.bars')} ${words.say('chart.line')}`
    : words.say('chart.bars');
  const spoken = months
    .map(
      ({ month, energy_kwh }) =>
        `${words.month(month)}: ${energy_kwh === null ? words.say('statement.not_known') : words.kwh(energy_kwh)}`,
    )
    .join('; ');
  const drawn = SIZES.map((size) => {
    const { kind, width, height } = size;
    return `<svg class="${kind}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${html(spoken)}">${drawing(months, most, size, words)}</svg>`;
  });
  return `<section><h2>${html(words.say('heading.chart'))}</h2>${drawn.join('')}<p class="small">${html(legend)}</p></section>`;
}

/** `most`: kWh, as high as the chart is. */
function drawing(months: Statement['months'], most: number, size: Size, words: Words): string {
  const { kind, width, height, top, bottom } = size;
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
  const points = months.map(({ year_before_adjusted_kwh: kwh }, at) =>
    kwh === null ? null : ([xOf(at), yOf(kwh)] as const),
  );
  const bars = months.map(({ energy_kwh }, at) => {
    if (energy_kwh === null) return '';
    const y = yOf(energy_kwh);
    const place = `x="${(xOf(at) - step * 0.32).toFixed(1)}" y="${y}" width="${(step * 0.64).toFixed(1)}" height="${(floor - y).toFixed(1)}"`;
    return `<rect class="${at === months.length - 1 ? 'bar newest' : 'bar'}" ${place}/>`;
  });
  const texts = months.map(({ month, energy_kwh }, at) => {
    // A year beside each month would run into the next one, in Irish at least.
    const hasYear = kind === 'narrow' || at === 0 || at === months.length - 1 || month.endsWith('-01');
    const label = text(xOf(at), floor, 'below', words.shortMonth(month, hasYear));
    if (energy_kwh === null) return label;
    // Above the line too, which would strike it through.
    const y = Math.min(yOf(energy_kwh), points[at]?.[1] ?? floor);
    return text(xOf(at), y - 5, 'above', words.number(energy_kwh, 0)) + label;
  });
  const line = points.map((point, at) => {
    if (point === null) return '';
    const [x, y] = point;
    const last = points[at - 1];
    const way = last ? `<line class="line" x1="${last[0]}" y1="${last[1]}" x2="${x}" y2="${y}"/>` : '';
    return `${way}<circle class="point" cx="${x}" cy="${y}" r="3"/>`;
  });
  return [...bars, ...line, ...texts].join('');
}
