// Every language has every key, with the placeholders of the English text.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { homeLanguage, visitorsLanguage } from '../../src/publication/language.ts';

const FOLDER = new URL('../../src/publication/languages/', import.meta.url);
type Words = Readonly<Record<string, string>>;
type File = Readonly<Record<string, string | Readonly<Record<string, string | readonly string[]>>>>;
const read = (name: string): File => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
/** With their formats: `{name:format}`. */
const placeholders = (text: string) => (text.match(/\{[^}]*\}/g) ?? []).sort();
const flat = (file: File): Words =>
  Object.fromEntries(
    Object.entries(file).flatMap(([section, words]) =>
      typeof words === 'string'
        ? [[section, words]]
        : Object.entries(words).flatMap(([key, text]) =>
            [text].flat().map((one, at) => [`${section}: ${key}${Array.isArray(text) ? ` ${at}` : ''}`, one]),
          ),
    ),
  );
const english = flat(read('en.json'));

test.each(readdirSync(FOLDER))('%s', (name) => {
  const words = flat(read(name));
  expect(Object.keys(words)).toEqual(Object.keys(english));
  for (const [key, text] of Object.entries(words)) {
    expect([key, text.trim()]).toEqual([key, text]);
    expect(text).not.toBe('');
    expect([key, placeholders(text)]).toEqual([key, placeholders(english[key] ?? '')]);
  }
  expect(words.read_by_a_speaker).toMatch(/^(yes|no)$/);
});

test.each([
  ['de-AT,de;q=0.9,en;q=0.5', 'de'],
  ['fr, ga;q=0.3, en;q=0.2', 'ga'],
  ['en;q=0, de;q=0.1', 'de'],
  ['en;q=0.2, de;q=0.9', 'de'],
  ['de;q=0', 'en'],
  ['fr', 'en'],
  ['', 'en'],
])('%s: %s', (header, language) => {
  expect(visitorsLanguage('auto', header)).toBe(language);
});

test("a language that is configured is everybody's; otherwise each visitor has their own", () => {
  expect([visitorsLanguage('ga', 'de'), homeLanguage('ga')]).toEqual(['ga', 'ga']);
  expect([visitorsLanguage('auto', 'de'), homeLanguage('auto')]).toEqual(['de', 'en']);
});
