// A statement as one page to read, print and hand over, without any script, and as plain text.
import { createHash } from 'node:crypto';
import type { Day } from '../../domain/period.ts';
import type { Language } from '../language.ts';
import { chart } from './chart.ts';
import type { Statement } from './fields.ts';
import { html } from './markup.ts';
import { type Section, type Wording, wordingOf } from './wording.ts';

/** The whole style of the page: a server that forbids inline styles allows this one by its hash. */
const STYLE = `
:root{color-scheme:light}
body{margin:0 auto;padding:1rem;max-width:46rem;font:1rem/1.4 system-ui,sans-serif;color:#111;background:#fff}
h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:1.1rem 0 .3rem}
p{margin:.3rem 0}.conclusion{font-size:1.15rem;font-weight:600}.small{font-size:.8rem;color:#444}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.15rem .5rem .15rem 0;border-top:1px solid #bbb}
th{font-weight:400;width:34%}td.basis{font-size:.8rem;color:#444;width:26%}
svg{width:100%;height:auto;display:block;overflow:visible}svg.narrow{display:none}svg text{font:11px system-ui,sans-serif;fill:#111;paint-order:stroke;stroke:#fff;stroke-width:3px}
.bar{fill:#ccc;stroke:#111}.newest{fill:#999;stroke-width:2}.line{fill:none;stroke:#111;stroke-width:2;stroke-dasharray:5 3}.point{fill:#fff;stroke:#111;stroke-width:1.5}
@media screen and (max-width:30rem){svg.wide{display:none}svg.narrow{display:block}th,td,td.basis{display:block;width:auto;border-top:0;padding:0}tr{display:block;border-top:1px solid #bbb;padding:.2rem 0}th{font-size:.85rem;color:#444}}
@media print{@page{margin:11mm}body{padding:0;max-width:none;font-size:8.2pt;line-height:1.2}h1{font-size:13pt}h2{font-size:9pt;margin:.45rem 0 .1rem}p{margin:.1rem 0}.conclusion{font-size:10pt}th,td{padding:.05rem .4rem .05rem 0}th{width:30%}.small,td.basis{font-size:7pt}td.basis{width:32%}svg{height:40mm}section{break-inside:avoid}}
`;
export const STATEMENT_STYLE_HASH = `sha256-${createHash('sha256').update(STYLE).digest('base64')}`;

/** Several sheets are each on a page of their own when printed. `issuedOn`: the day on which they are written. */
export function statementPage(statements: readonly Statement[], language: Language, issuedOn: Day): string {
  const sheets = statements.map((statement, at) => {
    const wording = wordingOf(statement, language, issuedOn);
    const tag = at === 0 ? '<main>' : '<main style="break-before:page">';
    return { title: `${wording.title}: ${wording.meter}`, main: `${tag}${sheet(statement, wording)}</main>` };
  });
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${html(sheets[0]?.title ?? '')}</title><style>${STYLE}</style></head>
<body>${sheets.map(({ main }) => main).join('\n')}</body></html>
`;
}

function sheet(statement: Statement, wording: Wording): string {
  const { title, meter, account, summary, conclusion, sections, footer } = wording;
  const first = sections.filter(({ isFirst }) => isFirst);
  const others = sections.filter(({ isFirst }) => !isFirst);
  const parts = [...first.map(table), chart(statement, wording), ...others.map(table)];
  return `<header><h1>${html(title)}${summary && html(`: ${summary}`)}</h1><p>${html(meter)} · ${html(account)}</p><p class="conclusion">${html(conclusion)}</p></header>
${parts.join('\n')}
<footer><p class="small">${html(footer)}</p></footer>`;
}

export function statementText(statement: Statement, language: Language, issuedOn: Day): string {
  const wording = wordingOf(statement, language, issuedOn);
  const { title, meter, account, summary, conclusion, sections, footer } = wording;
  const lines = sections.flatMap(({ heading, rows }) => [
    '',
    heading,
    ...rows.map(({ label, value, basis }) => `  ${label}: ${value}${basis && ` [${basis}]`}`),
  ]);
  const head = [`${title}${summary && `: ${summary}`}`, `${meter} · ${account}`];
  return [...head, '', conclusion, ...lines, '', footer, ''].join('\n');
}

function table({ heading, rows }: Section): string {
  const cells = rows.map(
    ({ label, value, basis }) =>
      `<tr><th scope="row">${html(label)}</th><td>${html(value)}</td><td class="basis">${html(basis)}</td></tr>`,
  );
  return `<section><h2>${html(heading)}</h2><table>${cells.join('')}</table></section>`;
}
