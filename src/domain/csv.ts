// Rows as CSV (RFC 4180), for a spreadsheet.

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
