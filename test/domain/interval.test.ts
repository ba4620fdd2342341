// Weeks, months, quarters and years of a span, whole and cut off.
import { expect, test } from 'vitest';
import { addDays, daysBetween, INTERVALS, intervalStart, piecesOf } from '../../src/domain/period.ts';

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
