// The first minutes of a bridge: what the page says is under way.
import { expect, test } from 'vitest';
import { type Language, WORDS } from '../../../src/publication/language.ts';
import { beginningOf } from '../../../src/web/page/beginning.ts';
import { say, useWords } from '../../../src/web/page/words.ts';

const session = (state: 'ok' | 'refreshing', access_expires_at: string | null) => ({
  home: { state, next_attempt_at: null, access_expires_at, refresh_expires_at: null },
});
const IN = session('ok', '2026-11-22T12:05:00Z');
const FRESH = {
  state: 'ok' as const,
  reasons: [],
  auth: session('refreshing', null),
  progress: [],
  last_success_at: null,
};
const progress = [
  { account: 'home', meter: '70418235', days_read: 200, days_total: 690 },
  { account: 'home', meter: '70418236', days_read: 0, days_total: 690 },
];

test('tells signing in, looking and reading, with how far it is, when no poll has ended', () => {
  const stepOf = (more: object) => beginningOf({ ...FRESH, ...more })?.step ?? null;
  expect(stepOf({})).toBe('signingIn');
  expect(stepOf({ auth: session('ok', null) })).toBe('signingIn');
  expect(stepOf({ auth: IN })).toBe('looking');
  expect(beginningOf({ ...FRESH, auth: IN, progress })).toEqual({ step: 'reading', done: 200, all: 1380 });
});

test('tells no beginning when a poll has ended, something is wrong, or there is no account', () => {
  const reason = { code: 'provider_down', message: 'It is down.', hint: null };
  for (const more of [
    { last_success_at: '2026-11-22T12:00:00Z' },
    { state: 'degraded' as const, reasons: [reason as never] },
    { auth: {} },
  ])
    expect(beginningOf({ ...FRESH, ...more })).toBeNull();
});

test.each(Object.keys(WORDS) as Language[])(
  'tells the days read so far when the language is %s',
  (language) => {
    useWords(
      { language, locale: language, words: WORDS[language].page, dates: WORDS[language].dates },
      [],
      () => 0,
    );
    const told = say('beginning.reading', { step: 'reading', done: 200, all: 1380 });
    expect(told).toMatch(/200\D+1[.,]?380/);
  },
);
