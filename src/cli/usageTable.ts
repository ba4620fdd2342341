// What heat2mqtt usage prints: for people a table with bars for each meter, for programs JSON or CSV.
import { knownUnits, type Micro, sumKnown } from '../domain/amount.ts';
import { type Prices, pricesInWords } from '../domain/insight/anotherTariff.ts';
import { addDays, type Day, type DaySpan, type Interval, type Piece } from '../domain/period.ts';
import type { Tariff } from '../domain/tariff/tariff.ts';
import { sumAmounts } from '../domain/totals.ts';
import type { Io } from './command.ts';
import { type Column, type Format, keyColumns, print, printJson, tableLines } from './printing.ts';
import { type Closing, closingWords } from './readingCloses.ts';

export interface UsageRow extends Piece {
  readonly energy: Micro | null;
  readonly cost: Micro | null;
  /** By the tariff of the question; `null` without one. */
  readonly costAtTariff: Micro | null;
}

export interface MeterUsage {
  readonly meter: string;
  readonly friendlyName: string | null;
  readonly closing: Pick<Closing, 'closes' | 'from'>;
  readonly rows: readonly UsageRow[];
  readonly tariff: Tariff | null;
  /** Of a period that ends today: the newest day that has been read. The days after it are not missing yet. */
  readonly readTo: Day | null;
}

interface Period {
  readonly interval: Interval;
  readonly span: DaySpan;
  readonly currency: string;
  readonly timezone: string;
  /** A tariff to compare with. */
  readonly prices: Prices | null;
}

const CSV_COLUMNS = keyColumns(
  ...(['meter', 'start', 'energy_kwh', 'cost_eur', 'currency', 'from', 'to', 'partial'] as const),
);

const CSV_AT_TARIFF = {
  head: 'cost_at_tariff',
  value: (row: { readonly cost_at_tariff?: number | null }) => row.cost_at_tariff ?? null,
};

const totalOf = (rows: readonly UsageRow[]) => ({
  ...sumAmounts(rows),
  costAtTariff: sumKnown(rows.map(({ costAtTariff }) => costAtTariff)),
});

export function printUsage(format: Format, meters: readonly MeterUsage[], period: Period, io: Io): void {
  const { currency, prices } = period;
  const atTariff = (cost: Micro | null) => prices && { cost_at_tariff: knownUnits(cost) };
  const records = meters.flatMap(({ meter, closing, rows }) =>
    rows.map(({ start, from, to, isPartial, energy, cost, costAtTariff }) => ({
      meter,
      start,
      energy_kwh: knownUnits(energy),
      cost_eur: knownUnits(cost),
      currency,
      from,
      to: addDays(to, -1),
      partial: isPartial,
      reading_closes: closing.closes,
      ...atTariff(costAtTariff),
    })),
  );
  const table = () => meters.flatMap((meter) => meterLines(meter, period, io));
  if (format === 'json' && prices) {
    const { energy, cost, costAtTariff } = totalOf(meters.flatMap(({ rows }) => rows));
    const amounts = { energy_kwh: knownUnits(energy), cost_eur: knownUnits(cost) };
    printJson({ rows: records, total: { ...amounts, currency, ...atTariff(costAtTariff) } }, io);
    return;
  }
  const csv = [...CSV_COLUMNS, ...(prices ? [CSV_AT_TARIFF] : [])];
  print<(typeof records)[number] & { readonly cost_at_tariff?: number | null }>(
    format,
    { records, csv, table },
    io,
  );
}

function meterLines(
  { meter, friendlyName, closing, rows, tariff, readTo }: MeterUsage,
  period: Period,
  io: Io,
): string[] {
  const { interval, span, currency, timezone, prices } = period;
  const called = friendlyName === null ? `Meter ${meter}` : `${friendlyName} (meter ${meter})`;
  const columns: Column<UsageRow>[] = [
    {
      head: interval === 'week' ? 'week of' : interval,
      value: ({ start, isPartial }) => `${nameOf(start, interval)}${isPartial ? ' *' : ''}`,
    },
    { head: 'kWh', value: ({ energy }) => knownUnits(energy), align: 'right', decimals: 2 },
    { head: currency, value: ({ cost }) => knownUnits(cost), align: 'right', decimals: 2 },
    ...(prices ? [AT_TARIFF] : []),
  ];
  const { energy, cost, costAtTariff } = totalOf(rows);
  const most = Math.max(0, ...rows.map((row) => row.energy ?? 0));
  return [
    `${called}, ${span.from} to ${addDays(span.to, -1)}, ${timezone}`,
    '',
    ...tableLines(columns, rows, {
      total: ['total', ...[energy, cost, ...(prices ? [costAtTariff] : [])].map(knownUnits)],
      remark: (row, room) => (isAwaited(row, readTo) ? 'no reading yet' : remarkOn(row, most, room)),
      width: io.isTerminal ? io.columns : 0,
    }),
    '',
    ...notes(rows, interval, readTo),
    `${sentence(closingWords(closing))}.`,
    tariffLine(tariff, currency),
    ...(prices
      ? [
          `At tariff: ${pricesInWords(prices, currency)}, for each day with a reading and each that a later one carries.`,
        ]
      : []),
    '',
  ];
}

const AT_TARIFF: Column<UsageRow> = {
  head: 'At tariff',
  value: ({ costAtTariff }) => knownUnits(costAtTariff),
  align: 'right',
  decimals: 2,
};

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

function nameOf(start: string, interval: Interval): string {
  if (interval === 'year') return start.slice(0, 4);
  if (interval === 'month') return start.slice(0, 7);
  if (interval === 'quarter') return `${start.slice(0, 4)}-Q${(Number(start.slice(5, 7)) + 2) / 3}`;
  return start;
}

const LONGEST_BAR = 40;
const SHORTEST_ROOM = 10;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar where there is room for one. */
function remarkOn({ energy, cost }: UsageRow, most: Micro, room: number): string {
  if (energy === null && cost === null) return 'no reading';
  if (energy === null || energy <= 0 || room < SHORTEST_ROOM) return '';
  const eighths = Math.max(1, Math.round((energy / most) * Math.min(room, LONGEST_BAR) * 8));
  return `${'█'.repeat(Math.floor(eighths / 8))}${EIGHTHS[eighths % 8]}`;
}

const isAwaited = ({ from }: UsageRow, readTo: Day | null): boolean => readTo !== null && from > readTo;

function notes(rows: readonly UsageRow[], interval: Interval, readTo: Day | null): string[] {
  const partial = rows.filter(({ isPartial }) => isPartial);
  const lines = partial.map((row) => {
    const last = addDays(row.to, -1);
    const isReadTo = readTo !== null && row.from <= readTo && readTo < last;
    return `* ${nameOf(row.start, interval)}: only ${row.from} to ${isReadTo ? readTo : last}.`;
  });
  const due = rows.filter((row) => !isAwaited(row, readTo));
  const unread = due.filter(({ energy, cost }) => energy === null && cost === null).length;
  if (unread > 0) {
    lines.push(`${unread} of ${due.length} ${interval}s without a reading: not known, which is not 0.`);
  }
  return lines;
}

function tariffLine(tariff: Tariff | null, currency: string): string {
  if (tariff === null) {
    return 'Tariff (derived): none explains these days; that takes more than a week of differing days.';
  }
  const { daysExplained, daysSeen, from, to } = tariff;
  return `Tariff (derived): ${pricesInWords(tariff, currency)}, explains ${daysExplained} of ${daysSeen} days, ${from} to ${to}.`;
}
