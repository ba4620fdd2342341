// Words of the page for amounts, days and times: in the reader's locale, and a dash for what is not known.
import { beforeEach, expect, test } from 'vitest';
import { addDays, daysBetween } from '../../../src/domain/period.ts';
import { WORDS } from '../../../src/publication/language.ts';
import * as words from '../../../src/web/page/words.ts';

const english = WORDS.en.page;
beforeEach(() => words.useWords({ language: 'en', locale: 'en-IE', words: english }, ['fr', 'en-US']));

const NOW = Date.parse('2026-11-22T12:00:00Z');

test('what is not known is a dash, and 0 is 0', () => {
  for (const unknown of [null, undefined]) {
    expect(words.kWh(unknown)).toBe('–');
    expect(words.money(unknown, 'EUR')).toBe('–');
    expect(words.dayWords(unknown, 'long')).toBe('–');
    expect(words.timeWords(unknown, NOW)).toBe('–');
    expect(words.ago(unknown, NOW)).toBe('–');
  }
  for (const unreadable of [undefined, '[secret]-11-22T12:00:00Z'])
    expect(words.clockWords(unreadable)).toBe('–');
  expect(words.kWh(0)).toBe('0.0\u00a0kWh');
  expect(words.money(0, 'EUR')).toBe('€0.00');
});

test('amounts have as many digits as one looks at', () => {
  expect([9.96, 99.9, 358.235, 12_333.9].map(words.energy)).toEqual(['10.0', '99.9', '358', '12,334']);
  expect(words.money(0.124, 'EUR', 3)).toBe('€0.124');
  // The provider says what it likes.
  expect(words.money(3, '<b>')).toBe('3.00 <b>');
});

test('a sentence with amounts and days; unknown where one of its values is', () => {
  const state = { cost_month_forecast: 76, cost_month_last_year: null, currency: 'EUR' };
  expect(words.tell('meter.forecast', state)).toBe('about €76.00 by its end');
  expect(words.tell('meter.lastYear', state)).toBeNull();
  expect(words.say('meter.lastYear', state)).toBe('last year –');
  expect([0, 1, 12_000].map((count) => words.sayCount('requests', count))).toEqual([
    '0 requests',
    '1 request',
    '12,000 requests',
  ]);
});

test('each sentence names formats that there are, and each plural has its other form', () => {
  for (const [key, sentence] of Object.entries(english)) {
    for (const [, format] of sentence.matchAll(/\{\w+:(\w+)\}/g))
      expect(Object.keys(words.FORMATS), key).toContain(format);
    expect(sentence.replace(/\{\w+(:\w+)?\}/g, ''), key).not.toMatch(/[{}]/);
    if (key.endsWith('.one')) expect(english).toHaveProperty([key.replace(/one$/, 'other')]);
  }
});

test.each([
  ['146.20 EUR billed; the days add up to 128.81.', '€146.20 billed; the days add up to 128.81.'],
  ['it is 0.124 EUR/kWh, and 0.686 EUR/day', 'it is €0.124/kWh, and €0.686/day'],
  ['3 IRU', 'IRU 3.00'],
  ['of 12 kWh in 2026', 'of 12 kWh in 2026'],
])('money in a sentence of the bridge: %s', (sentence, expected) => {
  expect(words.withMoney(sentence).replace(/\u00a0/g, ' ')).toBe(expected);
});

test('another language: its plurals, days and amounts, by its own locale unless the reader has one of it', () => {
  for (const [preferred, amount] of [
    [['en-US', 'fr'], '1.234,50\u00a0€'],
    [['de-AT'], '€\u00a01.234,50'],
  ] as const) {
    words.useWords({ language: 'de', locale: 'de-DE', words: WORDS.de.page }, preferred);
    expect(words.money(1234.5, 'EUR')).toBe(amount);
  }
  expect(words.sayCount('requests', 1)).toBe('1 Anfrage');
  expect(words.dayWords('2026-11-21', 'long')).toBe('Samstag, 21. November');
  expect(words.dayAgo('2026-11-21', '2026-11-22')).toBe('gestern');
});

test('a day is a date, whatever the time zone of the reader', () => {
  expect(words.dayWords('2026-11-21', 'long')).toBe('Saturday, November 21');
  expect(words.dayIn('Europe/Dublin', Date.parse('2026-03-29T23:30:00Z'))).toBe('2026-03-30');
  expect(words.dayIn('Europe/Dublin', Date.parse('2026-01-29T23:30:00Z'))).toBe('2026-01-29');
  expect(addDays('2026-03-28', 2)).toBe('2026-03-30');
  expect(daysBetween('2026-10-24', '2026-10-26')).toBe(2);
});

test('how long ago, and how soon', () => {
  const at = (seconds: number) => words.ago(NOW + seconds * 1000, NOW);
  expect([-5, -90, -7_200, -90_000, -200_000].map(at)).toEqual([
    'just now',
    '1 minute ago',
    '2 hours ago',
    '25 hours ago',
    '2 days ago',
  ]);
  expect([40, 300].map(at)).toEqual(['in 40 s', 'in 5 minutes']);
  expect(words.dayAgo('2026-11-21', '2026-11-22')).toBe('yesterday');
});
