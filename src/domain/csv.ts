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

export interface CsvRow {
  /** On which it begins, from 1 on. */
  readonly line: number;
  readonly cells: readonly string[];
  /** The row breaks the rules of quotes. */
  readonly fault: 'quote_without_end' | 'text_after_quote' | null;
}

const QUOTED = /"([^"]*(?:""[^"]*)*)"/y;
/** Patterns for each separator of cells. */
const CELLS = {
  ',': { plain: /[^,\r\n]*/y, end: /,|\r\n|\n|\r|$/y },
  ';': { plain: /[^;\r\n]*/y, end: /;|\r\n|\n|\r|$/y },
};
const REST = /[^\r\n]*/y;
const LINE_END = /\r\n|\n|\r/g;

/**
 * Without empty lines, and without the byte order mark that spreadsheets begin with. Cells are separated by semicolons where
 * the first line has one and no comma: so do spreadsheets in languages whose decimal sign is a comma.
 */
export function readCsv(given: string): CsvRow[] {
  const text = given.replace(/^\uFEFF/, '');
  const head = text.slice(0, text.search(/[\r\n]|$/));
  const separator = head.includes(';') && !head.includes(',') ? ';' : ',';
  const { plain, end: cellEnd } = CELLS[separator];
  const rows: CsvRow[] = [];
  let at = 0;
  let line = 1;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    at += found?.[0].length ?? 0;
    return found;
  };
  while (at < text.length) {
    const start = at;
    const cells: string[] = [];
    let fault: CsvRow['fault'] = null;
    let isOpen = true;
    while (isOpen) {
      const quoted = take(QUOTED);
      if (quoted === null && text[at] === '"') {
        fault = 'quote_without_end';
        at = text.length;
      }
      const cell = quoted?.[1]?.replaceAll('""', '"') ?? take(plain)?.[0] ?? '';
      let end = take(cellEnd);
      if (end === null) {
        fault ??= 'text_after_quote';
        take(REST);
        end = take(cellEnd);
      }
      cells.push(cell);
      isOpen = end?.[0] === separator;
    }
    if (cells.length > 1 || cells[0] !== '' || fault !== null) rows.push({ line, cells, fault });
    line += text.slice(start, at).match(LINE_END)?.length ?? 0;
  }
  return rows;
}
