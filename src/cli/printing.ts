// Prints records as a table, as JSON or as CSV.
import { type Cell, csv as csvOf } from '../domain/csv.ts';
import type { Io } from './command.ts';
import type { ValueOf } from './commands.ts';

export type Format = ValueOf<'usage', 'format'>;

/** The keys of the rows, by the heads of their columns. */
export type Columns<Key extends string> = Readonly<Record<string, Key>>;
type Row<Key extends string> = Readonly<Record<Key, Cell>>;

/** The default is a table on a terminal, JSON elsewhere. */
export const formatFrom = (option: Format | undefined, { isTerminal }: Io): Format =>
  option ?? (isTerminal ? 'table' : 'json');

/** Prints the records as JSON, the keys of the rows as CSV, or the lines of the table, with what stands around it. */
export function print(
  format: Format,
  given: {
    records: readonly object[];
    rows?: readonly object[];
    csv: readonly string[];
    table: () => Lines;
  },
  io: Io,
): void {
  const { records, rows = records, csv, table } = given;
  const lineOf = (row: object) => csv.map((key) => (row as Readonly<Record<string, Cell>>)[key] ?? null);
  if (format === 'json') printJson(records, io);
  else if (format === 'table') printLines(table(), io);
  else io.out(csvOf([csv, ...rows.map(lineOf)]));
}

export const printJson = (value: unknown, io: Io): void => io.out(`${JSON.stringify(value, null, 2)}\n`);

/** What is no text is left out: a condition says whether a line is told. */
export type Lines = readonly (string | false | null | undefined)[];

export const textOf = (lines: Lines, indent = ''): string =>
  lines.flatMap((line) => (typeof line === 'string' ? `${indent}${line}\n` : [])).join('');

export const printLines = (lines: Lines, { out }: Io): void => out(textOf(lines));

/** The head, and a line for each row. Numbers of a column have equally many decimals, so that they can be compared. */
export function tableLines<Key extends string, Given extends Row<Key>>(
  columns: Columns<Key>,
  rows: readonly Given[],
  more: {
    /** These have two decimals, and stand right; without it, as many as that number has which needs most. */
    readonly amounts?: readonly Key[];
    /** A last row, below a rule. */
    readonly total?: Row<Key>;
    /** Follows a row; `room` is what the columns leave of `width`. */
    readonly remark?: (row: Given, room: number) => string;
    readonly width?: number;
  } = {},
): string[] {
  const { amounts = [], total, remark = () => '', width = 0 } = more;
  const everyRow: readonly Row<Key>[] = total === undefined ? rows : [...rows, total];
  const written = Object.entries(columns).map(([head, key]) =>
    cellsOf(
      head,
      everyRow.map((row) => row[key]),
      amounts.includes(key),
    ),
  );
  const line = (at: number, end = '') => [...written.map((cells) => cells[at]), end].join('  ').trimEnd();
  const widths = written.map(([head = '']) => head.length);
  const room = width - widths.reduce((sum, widest) => sum + widest + 2, 0);
  const lines = [line(0), ...rows.map((row, at) => line(at + 1, remark(row, room)))];
  if (total === undefined) return lines;
  return [...lines, widths.map((widest) => '─'.repeat(widest)).join('  '), line(everyRow.length)];
}

/** The head and the cells of one column, equally wide. */
function cellsOf(head: string, cells: readonly Cell[], areAmounts: boolean): string[] {
  const digits = areAmounts ? 2 : Math.max(0, ...cells.map(decimalsOf));
  const texts = cells.map((cell) =>
    typeof cell === 'number' ? cell.toFixed(digits) : printable(String(cell ?? '–')),
  );
  const lines = [head, ...texts];
  const widest = Math.max(...lines.map(({ length }) => length));
  const isRight = areAmounts || cells.some((cell) => typeof cell === 'number');
  return lines.map((text) => (isRight ? text.padStart(widest) : text.padEnd(widest)));
}

/** Amounts have three at most. */
const decimalsOf = (cell: Cell): number =>
  typeof cell === 'number' ? (/\.(\d+)$/.exec(String(cell))?.[1] ?? '').length : 0;

/** Lines are broken between words, and go on below where their words begin: behind the blanks and the number of a list. */
export const wrapped = (text: string, width: number): string =>
  text.replace(/^( *(?:\d+ {2})?)(.*)$/gm, (_, start: string, words: string) => {
    const room = Math.max(1, width - start.length);
    const fitting = new RegExp(`(?!.{1,${room}}$)(.{1,${room}}) (?=\\S)`, 'g');
    return start + words.replace(fitting, `$1\n${' '.repeat(start.length)}`);
  });

/** A sentence of these words. */
export const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** Text from outside must not contain control sequences of the terminal. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, ' ');
