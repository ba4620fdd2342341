// The file that `accounts import` reads: a CSV of logins, with all its mistakes at once and without a word of its content.
import { readCsv } from '../domain/csv.ts';
import { isDay } from '../domain/period.ts';
import { type AccountLogin, countWords } from './roster.ts';

const HEADER = 'id,username,password';
const SINCE = 'history_since';
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
export function readLogins(text: string) {
  const [head, ...rows] = readCsv(text);
  const logins: AccountLogin[] = [];
  const mistakes: string[] = [];
  const tell = (line: number, found: string, allowed: string, cell = ''): void => {
    mistakes.push(`line ${line}${cell && `, ${cell}`}: found ${found}; allowed: ${allowed}`);
  };
  const columns = head?.cells.map((cell) => cell.trim().toLowerCase()).join() ?? '';
  if (head === undefined || ![HEADER, `${HEADER},${SINCE}`].includes(columns)) {
    // The first line may be one of an account, in a file without header.
    const firstLine = head ? `${countWords(head.cells.length, 'cell')} that are something else` : 'nothing';
    tell(head?.line ?? 1, firstLine, `the header ${HEADER}, with or without ${SINCE} behind it`);
    return { logins, mistakes };
  }
  const width = head.cells.length;
  const widthWords = `${width}: ${columns}; a cell with a comma or a semicolon stands in quotes`;
  const lines = new Map<string, number>();
  for (const { line, cells, fault } of rows) {
    const [id = '', username = '', password = '', since = ''] = cells;
    const first = lines.get(id);
    const length = `${countWords([...id].length, 'character')}${id && ', not all of them fit'}`;
    if (fault !== null) tell(line, FAULTS[fault][0], FAULTS[fault][1]);
    else if (cells.length !== width) tell(line, countWords(cells.length, 'cell'), widthWords);
    else {
      if (!ID.test(id)) tell(line, length, '1 to 64 of a-z, 0-9, _ and -', 'id');
      else if (first !== undefined) tell(line, `the id of line ${first} again`, 'each id once', 'id');
      else lines.set(id, line);
      if (username === '') tell(line, 'nothing', 'the user name at the provider', 'username');
      if (password === '') tell(line, 'nothing', 'the password at the provider', 'password');
      if (since !== '' && !isDay(since))
        tell(line, 'something else', 'a day as YYYY-MM-DD, or nothing', SINCE);
      logins.push({ id, username, password, historySince: since || null });
    }
  }
  if (rows.length === 0) tell(head.line, 'nothing below the header', 'a line for each account');
  return { logins, mistakes };
}
