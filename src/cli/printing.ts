// Rows on a terminal or for other programs: table, JSON or CSV.
import { WrongUsage } from './command.ts';
import type { Io } from './io.ts';

export type Format = 'table' | 'json' | 'csv';
export type Cell = string | number | null;

/** Without the option: a table on a terminal, JSON elsewhere. */
export function formatFrom(option: unknown, io: Io): Format {
  if (option === undefined) return io.isTerminal ? 'table' : 'json';
  if (option === 'table' || option === 'json' || option === 'csv') return option;
  throw new WrongUsage(`--format: found ${String(option).slice(0, 20)}; allowed: table, json, csv.`);
}

export function printCsv(heads: readonly string[], rows: readonly (readonly Cell[])[], io: Io): void {
  for (const row of [heads, ...rows]) io.out(`${row.map(csvCell).join(',')}\r\n`);
}

/** Numbers stand right, those of a column with equally many decimals; text left. */
export function tableLines(heads: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const decimals = heads.map((_, at) => Math.max(0, ...rows.map((row) => decimalsOf(row[at] ?? null))));
  const text = (cell: Cell, at: number) =>
    cell === null ? '–' : typeof cell === 'number' ? cell.toFixed(decimals[at]) : cell;
  const widths = heads.map((head, at) =>
    Math.max(head.length, ...rows.map((row) => text(row[at] ?? null, at).length)),
  );
  const isNumeric = heads.map((_, at) => rows.some((row) => typeof row[at] === 'number'));
  const pad = (word: string, at: number) =>
    isNumeric[at] ? word.padStart(widths[at] ?? 0) : word.padEnd(widths[at] ?? 0);
  return [heads, ...rows].map((row) =>
    row
      .map((cell, at) => pad(text(cell, at), at))
      .join('  ')
      .trimEnd(),
  );
}

/** Amounts have three at most. */
const decimalsOf = (cell: Cell): number =>
  typeof cell === 'number' ? (/\.(\d+)$/.exec(String(cell))?.[1] ?? '').length : 0;

export function printTable(heads: readonly string[], rows: readonly (readonly Cell[])[], io: Io): void {
  for (const line of tableLines(heads, rows)) io.out(`${line}\n`);
}

function csvCell(cell: Cell): string {
  const text = cell === null ? '' : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
