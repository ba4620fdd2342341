// The file of `accounts import`: all its mistakes at once, and nothing of it in any of them.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readLogins } from '../../src/fleet/loginFile.ts';

const login = fc.record({
  username: fc.string({ minLength: 1 }),
  password: fc.string({ minLength: 1 }),
});
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

test('reads logins as they were written when commas or semicolons separate them', () => {
  fc.assert(
    fc.property(fc.array(login, { minLength: 1 }), fc.constantFrom(',', ';'), (given, separator) => {
      const logins = given.map((one, n) => ({
        id: `flat_${n}`,
        ...one,
        historySince: n % 2 ? '2025-09-01' : null,
      }));
      const lines = logins.map(({ id, username, password, historySince }) =>
        [id, username, password, historySince ?? ''].map(quoted).join(separator),
      );
      const head = ['id', 'username', 'password', 'history_since'].join(separator);
      const text = `\uFEFF${[head, ...lines].join('\r\n')}`;
      expect(readLogins(text)).toEqual({ logins, mistakes: [] });
    }),
  );
});

test('names line, what was found and what is allowed when there are mistakes', () => {
  const lines = [
    'id,username,password',
    'Flat 3,me@example.org,invented words',
    'flat-4,,',
    'flat-5,you@example.org',
    'flat-4,us@example.org,other words',
    ',me@example.org,"invented, words"',
    'flat-6,me@example.org,"invented" words',
  ];
  const { mistakes } = readLogins(lines.join('\n'));
  const allowedIds = 'allowed: 1 to 64 of a-z, 0-9, _ and -';
  expect(mistakes).toEqual([
    `line 2, id: found 6 characters, not all of them fit; ${allowedIds}`,
    'line 3, username: found nothing; allowed: the user name at the provider',
    'line 3, password: found nothing; allowed: the password at the provider',
    'line 4: found 2 cells; allowed: 3: id,username,password; a cell with a comma or a semicolon stands in quotes',
    'line 5, id: found the id of line 3 again; allowed: each id once',
    `line 6, id: found 0 characters; ${allowedIds}`,
    'line 7: found text behind the quote that ends a cell; allowed: a comma, a semicolon or the end of the line there',
  ]);
});

const HEAD = 'id,username,password';
const NO_HEAD = `allowed: the header ${HEAD}, with or without history_since behind it`;
test.each([
  ['', `line 1: found nothing; ${NO_HEAD}`],
  ['home,me@example.org,invented words\n', `line 1: found 3 cells that are something else; ${NO_HEAD}`],
  [`${HEAD}\n`, 'line 1: found nothing below the header; allowed: a line for each account'],
])('reads no further when the file is "%s"', (text, mistake) => {
  expect(readLogins(text)).toEqual({ logins: [], mistakes: [mistake] });
});

test('refuses a day when the calendar has none such', () => {
  const { mistakes } = readLogins('id;username;password;history_since\nhome;me;words;2025-02-30\n');
  expect(mistakes).toEqual([
    'line 2, history_since: found something else; allowed: a day as YYYY-MM-DD, or nothing',
  ]);
});

test('quotes nothing of the file when it names mistakes', () => {
  const part = fc.string({ unit: 'grapheme-ascii', minLength: 6 }).map((text) => `§${text}`);
  fc.assert(
    fc.property(part, part, part, (one, two, three) => {
      for (const text of [`${one},${two},${three}`, `id,username,password\n${one},${two},${three}\n${two}`])
        expect(readLogins(text).mistakes.join()).not.toContain('§');
    }),
  );
});
