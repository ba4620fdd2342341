// The chart of a statement: bars of thirteen months, and the weather-adjusted year before as a dashed line, told apart without colour.

import type { Statement } from './fields.ts';
import { html } from './markup.ts';
import type { Wording } from './wording.ts';

interface Size {
  readonly kind: 'wide' | 'narrow';
  readonly width: number;
  readonly height: number;
  readonly top: number;
  readonly bottom: number;
}
/** A narrow screen has room for a text only along its bar. */
const SIZES: readonly Size[] = [
  { kind: 'wide', width: 680, height: 190, top: 8, bottom: 38 },
  { kind: 'narrow', width: 340, height: 262, top: 8, bottom: 112 },
];

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
    const shapes = [
      ...bars(months, size, most),
      ...line(adjusted, size, most),
      ...labels(months, size, write),
    ];
    const box = `viewBox="0 0 ${size.width} ${size.height}"`;
    return `<svg class="${size.kind}" ${box} role="img" aria-label="${label}">${shapes.join('')}</svg>`;
  });
  return `<section><h2>${html(say('heading.chart'))}</h2>${drawn.join('')}<p class="small">${html(legend)}</p></section>`;
}

const stepOf = ({ width }: Size, count: number): number => width / count;
const xOf = (size: Size, count: number, at: number): number =>
  Number((stepOf(size, count) * (at + 0.5)).toFixed(1));
const floorOf = ({ height, bottom }: Size): number => height - bottom;
const yOf = (size: Size, kwh: number, most: number): number =>
  Number((floorOf(size) - (Math.max(0, kwh) / most) * (floorOf(size) - size.top)).toFixed(1));

function bars(months: Statement['months'], size: Size, most: number): string[] {
  const step = stepOf(size, months.length);
  return months.map(({ energy_kwh }, at) => {
    if (energy_kwh === null) return '';
    const y = yOf(size, energy_kwh, most);
    const x = (xOf(size, months.length, at) - step * 0.32).toFixed(1);
    const place = `x="${x}" y="${y}" width="${(step * 0.64).toFixed(1)}" height="${(floorOf(size) - y).toFixed(1)}"`;
    return `<rect class="${at === months.length - 1 ? 'bar newest' : 'bar'}" ${place}/>`;
  });
}

function line(adjusted: readonly (number | null)[], size: Size, most: number): string[] {
  const points = adjusted.map((kwh, at) =>
    kwh === null ? null : ([xOf(size, adjusted.length, at), yOf(size, kwh, most)] as const),
  );
  return points.map((point, at) => {
    if (point === null) return '';
    const [x, y] = point;
    const last = points[at - 1];
    const way = last ? `<line class="line" x1="${last[0]}" y1="${last[1]}" x2="${x}" y2="${y}"/>` : '';
    return `${way}<circle class="point" cx="${x}" cy="${y}" r="3"/>`;
  });
}

/** Month and kWh below each bar, where no line goes through them. */
function labels(months: Statement['months'], size: Size, write: Wording['write']): string[] {
  return months.map(({ month, energy_kwh }, at) => {
    const isNarrow = size.kind === 'narrow';
    // A year beside each month would run into the next one, in Irish at least.
    const hasYear = isNarrow || at === 0 || at === months.length - 1 || month.endsWith('-01');
    const name = write(hasYear ? 'monthAndYear' : 'monthTick', month);
    const kwh = energy_kwh === null ? '' : write('n', energy_kwh);
    const x = xOf(size, months.length, at);
    const y = floorOf(size);
    if (!isNarrow)
      return text(`x="${x}" y="${y + 15}"`, 'middle', kwh) + text(`x="${x}" y="${y + 31}"`, 'middle', name);
    const place = `transform="translate(${x + 4} ${y + 6})rotate(-90)"`;
    return text(place, 'end', kwh === '' ? name : `${name}: ${kwh}`);
  });
}

const text = (place: string, anchor: 'middle' | 'end', said: string): string =>
  said === '' ? '' : `<text ${place} text-anchor="${anchor}">${html(said)}</text>`;
