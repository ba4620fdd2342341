// The file that `accounts import` reads: a CSV of logins, with all its mistakes at once and without a word of its content.
import { type CsvRow, readCsv } from '../domain/csv.ts';
import type { Day } from '../domain/period.ts';
import { countWords } from './status.ts';

export interface AccountLogin {
  readonly id: string;
  readonly username: string;
  readonly password: string;
  /** From when on its readings are asked for; `null`: as configured for all. */
  readonly historySince: Day | null;
}

const HEADER = ['id', 'username', 'password'] as const;
const SINCE = 'history_since';
const HEADER_WORDS = `the header ${HEADER.join(',')}, with or without ${SINCE} behind it`;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const ID = /^[a-z0-9_-]{1,64}$/;
const FAULTS = {
  quote_without_end: [
    'a quote that does not end',
    'a second quote at the end of the cell; a quote within it is written twice',
  ],
  text_after_quote: [
    'text behind the quote that ends a cell',
    'a comma, a semicolon or the end of the line there',
  ],
} as const;

/** `mistakes`: each with its line, what was found and what is allowed. What was found is never quoted: it may be a password. */
export function readLogins(text: string): {
  readonly logins: readonly AccountLogin[];
  readonly mistakes: readonly string[];
} {
  const [head, ...rows] = readCsv(text);
  const mistakes: string[] = [];
  const tell = (line: number, found: string, allowed: string, cell = '') =>
    void mistakes.push(`line ${line}${cell && `, ${cell}`}: found ${found}; allowed: ${allowed}`);
  const columns = head?.cells.map((cell) => cell.trim().toLowerCase()) ?? [];
  const isKnown = [HEADER, [...HEADER, SINCE]].some((known) => known.join() === columns.join());
  if (head === undefined || !isKnown) {
    tell(head?.line ?? 1, headWords(head), HEADER_WORDS);
    return { logins: [], mistakes };
  }
  const lines = new Map<string, number>();
  const logins = rows.flatMap(({ line, cells, fault }) => {
    if (fault !== null) {
      const [found, allowed] = FAULTS[fault];
      tell(line, found, allowed);
      return [];
    }
    const [id = '', username = '', password = '', since = ''] = cells;
    if (cells.length !== columns.length) {
      tell(
        line,
        countWords(cells.length, 'cell'),
        `${columns.length}: ${columns.join(',')}; a cell with a comma or a semicolon stands in quotes`,
      );
      return [];
    }
    const first = lines.get(id);
    if (!ID.test(id))
      tell(
        line,
        `${countWords([...id].length, 'character')}${id && ', not all of them fit'}`,
        '1 to 64 of a-z, 0-9, _ and -',
        'id',
      );
    else if (first !== undefined) tell(line, `the id of line ${first} again`, 'each id once', 'id');
    else lines.set(id, line);
    if (username === '') tell(line, 'nothing', 'the user name at the provider', 'username');
    if (password === '') tell(line, 'nothing', 'the password at the provider', 'password');
    if (since !== '' && !isDay(since)) tell(line, 'something else', 'a day as YYYY-MM-DD, or nothing', SINCE);
    return [{ id, username, password, historySince: since || null }];
  });
  if (rows.length === 0) tell(head.line, 'nothing below the header', 'a line for each account');
  return { logins, mistakes };
}

const isDay = (text: string): boolean =>
  DAY.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text);

/** The first line may be one of an account, in a file without header. */
function headWords(head: CsvRow | undefined): string {
  if (head === undefined) return 'nothing';
  return `${countWords(head.cells.length, 'cell')} that are something else`;
}
