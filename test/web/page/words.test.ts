// Words of the page for amounts, days and times: in the reader's locale, and a dash for what is not known.
import { beforeEach, expect, test } from 'vitest';
import { type Language, WORDS } from '../../../src/publication/language.ts';
import {
  dayAgo,
  type Format,
  say,
  sayCount,
  tell,
  useWords,
  withMoney,
  write,
} from '../../../src/web/page/words.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const use = (language: Language, ...preferred: string[]) =>
  useWords(
    { language, locale: `${language}-DE`, words: WORDS[language].page, dates: WORDS[language].dates },
    preferred,
    () => NOW,
  );
beforeEach(() => use('en', 'fr', 'en-US'));

test('writes a dash when a value is not known, and 0 when it is 0', () => {
  expect([write('money', null), write('ago', undefined)]).toEqual(['–', '–']);
  expect(write('clock', '[secret]-11-22T12:00:00Z')).toBe('–');
});

test.each<[Format, unknown, string, string?]>([
  ['kWh', 0, '0.0 kWh'],
  ['money', 0, '€0.00'],
  // As many digits as one looks at.
  ['energy', 9.96, '10.0'],
  ['energy', 99.9, '99.9'],
  ['energy', 358.235, '358'],
  ['energy', 12_333.9, '12,334'],
  ['price', 0.124, '€0.124'],
  // The provider says what it likes.
  ['money', 3, '3.00 <b>', '<b>'],
  // A day is a date, whatever the time zone of the reader.
  ['long', '2026-11-21', 'Saturday, November 21'],
  ['month', '2026-11', 'November 2026'],
  ['month', '2026-11-21', 'November 2026'],
  ['ago', NOW - 5_000, 'just now'],
  ['ago', NOW - 60_000, '1 minute ago'],
  ['ago', NOW - 90_000, '1 minute ago'],
  ['ago', NOW - 3_600_000, '1 hour ago'],
  ['ago', NOW - 7_200_000, '2 hours ago'],
  ['ago', NOW - 90_000_000, '25 hours ago'],
  ['ago', NOW - 200_000_000, '2 days ago'],
  ['ago', NOW + 40_000, 'in 40 s'],
  ['ago', NOW + 300_000, 'in 5 minutes'],
])('writes, when the format is %s and the value %s, %s', (format, value, expected, currency = 'EUR') => {
  expect(write(format, value, currency).replace(/\u00a0/g, ' ')).toBe(expected);
});

test('fills amounts and days into a sentence, and gives none when one of its values is not known', () => {
  const state = { cost_month_forecast: 76, cost_month_last_year: null, currency: 'EUR' };
  expect(tell('meter.forecast', state)).toBe('about €76.00 by its end');
  expect(tell('meter.lastYear', state)).toBeNull();
  expect(say('meter.lastYear', state)).toBe('last year –');
  expect([0, 1, 12_000].map((count) => sayCount('requests', count))).toEqual([
    '0 requests',
    '1 request',
    '12,000 requests',
  ]);
  expect(dayAgo('2026-11-21', '2026-11-22')).toBe('yesterday');
});

test('names only formats that there are, and has an other form, when a sentence has values or a plural', () => {
  for (const [key, sentence] of Object.entries({ ...WORDS.en.page, ...WORDS.en.statement })) {
    for (const [, format] of sentence.matchAll(/\{\w+:(\w+)\}/g))
      expect(() => write(format as Format, '2026-11-22'), key).not.toThrow();
    expect(sentence.replace(/\{\w+(:\w+)?\}/g, ''), key).not.toMatch(/[{}]/);
    if (key.endsWith('.one') && key in WORDS.en.page)
      expect(WORDS.en.page).toHaveProperty([key.replace(/one$/, 'other')]);
  }
});

test.each([
  ['146.20 EUR billed; the days add up to 128.81 EUR.', '€146.20 billed; the days add up to €128.81.'],
  ['3 IRU', 'IRU 3.00'],
  ['a credit of -5.20 EUR', 'a credit of -€5.20'],
  ['of 12 kWh in 2026', 'of 12 kWh in 2026'],
])('writes money as elsewhere when a sentence of the bridge is %s', (sentence, expected) => {
  expect(withMoney(sentence).replace(/\u00a0/g, ' ')).toBe(expected);
});

test("writes plurals, days and amounts by the reader's locale when it is of the language, else by its own", () => {
  use('de', 'en-US', 'fr');
  expect(write('money', 1234.5)).toBe('1.234,50\u00a0€');
  use('de', 'de-AT');
  expect(write('money', 1234.5)).toBe('€\u00a01.234,50');
  expect(sayCount('requests', 1)).toBe('1 Anfrage');
  expect(write('long', '2026-11-21')).toBe('Samstag, 21. November');
  expect(dayAgo('2026-11-21', '2026-11-22')).toBe('gestern');
});

test('writes months, weekdays and times ago in Irish when the browser does not know Irish', () => {
  const { page: words, dates } = WORDS.ga;
  // No machine knows this locale, as Chromium does not know ga-IE.
  useWords({ language: 'ga', locale: 'xx-IE', words, dates }, [], () => NOW);
  const written = ['long', 'short', 'monthTick', 'monthAndYear'].map((format) =>
    write(format as Format, '2026-11-21'),
  );
  expect(written.join('; ')).toMatch(/^Dé Sathairn,? 21 Samhain; Sath,? 21 Samh; Samh; Samh 26$/);
  expect(write('ago', NOW - 19 * 3_600_000)).toBe('19 uair an chloig ó shin');
  expect([dayAgo('2026-11-21', '2026-11-22'), dayAgo('2026-11-22', '2026-11-22')]).toEqual(['inné', 'inniu']);
  expect(write('time', NOW - 86_400_000)).toMatch(/^21 Samh, \d\d:\d\d/);
});
