// Calendar arithmetic on days written as text: leap years, borders of years, spans cut into pieces and intervals.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addDays,
  addMonths,
  chunks,
  daysBetween,
  INTERVALS,
  intervalStart,
  monthStart,
  piecesOf,
  weekStart,
} from '../../src/domain/period.ts';
import { holds } from '../support/property.ts';

const anyDay = fc.integer({ min: 0, max: 40_000 }).map((count) => addDays('1990-01-01', count));

test.each([
  ['2024-02-28', 1, '2024-02-29'],
  ['2025-02-28', 1, '2025-03-01'],
  ['2024-12-31', 1, '2025-01-01'],
  ['2025-01-01', -1, '2024-12-31'],
  ['2024-03-01', -366, '2023-03-01'],
  ['2025-03-30', 1, '2025-03-31'],
])('%s and %d days is %s', (day, days, expected) => {
  expect(addDays(day, days)).toBe(expected);
  expect(daysBetween(day, expected)).toBe(days);
});

test.each([
  ['2026-03-02', '2026-03-02'],
  ['2026-03-08', '2026-03-02'],
  ['2026-03-09', '2026-03-09'],
  ['2025-01-01', '2024-12-30'],
  ['2023-01-01', '2022-12-26'],
  ['2024-02-29', '2024-02-26'],
])('the week of %s begins on Monday %s', (day, monday) => {
  expect(weekStart(day)).toBe(monday);
});

test('a month begins on its first day', () => {
  expect(monthStart('2024-02-29')).toBe('2024-02-01');
});

test.each([
  ['2025-01-31', 1, '2025-02-01'],
  ['2025-12-15', 1, '2026-01-01'],
  ['2025-01-15', -1, '2024-12-01'],
  ['2025-06-30', 0, '2025-06-01'],
  ['2025-06-30', -30, '2022-12-01'],
  ['2025-11-30', 14, '2027-01-01'],
  ['2025-12-31', -12, '2024-12-01'],
])('the month of %s and %d more begins %s', (day, months, expected) => {
  expect(addMonths(day, months)).toBe(expected);
});

describe('chunks', () => {
  test('oldest first, the last one shorter; an empty or turned span has none', () => {
    expect(chunks({ from: '2025-01-02', to: '2025-01-02' }, 10)).toEqual([]);
    expect(chunks({ from: '2025-01-02', to: '2025-01-01' }, 10)).toEqual([]);
    expect(chunks({ from: '2024-12-30', to: '2025-01-04' }, 2)).toEqual([
      { from: '2024-12-30', to: '2025-01-01' },
      { from: '2025-01-01', to: '2025-01-03' },
      { from: '2025-01-03', to: '2025-01-04' },
    ]);
  });

  test('a span that fits stays whole, also where a leap year makes it fit exactly', () => {
    const leapYear = { from: '2024-01-01', to: '2025-01-01' };
    expect(chunks(leapYear, 366)).toEqual([leapYear]);
    expect(chunks(leapYear, 365)).toHaveLength(2);
  });

  test('they tile the span: no day twice, none left out, none too long', () => {
    holds(
      anyDay,
      fc.integer({ min: 0, max: 2000 }),
      fc.integer({ min: 1, max: 400 }),
      (from, length, most) => {
        const to = addDays(from, length);
        const pieces = chunks({ from, to }, most);
        expect(pieces.length).toBe(Math.ceil(length / most));
        let reached = from;
        for (const piece of pieces) {
          expect(piece.from).toBe(reached);
          expect(daysBetween(piece.from, piece.to)).toBeGreaterThan(0);
          expect(daysBetween(piece.from, piece.to)).toBeLessThanOrEqual(most);
          reached = piece.to;
        }
        expect(reached).toBe(to);
      },
    );
  });
});

test('weeks and months of any day contain it', () => {
  holds(anyDay, (day) => {
    expect(new Date(`${weekStart(day)}T00:00:00Z`).getUTCDay()).toBe(1);
    expect(daysBetween(weekStart(day), day)).toBeGreaterThanOrEqual(0);
    expect(daysBetween(weekStart(day), day)).toBeLessThan(7);
    expect(addMonths(day, 0)).toBe(monthStart(day));
    expect(addMonths(day, 1) > day).toBe(true);
    expect(addMonths(addMonths(day, 17), -17)).toBe(monthStart(day));
  });
});

test.each([
  ['day', '2025-03-30', ['2025-03-30', '2025-03-31', '2025-03-27']],
  ['week', '2025-01-01', ['2024-12-30', '2025-01-06', '2024-12-09']],
  ['month', '2024-12-31', ['2024-12-01', '2025-01-01', '2024-09-01']],
  ['quarter', '2025-03-31', ['2025-01-01', '2025-04-01', '2024-04-01']],
  ['quarter', '2024-12-01', ['2024-10-01', '2025-01-01', '2024-01-01']],
  ['year', '2024-02-29', ['2024-01-01', '2025-01-01', '2021-01-01']],
] as const)('the %s of %s, the next, and three before', (interval, day, starts) => {
  expect([0, 1, -3].map((further) => intervalStart(interval, day, further))).toEqual(starts);
});

test('pieces at the edges of a span are partial, and say what they have', () => {
  expect(piecesOf({ from: '2025-01-15', to: '2025-04-01' }, 'month')).toEqual([
    { start: '2025-01-01', from: '2025-01-15', to: '2025-02-01', isPartial: true },
    { start: '2025-02-01', from: '2025-02-01', to: '2025-03-01', isPartial: false },
    { start: '2025-03-01', from: '2025-03-01', to: '2025-04-01', isPartial: false },
  ]);
  expect(piecesOf({ from: '2025-02-10', to: '2025-02-12' }, 'year')).toEqual([
    { start: '2025-01-01', from: '2025-02-10', to: '2025-02-12', isPartial: true },
  ]);
  expect(piecesOf({ from: '2025-02-10', to: '2025-02-10' }, 'day')).toEqual([]);
});

test.each(INTERVALS)('pieces of %ss are the span, without gap or overlap', (interval) => {
  const span = { from: '2023-12-30', to: '2025-03-02' };
  const pieces = piecesOf(span, interval);
  expect([pieces[0]?.from, pieces.at(-1)?.to]).toEqual([span.from, span.to]);
  for (const [at, { start, from, to }] of pieces.entries()) {
    expect(from >= start && to > from).toBe(true);
    expect(intervalStart(interval, addDays(to, -1))).toBe(start);
    if (at > 0) expect(from).toBe(pieces[at - 1]?.to);
  }
  expect(pieces.reduce((days, { from, to }) => days + daysBetween(from, to), 0)).toBe(428);
});
