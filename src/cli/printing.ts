// Prints records as a table, as JSON or as CSV.
import { type Cell, csv as csvOf } from '../domain/csv.ts';
import { choiceOf, type Io } from './command.ts';

const FORMATS = ['table', 'json', 'csv'] as const;
export type Format = (typeof FORMATS)[number];

export interface Column<Row> {
  readonly head: string;
  readonly value: (row: Row) => Cell;
  /** Of the numbers in a table, which stand right; without it, as many as that number has which needs most. */
  readonly decimals?: number;
}

/** Columns of keys of the rows, by their heads. */
export const columnsOf = <Key extends string>(keys: Readonly<Record<string, Key>>, decimals?: number) =>
  Object.entries(keys).map(([head, key]): Column<Readonly<Record<Key, Cell>>> => {
    return { head, value: (row) => row[key], ...(decimals === undefined ? {} : { decimals }) };
  });

/** Without the option: a table on a terminal, JSON elsewhere. Throws wrong_usage. */
export function formatFrom(option: unknown, io: Io): Format {
  if (option === undefined) return io.isTerminal ? 'table' : 'json';
  return choiceOf('--format', option, FORMATS);
}

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
  const cellsOf = (row: object) => csv.map((key) => (row as Readonly<Record<string, Cell>>)[key] ?? null);
  if (format === 'json') printJson(records, io);
  else if (format === 'table') for (const line of table()) io.out(`${line}\n`);
  else io.out(csvOf([csv, ...rows.map(cellsOf)]));
}

export const printJson = (value: unknown, io: Io): void => io.out(`${JSON.stringify(value, null, 2)}\n`);

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
  const formats = columns.map((column, at) =>
    formatOf(column, [...rows.map(column.value), total[at] ?? null]),
  );
  const line = (cells: readonly string[]) => cells.join('  ').trimEnd();
  const room = width - formats.reduce((sum, { widest }) => sum + widest + 2, 0);
  const lines = rows.map((row, at) =>
    line([...formats.map(({ cells }) => cells[at] ?? ''), remark(row, room)]),
  );
  const rule = line(formats.map(({ widest }) => '─'.repeat(widest)));
  return [
    line(formats.map(({ head }) => head)),
    ...lines,
    ...(total.length > 0 ? [rule, line(formats.map(({ cells }) => cells.at(-1) ?? ''))] : []),
  ];
}

/** How the cells of one column are written. */
function formatOf({ head, decimals }: Column<never>, cells: readonly Cell[]) {
  const digits = decimals ?? Math.max(0, ...cells.map(decimalsOf));
  const write = (cell: Cell) => {
    if (cell === null) return '–';
    return typeof cell === 'number' ? cell.toFixed(digits) : printable(String(cell));
  };
  const written = cells.map(write);
  const widest = Math.max(head.length, ...written.map((text) => text.length));
  const isRight = decimals !== undefined || cells.some((cell) => typeof cell === 'number');
  const stretch = (text: string) => (isRight ? text.padStart(widest) : text.padEnd(widest));
  return { widest, head: stretch(head), cells: written.map(stretch) };
}

/** Amounts have three at most. */
const decimalsOf = (cell: Cell): number =>
  typeof cell === 'number' ? (/\.(\d+)$/.exec(String(cell))?.[1] ?? '').length : 0;

/** Text from outside must not contain control sequences of the terminal. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, ' ');
