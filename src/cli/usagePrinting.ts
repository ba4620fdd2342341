// How heat2mqtt usage prints: a table with bars for people, JSON or CSV for programs.
import { inFull, type Micro, sumKnown, toUnits } from '../domain/amount.ts';
import type { Interval, Piece } from '../domain/interval.ts';
import { addDays } from '../domain/period.ts';
import type { Tariff } from '../domain/tariff/tariff.ts';
import type { Io } from './io.ts';
import { type Cell, printCsv } from './printing.ts';
import type { Period } from './usagePeriod.ts';

export interface UsageRow extends Piece {
  readonly energy: Micro | null;
  readonly cost: Micro | null;
}

export interface MeterUsage {
  readonly meter: string;
  readonly rows: readonly UsageRow[];
  readonly tariff: Tariff | null;
}

export interface Words {
  readonly period: Period;
  readonly currency: string;
  readonly timezone: string;
}

/** One record for each row: the interval's first day, and the days of it that were asked for. */
export function printRecords(
  format: 'json' | 'csv',
  meters: readonly MeterUsage[],
  { currency }: Words,
  io: Io,
): void {
  const records = meters.flatMap(({ meter, rows }) =>
    rows.map(({ start, from, to, isPartial, energy, cost }) => ({
      meter,
      start,
      energy_kwh: energy === null ? null : toUnits(energy),
      cost_eur: cost === null ? null : toUnits(cost),
      currency,
      from,
      to: addDays(to, -1),
      partial: isPartial,
    })),
  );
  if (format === 'json') io.out(`${JSON.stringify(records, null, 2)}\n`);
  else {
    const heads = ['meter', 'start', 'energy_kwh', 'cost_eur', 'currency', 'from', 'to', 'partial'] as const;
    const cells = records.map((record) => heads.map((head): Cell => cellOf(record[head])));
    printCsv(heads, cells, io);
  }
}

const cellOf = (value: Cell | boolean): Cell => (typeof value === 'boolean' ? String(value) : value);

export function printTable({ meter, rows, tariff }: MeterUsage, words: Words, io: Io): void {
  const { period, currency, timezone } = words;
  const last = addDays(period.span.to, -1);
  io.out(`Meter ${meter}, ${period.span.from} to ${last}, ${timezone}\n\n`);
  const energy = sumKnown(rows.map((row) => row.energy));
  const cost = sumKnown(rows.map((row) => row.cost));
  const lines = [
    [period.interval === 'week' ? 'week of' : period.interval, 'kWh', currency],
    ...rows.map((row) => [label(row, period.interval), amount(row.energy), amount(row.cost)]),
    ['total', amount(energy), amount(cost)],
  ];
  const widths = [0, 1, 2].map((at) => Math.max(...lines.map((cells) => cells[at]?.length ?? 0)));
  const room = io.columns - widths.reduce((sum, width) => sum + width + 2, 0);
  const most = Math.max(0, ...rows.map((row) => row.energy ?? 0));
  for (const [at, cells] of lines.entries()) {
    const row = rows[at - 1];
    const remark = row ? remarkOn(row, most, io.isTerminal ? room : 0) : '';
    if (at === lines.length - 1) io.out(`${widths.map((width) => '─'.repeat(width)).join('  ')}\n`);
    const padded = cells.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    io.out(`${[...padded, remark].join('  ').trimEnd()}\n`);
  }
  io.out(`\n${notes(rows, period.interval).join('')}${tariffLine(tariff, currency)}\n\n`);
}

const amount = (micro: Micro | null): string => (micro === null ? '–' : toUnits(micro).toFixed(2));

function label({ start, isPartial }: UsageRow, interval: Interval): string {
  return `${name(start, interval)}${isPartial ? ' *' : ''}`;
}

function name(start: string, interval: Interval): string {
  if (interval === 'year') return start.slice(0, 4);
  if (interval === 'month') return start.slice(0, 7);
  if (interval === 'quarter') return `${start.slice(0, 4)}-Q${(Number(start.slice(5, 7)) + 2) / 3}`;
  return start;
}

const LONGEST_BAR = 40;
const SHORTEST_ROOM = 10;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

function remarkOn({ energy, cost }: UsageRow, most: Micro, room: number): string {
  if (energy === null && cost === null) return 'no reading';
  if (energy === null || energy <= 0 || room < SHORTEST_ROOM) return '';
  const eighths = Math.max(1, Math.round((energy / most) * Math.min(room, LONGEST_BAR) * 8));
  return `${'█'.repeat(Math.floor(eighths / 8))}${EIGHTHS[eighths % 8]}`;
}

function notes(rows: readonly UsageRow[], interval: Interval): string[] {
  const partial = rows.filter(({ isPartial }) => isPartial);
  const unread = rows.filter(({ energy, cost }) => energy === null && cost === null).length;
  return [
    ...partial.map(
      ({ start, from, to }) => `* ${name(start, interval)}: only ${from} to ${addDays(to, -1)}.\n`,
    ),
    ...(unread > 0
      ? [`${unread} of ${rows.length} ${interval}s without a reading: not known, which is not 0.\n`]
      : []),
  ];
}

function tariffLine(tariff: Tariff | null, currency: string): string {
  if (tariff === null) {
    return 'Tariff (derived): none explains these days; that takes more than a week of differing days.';
  }
  const { unitRate, standingCharge, daysExplained, daysSeen, from, to } = tariff;
  const prices = `${unitRate} ${currency}/kWh + ${inFull(standingCharge)} ${currency}/day`;
  return `Tariff (derived): ${prices}, explains ${daysExplained} of ${daysSeen} days, ${from} to ${to}.`;
}
