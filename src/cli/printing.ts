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

/** Numbers stand right, text left. */
export function tableLines(heads: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const text = (cell: Cell) => (cell === null ? '–' : String(cell));
  const widths = heads.map((head, at) =>
    Math.max(head.length, ...rows.map((row) => text(row[at] ?? null).length)),
  );
  const isNumeric = heads.map((_, at) => rows.some((row) => typeof row[at] === 'number'));
  const pad = (word: string, at: number) =>
    isNumeric[at] ? word.padStart(widths[at] ?? 0) : word.padEnd(widths[at] ?? 0);
  return [heads, ...rows].map((row) =>
    row
      .map((cell, at) => pad(text(cell), at))
      .join('  ')
      .trimEnd(),
  );
}

export function printTable(heads: readonly string[], rows: readonly (readonly Cell[])[], io: Io): void {
  for (const line of tableLines(heads, rows)) io.out(`${line}\n`);
}

function csvCell(cell: Cell): string {
  const text = cell === null ? '' : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
