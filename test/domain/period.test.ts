// Calendar arithmetic on days written as text: leap years, borders of years, spans cut into pieces and intervals.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addDays,
  addMonths,
  chunks,
  daysBetween,
  INTERVALS,
  intervalStart,
  monthStart,
  piecesOf,
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
  ['2025-12-15', 1, '2026-01-01'],
  ['2025-01-15', -1, '2024-12-01'],
  ['2025-06-30', -30, '2022-12-01'],
])('the month of %s and %d more begins %s', (day, months, expected) => {
  expect(addMonths(day, months)).toBe(expected);
});

test('chunks tile the span: no day twice, none left out, none too long; a turned span has none', () => {
  holds(anyDay, fc.integer({ min: -2, max: 800 }), fc.integer({ min: 1, max: 400 }), (from, length, most) => {
    const to = addDays(from, length);
    const pieces = chunks({ from, to }, most);
    expect(pieces.length).toBe(Math.max(0, Math.ceil(length / most)));
    let reached = from;
    for (const piece of pieces) {
      expect(piece.from).toBe(reached);
      expect(daysBetween(piece.from, piece.to)).toBeGreaterThan(0);
      expect(daysBetween(piece.from, piece.to)).toBeLessThanOrEqual(most);
      reached = piece.to;
    }
    if (length >= 0) expect(reached).toBe(to);
  });
});

test('weeks and months of any day contain it', () => {
  holds(anyDay, (day) => {
    const monday = intervalStart('week', day);
    expect(new Date(`${monday}T00:00:00Z`).getUTCDay()).toBe(1);
    expect(daysBetween(monday, day)).toBeGreaterThanOrEqual(0);
    expect(daysBetween(monday, day)).toBeLessThan(7);
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

test.each(INTERVALS)('pieces of %ss are the span, without gap or overlap', (interval) => {
  const span = { from: '2023-12-30', to: '2025-03-02' };
  const pieces = piecesOf(span, interval);
  expect([pieces[0]?.from, pieces.at(-1)?.to]).toEqual([span.from, span.to]);
  for (const [at, { start, from, to, isPartial }] of pieces.entries()) {
    expect(isPartial).toBe(from !== start || to !== intervalStart(interval, start, 1));
    expect(from >= start && to > from).toBe(true);
    expect(intervalStart(interval, addDays(to, -1))).toBe(start);
    if (at > 0) expect(from).toBe(pieces[at - 1]?.to);
  }
  expect(pieces.reduce((days, { from, to }) => days + daysBetween(from, to), 0)).toBe(428);
});
