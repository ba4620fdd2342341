// Prints records as a table, as JSON or as CSV.
import { type Cell, csv as csvOf } from '../domain/csv.ts';
import type { Io } from './command.ts';
import type { ValueOf } from './commands.ts';

export type Format = ValueOf<'usage', 'format'>;

export interface Column<Row> {
  readonly head: string;
  readonly value: (row: Row) => Cell;
  /** Decimals of the numbers in a table, which stand right; without it, as many as that number has which needs most. */
  readonly decimals?: number;
}

/** Columns of keys of the rows, by their heads. */
export const columnsOf = <Key extends string>(keys: Readonly<Record<string, Key>>, decimals?: number) =>
  Object.entries(keys).map(([head, key]): Column<Readonly<Record<Key, Cell>>> => {
    return { head, value: (row) => row[key], ...(decimals === undefined ? {} : { decimals }) };
  });

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
    table: () => string[];
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

export const printLines = (lines: readonly string[], { out }: Io): void =>
  out(lines.map((line) => `${line}\n`).join(''));

/** The head, and a line for each row. Numbers of a column have equally many decimals, so that they can be compared. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  more: {
    /** Cells for a last line, below a rule. */
    readonly total?: readonly Cell[];
    /** Follows a row; `room` is what the columns leave of `width`. */
    readonly remark?: (row: Row, room: number) => string;
    readonly width?: number;
  } = {},
): string[] {
  const { total = [], remark = () => '', width = 0 } = more;
  const written = columns.map((column, at) =>
    cellsOf(column, [...rows.map(column.value), ...total.slice(at, at + 1)]),
  );
  const line = (at: number, end = '') => [...written.map((cells) => cells.at(at)), end].join('  ').trimEnd();
  const widths = written.map(([head = '']) => head.length);
  const room = width - widths.reduce((sum, widest) => sum + widest + 2, 0);
  const rule = widths.map((widest) => '─'.repeat(widest)).join('  ');
  return [
    line(0),
    ...rows.map((row, at) => line(at + 1, remark(row, room))),
    ...(total.length > 0 ? [rule, line(-1)] : []),
  ];
}

/** The head and the cells of one column, equally wide. */
function cellsOf({ head, decimals }: Column<never>, cells: readonly Cell[]): string[] {
  const digits = decimals ?? Math.max(0, ...cells.map(decimalsOf));
  const texts = cells.map((cell) =>
    typeof cell === 'number' ? cell.toFixed(digits) : printable(String(cell ?? '–')),
  );
  const lines = [head, ...texts];
  const widest = Math.max(...lines.map(({ length }) => length));
  const isRight = decimals !== undefined || cells.some((cell) => typeof cell === 'number');
  return lines.map((text) => (isRight ? text.padStart(widest) : text.padEnd(widest)));
}

/** Amounts have three at most. */
const decimalsOf = (cell: Cell): number =>
  typeof cell === 'number' ? (/\.(\d+)$/.exec(String(cell))?.[1] ?? '').length : 0;

/** Text from outside must not contain control sequences of the terminal. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, ' ');
