// Rows as CSV (RFC 4180): written for a spreadsheet, and read from one.

export type Cell = string | number | boolean | null;

/** `null` is an empty cell. */
export const csv = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((cells) => `${cells.map(written).join(',')}\r\n`).join('');

/** A spreadsheet takes a text that begins like this for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

function written(cell: Cell): string {
  if (typeof cell !== 'string') return String(cell ?? '');
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

interface CsvRow {
  /** The row begins on this line of the file; the first is 1. */
  readonly line: number;
  readonly cells: readonly string[];
  /** The row breaks the rules of quotes. */
  readonly fault: 'quote_without_end' | 'text_after_quote' | null;
}

/** A cell, quoted or not, and what ends it. */
const cellBefore = (separator: string) =>
  new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|(?!")([^${separator}\\r\\n]*))(${separator}|\\r\\n|\\n|\\r|$)`, 'y');
const CELLS = { ',': cellBefore(','), ';': cellBefore(';') };
/** The rest of a line behind a cell that is quoted and does not end there. */
const BEHIND_QUOTE = /"[^"]*(?:""[^"]*)*"[^\r\n]*(?:\r\n|\n|\r|$)/y;

/**
 * Without empty lines, and without the byte order mark that spreadsheets begin with. Cells are separated by semicolons where
 * the first line has one and no comma: so do spreadsheets in languages whose decimal sign is a comma.
 */
export function readCsv(given: string): CsvRow[] {
  const text = given.replace(/^\uFEFF/, '');
  const head = /^.*/.exec(text)?.[0] ?? '';
  const separator = head.includes(';') && !head.includes(',') ? ';' : ',';
  const rows: CsvRow[] = [];
  let at = 0;
  let line = 1;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    at += match?.[0].length ?? 0;
    return match;
  };
  while (at < text.length) {
    const start = at;
    const cells: string[] = [];
    let fault: CsvRow['fault'] = null;
    for (let end: string | undefined = separator; end === separator; ) {
      const cell = take(CELLS[separator]);
      cells.push(cell?.[1]?.replaceAll('""', '"') ?? cell?.[2] ?? '');
      end = cell?.[3];
      if (cell !== null) continue;
      fault = take(BEHIND_QUOTE) ? 'text_after_quote' : 'quote_without_end';
      if (fault === 'quote_without_end') at = text.length;
    }
    if (cells.length > 1 || cells[0] !== '' || fault !== null) rows.push({ line, cells, fault });
    line += text.slice(start, at).match(/\r\n|\n|\r/g)?.length ?? 0;
  }
  return rows;
}
