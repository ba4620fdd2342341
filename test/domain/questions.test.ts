// What a poll asks for: history in pieces, then one trailing window, wider once a week; and what an answer settles.
import { describe, expect, test } from 'vitest';
import { type Ledger, markRead, merge, openLedger, questions } from '../../src/domain/ledger.ts';
import { addDays, daysBetween } from '../../src/domain/period.ts';
import { buckets, type Line, ledgerOf } from './ledgers.ts';

const REREAD_DAYS = 14;
const ask = (ledger: Ledger, today: string) => questions(ledger, today, REREAD_DAYS);

describe('the first history', () => {
  test('comes in pieces of at most 366 days, oldest first, today included', () => {
    expect(ask(openLedger('2023-01-01'), '2025-03-10')).toEqual([
      { from: '2023-01-01', to: '2024-01-02' },
      { from: '2024-01-02', to: '2025-01-02' },
      { from: '2025-01-02', to: '2025-03-11' },
    ]);
  });

  test('goes on where it was broken off, and reads the newest of what it has again', () => {
    const origin = openLedger('2023-01-01');
    const [first] = ask(origin, '2025-03-10');
    if (!first) throw new Error('no question');
    const broken = markRead(origin, first, '2025-03-10');
    expect(broken).toMatchObject({ complete: false, sweptOn: null, readTo: '2024-01-02' });
    const rest = ask(broken, '2025-03-12');
    expect(rest).toEqual([
      { from: '2023-10-04', to: '2024-10-04' },
      { from: '2024-10-04', to: '2025-03-13' },
    ]);
    const done = rest.reduce((ledger, span) => markRead(ledger, span, '2025-03-12'), broken);
    expect(done).toMatchObject({ complete: true, sweptOn: '2025-03-12' });
  });

  test('is not complete when midnight passes between its questions', () => {
    const ledger = markRead(openLedger('2025-03-01'), { from: '2025-03-01', to: '2025-03-11' }, '2025-03-11');
    expect(ledger.complete).toBe(false);
    expect(ask(ledger, '2025-03-11')).toEqual([{ from: '2025-03-01', to: '2025-03-12' }]);
  });
});

describe('afterwards', () => {
  const ledger = ledgerOf([], { origin: '2023-01-01', today: '2025-03-10' });

  test.each([
    ['the same day', '2025-03-10', '2025-02-25'],
    ['the next day', '2025-03-11', '2025-02-25'],
    ['six days later', '2025-03-16', '2025-02-25'],
    ['a week later, the long window', '2025-03-17', '2024-12-11'],
    ['a week earlier: the clock was put right', '2025-03-03', '2024-12-04'],
    ['two days earlier', '2025-03-08', '2025-02-23'],
    ['months later: the whole gap, and the long window before it', '2025-09-01', '2024-12-11'],
  ])('%s', (_when, today, from) => {
    expect(ask(ledger, today)).toEqual([{ from, to: addDays(today, 1) }]);
  });

  test.each([
    ['as they are', '2025-01-05', '2025-02-01', '2025-01-05', '2025-02-01'],
    ['not before the origin', '2020-01-01', '2023-02-01', '2023-01-01', '2023-02-01'],
    ['today is the last day', '2025-03-01', '2026-01-01', '2025-03-01', '2025-03-11'],
  ])('days that are to be read again: %s', (_name, wantedFrom, wantedTo, from, to) => {
    const again = { from: wantedFrom, to: wantedTo };
    expect(questions(ledger, '2025-03-10', REREAD_DAYS, again)).toEqual([{ from, to }]);
    const begun = openLedger('2025-03-01');
    expect(questions(begun, '2025-03-10', REREAD_DAYS, again)).toEqual(ask(begun, '2025-03-10'));
  });

  test('a clock far behind asks for nothing before the origin, and forgets nothing', () => {
    expect(ask(ledger, '2022-06-01')).toEqual([]);
    expect(ask(ledger, '2023-01-05')).toEqual([{ from: '2023-01-01', to: '2023-01-06' }]);
    const marked = markRead(ledger, { from: '2023-01-01', to: '2023-01-06' }, '2023-01-05');
    expect(marked).toMatchObject({ readTo: '2025-03-11', complete: true });
  });
});

describe('the long window', () => {
  test('is swept once a week, with one question a day', () => {
    let ledger = ledgerOf([], { origin: '2023-01-01', today: '2025-03-10' });
    const long: string[] = [];
    for (let today = '2025-03-11'; today <= '2025-04-14'; today = addDays(today, 1)) {
      const spans = ask(ledger, today);
      expect(spans).toHaveLength(1);
      for (const span of spans) {
        if (daysBetween(span.from, span.to) >= 90) long.push(today);
        ledger = markRead(ledger, span, today);
      }
    }
    expect(long).toEqual(['2025-03-17', '2025-03-24', '2025-03-31', '2025-04-07', '2025-04-14']);
  });

  test('counts as swept when it reaches the origin, however young that is', () => {
    let ledger = ledgerOf([], { origin: '2025-02-10', today: '2025-03-10' });
    const lengths: number[] = [];
    for (let today = '2025-03-16'; today <= '2025-03-19'; today = addDays(today, 1)) {
      const [span] = ask(ledger, today);
      if (!span) throw new Error('no question');
      lengths.push(daysBetween(span.from, span.to));
      ledger = markRead(ledger, span, today);
    }
    // 14 days back from where the last question ended, but once to the origin.
    expect(lengths).toEqual([20, 36, 15, 15]);
  });
});

describe('quarantined days', () => {
  const ledger = ledgerOf([], { origin: '2023-01-01', today: '2025-03-10' });

  test.each<[string, Line]>([
    ['too large', ['2024-11-05', 5000, 1]],
    ['negative', ['2023-02-05', 5, -1]],
  ])('%s: asked for again, however old', (_name, line) => {
    const [span] = ask(merge(ledger, buckets(line), 2).ledger, '2025-03-11');
    expect(span?.from).toBe(line[0]);
  });

  test('one that never comes twice the same stops widening the window, and is taken when it does', () => {
    let odd = merge(ledger, buckets(['2025-01-05', 5, -1]), 2).ledger;
    const from = [];
    for (let time = 1; time <= 6; time += 1) {
      from.push(ask(odd, '2025-03-11')[0]?.from);
      odd = merge(odd, buckets(['2025-01-05', 5, -1 - time]), 2 + time).ledger;
    }
    expect(from).toEqual([...Array(5).fill('2025-01-05'), '2025-02-25']);
    expect(merge(odd, buckets(['2025-01-05', 5, -7]), 9).ledger.quarantined.size).toBe(0);
  });

  test('a history of nothing else is not complete yet', () => {
    const span = { from: '2025-03-01', to: '2025-03-11' };
    const once = merge(openLedger('2025-03-01'), buckets(['2025-03-10', 5000, 1]), 1, span).ledger;
    const read = markRead(once, span, '2025-03-10');
    expect(read.complete).toBe(false);
    const twice = merge(read, buckets(['2025-03-10', 5000, 1]), 2, span).ledger;
    expect(markRead(twice, span, '2025-03-10').complete).toBe(true);
    expect(markRead(merge(read, [], 2, span).ledger, span, '2025-03-10').complete).toBe(true);
  });
});
