// The chart of a statement: bars of thirteen months, and the weather-adjusted year before as a dashed line, told apart without colour.

import type { Statement } from './fields.ts';
import { html } from './markup.ts';
import type { Wording } from './wording.ts';

/** A narrow screen has room for a text only along its bar. */
const SIZES = [
  { kind: 'wide', width: 680, height: 190, bottom: 38 },
  { kind: 'narrow', width: 340, height: 262, bottom: 112 },
] as const;
const TOP = 8;

export function chart({ months }: Statement, { say, write }: Wording): string {
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
  const drawn = SIZES.map((size) => {
    const plan = planOf(size, months.length, most);
    const shapes = [...bars(months, plan), ...line(adjusted, plan), ...labels(months, plan, write)];
    const box = `viewBox="0 0 ${size.width} ${size.height}"`;
    return `<svg class="${size.kind}" ${box} role="img" aria-label="${label}">${shapes.join('')}</svg>`;
  });
  return `<section><h2>${html(say('heading.chart'))}</h2>${drawn.join('')}<p class="small">${html(legend)}</p></section>`;
}

type Plan = ReturnType<typeof planOf>;

/** The places of the months, whose bars stand on the floor. */
function planOf({ kind, width, height, bottom }: (typeof SIZES)[number], count: number, most: number) {
  const step = width / count;
  const floor = height - bottom;
  return {
    isNarrow: kind === 'narrow',
    step,
    floor,
    xOf: (at: number) => Number((step * (at + 0.5)).toFixed(1)),
    yOf: (kwh: number) => Number((floor - (Math.max(0, kwh) / most) * (floor - TOP)).toFixed(1)),
  };
}

function bars(months: Statement['months'], { step, floor, xOf, yOf }: Plan): string[] {
  return months.map(({ energy_kwh }, at) => {
    if (energy_kwh === null) return '';
    const y = yOf(energy_kwh);
    const x = (xOf(at) - step * 0.32).toFixed(1);
    const place = `x="${x}" y="${y}" width="${(step * 0.64).toFixed(1)}" height="${(floor - y).toFixed(1)}"`;
    return `<rect class="${at === months.length - 1 ? 'bar newest' : 'bar'}" ${place}/>`;
  });
}

function line(adjusted: readonly (number | null)[], { xOf, yOf }: Plan): string[] {
  return adjusted.map((kwh, at) => {
    if (kwh === null) return '';
    const [x, y] = [xOf(at), yOf(kwh)];
    const last = adjusted[at - 1] ?? null;
    const from = last !== null && `x1="${xOf(at - 1)}" y1="${yOf(last)}"`;
    const way = from ? `<line class="line" ${from} x2="${x}" y2="${y}"/>` : '';
    return `${way}<circle class="point" cx="${x}" cy="${y}" r="3"/>`;
  });
}

/** Month and kWh below each bar, where no line goes through them. */
function labels(
  months: Statement['months'],
  { isNarrow, floor, xOf }: Plan,
  write: Wording['write'],
): string[] {
  return months.map(({ month, energy_kwh }, at) => {
    // A year beside each month would run into the next one, in Irish at least.
    const hasYear = isNarrow || at === 0 || at === months.length - 1 || month.endsWith('-01');
    const name = write(hasYear ? 'monthAndYear' : 'monthTick', month);
    const kwh = energy_kwh === null ? '' : write('n', energy_kwh);
    const x = xOf(at);
    if (!isNarrow)
      return (
        text(`x="${x}" y="${floor + 15}"`, 'middle', kwh) + text(`x="${x}" y="${floor + 31}"`, 'middle', name)
      );
    const place = `transform="translate(${x + 4} ${floor + 6})rotate(-90)"`;
    return text(place, 'end', kwh === '' ? name : `${name}: ${kwh}`);
  });
}

const text = (place: string, anchor: 'middle' | 'end', said: string): string =>
  said === '' ? '' : `<text ${place} text-anchor="${anchor}">${html(said)}</text>`;
