// Every language has every key, with the placeholders of the English text.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { languageOf } from '../../src/publication/statement/words.ts';

const FOLDER = new URL('../../src/publication/languages/', import.meta.url);
const read = (name: string): Record<string, string> =>
  JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
const placeholders = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();
const english = read('en.json');

test.each(readdirSync(FOLDER))('%s', (name) => {
  const words = read(name);
  expect(Object.keys(words)).toEqual(Object.keys(english));
  for (const [key, text] of Object.entries(words)) {
    expect([key, text.trim()]).toEqual([key, text]);
    expect([key, placeholders(text)]).toEqual([key, placeholders(english[key] ?? '')]);
  }
  expect(words.read_by_a_speaker).toMatch(/^(yes|no)$/);
});

test.each([
  ['de-AT,de;q=0.9,en;q=0.5', 'de'],
  ['fr, ga;q=0.3, en;q=0.2', 'ga'],
  ['en;q=0, de;q=0.1', 'de'],
  ['fr', 'en'],
  ['', 'en'],
])('%s: %s', (header, language) => {
  expect(languageOf(header)).toBe(language);
});
