// Rows of statistics: where days begin, how sums go on, what is sent, and that sending it is always enough.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toUnits } from '../../src/domain/amount.ts';
import { type Ledger, merge } from '../../src/domain/ledger.ts';
import { addDays, zone } from '../../src/domain/period.ts';
import {
  agree,
  rowsToSend,
  type StatisticsRow,
  statisticsHour,
  statisticsRows,
} from '../../src/domain/statistics.ts';
import { totals } from '../../src/domain/totals.ts';
import { holds } from '../support/property.ts';
import { bucket, type Line, ledgerOf, row } from './ledgers.ts';

const DUBLIN = zone('Europe/Dublin');
const BERLIN = zone('Europe/Berlin');
const energyOf = (ledger: Ledger, stored: readonly StatisticsRow[] = [], where = DUBLIN) =>
  statisticsRows(ledger, 'energy', where, stored);
const shown = (rows: readonly StatisticsRow[]) =>
  rows.map(({ start, state, sum }) => [new Date(start).toISOString().slice(0, 16), state, sum]);

/** What Home Assistant has stored after it has been sent these rows. */
function afterSending(stored: readonly StatisticsRow[], sent: readonly StatisticsRow[]): StatisticsRow[] {
  const at = new Map([...stored, ...sent].map((one) => [one.start, one]));
  return [...at.values()].sort((a, b) => a.start - b.start);
}

describe('where a day begins', () => {
  test.each([
    ['Europe/Dublin', '2025-01-15', '2025-01-15T00:00'],
    ['Europe/Dublin', '2025-07-15', '2025-07-14T23:00'],
    ['Europe/Dublin', '2025-03-31', '2025-03-30T23:00'],
    ['Europe/Dublin', '2025-10-27', '2025-10-27T00:00'],
    // Midnight is at half past the hour of UTC: the first full hour of the day.
    ['Asia/Kolkata', '2025-01-15', '2025-01-14T19:00'],
    ['America/St_Johns', '2025-01-15', '2025-01-15T04:00'],
    // Midnight does not exist: the day begins at one.
    ['America/Asuncion', '2024-10-06', '2024-10-06T04:00'],
  ])('%s %s: %s', (name, day, start) => {
    const where = zone(name);
    const hour = statisticsHour(day, where);
    expect(new Date(hour).toISOString().slice(0, 16)).toBe(start);
    expect(where.dayAt(hour)).toBe(day);
  });
});

describe('the rows of a series', () => {
  test('a row for each day with an amount of its kind, none for a gap', () => {
    const ledger = ledgerOf([
      ['2025-01-01', 1.0005, null],
      ['2025-01-03', 0, 2],
      ['2025-01-04', 2, 1],
    ]);
    expect(shown(energyOf(ledger))).toEqual([
      ['2025-01-01T00:00', 1.001, 1.001],
      ['2025-01-03T00:00', 0, 1.001],
      ['2025-01-04T00:00', 2, 3.001],
    ]);
    expect(statisticsRows(ledger, 'cost', DUBLIN).map(({ sum }) => sum)).toEqual([2, 3]);
  });

  test('sums go on from stored days before the first one', () => {
    const ledger = ledgerOf([['2025-01-05', 2, 1]]);
    expect(shown(energyOf(ledger))).toEqual([['2025-01-05T00:00', 2, 2]]);
    const stored = energyOf(ledgerOf(row('2025-01-01', 3, 3.1, 0)));
    expect(shown(energyOf(ledger, stored)).slice(-2)).toEqual([
      ['2025-01-03T00:00', 3.1, 9.3],
      ['2025-01-05T00:00', 2, 11.3],
    ]);
  });

  test('rows of days that were cut elsewhere are emptied, also before the first day', () => {
    const lines: Line[] = row('2025-01-01', 2, 5, 0);
    const stored = energyOf(ledgerOf(lines), [], BERLIN);
    expect(shown(energyOf(ledgerOf(lines), stored))).toEqual([
      ['2024-12-31T23:00', 0, 0],
      ['2025-01-01T00:00', 5, 5],
      ['2025-01-01T23:00', 0, 5],
      ['2025-01-02T00:00', 5, 10],
    ]);
  });

  test('a row without numbers is written anew, and is nothing to go on from', () => {
    const broken = { start: statisticsHour('2025-01-01', DUBLIN), state: Number.NaN, sum: Number.NaN };
    const ledger = ledgerOf([['2025-01-02', 4, 1]]);
    expect(shown(energyOf(ledger, [broken]))).toEqual([
      ['2025-01-01T00:00', 0, 0],
      ['2025-01-02T00:00', 4, 4],
    ]);
  });

  test('a row that is stored besides is no agreement, though nothing is to be sent', () => {
    const stored = energyOf(ledgerOf(row('2025-01-01', 3, 1, 1)));
    const wanted = stored.slice(1);
    expect(rowsToSend(wanted, stored)).toEqual([]);
    expect([agree(wanted, stored), agree(stored, stored)]).toEqual([false, true]);
  });

  test('an empty ledger has nothing to say about what is stored', () => {
    expect(energyOf(ledgerOf([]), energyOf(ledgerOf(row('2025-01-01', 3, 1, 1))))).toEqual([]);
  });
});

const anyLines = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 99_999_999 })), {
    selector: ([at]) => at,
    maxLength: 40,
  })
  .map((days) => days.map(([at, amount]): Line => [addDays('2025-01-01', at), amount / 1e6, amount / 3e6]));
const anyZone = fc
  .constantFrom('Europe/Dublin', 'Europe/Berlin', 'Asia/Kolkata', 'Pacific/Auckland', 'America/Asuncion')
  .map(zone);

describe('whatever the ledger and whatever is stored', () => {
  test('the last sum is the total, starts rise by whole hours, and no sum falls', () => {
    holds(anyLines, anyZone, (lines, where) => {
      const ledger = ledgerOf(lines, { today: '2026-12-31' });
      const rows = energyOf(ledger, [], where);
      const total = totals(ledger, '2026-12-31').total.energy ?? 0;
      if (rows.length > 0) expect(rows.at(-1)?.sum).toBe(toUnits(total));
      expect(rows.map(({ start }) => where.dayAt(start))).toEqual([...ledger.days.keys()].sort());
      for (const [at, { start, sum }] of rows.entries()) {
        expect(start % 3_600_000).toBe(0);
        expect(sum).toBeGreaterThanOrEqual(rows[at - 1]?.sum ?? 0);
      }
    });
  });

  test('what is sent makes it so, at once and for good, in any number of pieces', () => {
    holds(anyLines, anyLines, anyZone, anyZone, fc.nat(), (before, after, first, then, cut) => {
      const stored = energyOf(ledgerOf(before), [], first);
      const ledger = merge(ledgerOf(before), after.map(bucket), 2).ledger;
      const whole = rowsToSend(energyOf(ledger, stored, then), stored);
      // The connection breaks after some rows: what is left is found again.
      const partly = afterSending(stored, whole.slice(0, cut % (whole.length + 1)));
      const rest = rowsToSend(energyOf(ledger, partly, then), partly);
      const settled = afterSending(partly, rest);
      expect(rowsToSend(energyOf(ledger, settled, then), settled)).toEqual([]);
      expect(settled).toEqual(afterSending(stored, whole));
      expect(agree(energyOf(ledger, settled, then), settled)).toBe(
        ledger.days.size > 0 || stored.length === 0,
      );
    });
  });
});
