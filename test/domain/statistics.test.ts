// Rows of statistics: where days begin, how sums go on, what is sent, and that sending it is always enough.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toUnits } from '../../src/domain/amount.ts';
import { type Ledger, merge } from '../../src/domain/ledger.ts';
import { addDays, zone } from '../../src/domain/period.ts';
import {
  ledgerRows,
  notStored,
  type Placement,
  rowsToSend,
  type StatisticsRow,
  statisticsHour,
  withStored,
} from '../../src/domain/statistics.ts';
import { totals } from '../../src/domain/totals.ts';
import { holds } from '../support/property.ts';
import { bucket, type Line, ledgerOf, row } from './ledgers.ts';

const DUBLIN = zone('Europe/Dublin');
const BERLIN = zone('Europe/Berlin');
const energyOf = (
  ledger: Ledger,
  stored: readonly StatisticsRow[] = [],
  where = DUBLIN,
  hours: Placement['hours'] = 'midnight',
) => withStored(ledgerRows(ledger, 'energy', { zone: where, hours }), stored, where);
const shown = (rows: readonly StatisticsRow[]) =>
  rows.map(({ start, state, sum }) => [new Date(start).toISOString().slice(0, 16), state, sum]);

/** What Home Assistant has stored after it has been sent these rows. */
function afterSending(stored: readonly StatisticsRow[], sent: readonly StatisticsRow[]): StatisticsRow[] {
  const at = new Map([...stored, ...sent].map((one) => [one.start, one]));
  return [...at.values()].sort((a, b) => a.start - b.start);
}

const anyLines = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 99_999_999 })), {
    selector: ([at]) => at,
    maxLength: 40,
  })
  .map((days) => days.map(([at, amount]): Line => [addDays('2025-01-01', at), amount / 1e6, amount / 3e6]));
const anyZone = fc
  .constantFrom('Europe/Dublin', 'Europe/Berlin', 'Asia/Kolkata', 'Pacific/Auckland', 'America/Asuncion')
  .map(zone);
const anyPlacement = fc.record({
  zone: anyZone,
  hours: fc.constantFrom<Placement['hours']>('midnight', 'even'),
});

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
    expect(ledgerRows(ledger, 'cost', { zone: DUBLIN, hours: 'midnight' }).map(({ sum }) => sum)).toEqual([
      2, 3,
    ]);
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

  test('an empty ledger has nothing to say about what is stored', () => {
    expect(energyOf(ledgerOf([]), energyOf(ledgerOf(row('2025-01-01', 3, 1, 1))))).toEqual([]);
  });
});

describe('a reading that is spread evenly over its hours', () => {
  const HOUR_MS = 3_600_000;
  const spread = (lines: readonly Line[], where = DUBLIN) =>
    energyOf(ledgerOf([...lines]), [], where, 'even');

  test.each([
    ['Europe/Dublin', '2025-01-15', 24, '2025-01-15T00:00'],
    ['Europe/Dublin', '2025-03-30', 23, '2025-03-30T00:00'],
    ['Europe/Dublin', '2025-10-26', 25, '2025-10-25T23:00'],
    ['America/New_York', '2025-03-09', 23, '2025-03-09T05:00'],
    ['America/New_York', '2025-11-02', 25, '2025-11-02T04:00'],
    // Its clocks change by half an hour, and in summer midnight is at half past the hour of UTC.
    ['Australia/Lord_Howe', '2025-04-06', 25, '2025-04-05T13:00'],
    ['Australia/Lord_Howe', '2025-10-05', 23, '2025-10-04T14:00'],
    ['Asia/Kolkata', '2025-01-15', 24, '2025-01-14T19:00'],
  ])('in %s %s has %i hours from %s on', (name, day, hours, first) => {
    const rows = spread([[day, 10, 1]], zone(name));
    expect([rows.length, shown(rows)[0]?.[0]]).toEqual([hours, first]);
    expect(rows.every(({ start }) => zone(name).dayAt(start) === day)).toBe(true);
    expect(rows.at(-1)?.sum).toBe(10);
  });

  test('hours differ by a thousandth where the day cannot be divided', () => {
    const rows = spread([['2025-01-15', 10, 1]]);
    expect(shown(rows).slice(0, 3)).toEqual([
      ['2025-01-15T00:00', 0.417, 0.417],
      ['2025-01-15T01:00', 0.416, 0.833],
      ['2025-01-15T02:00', 0.417, 1.25],
    ]);
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set([0.416, 0.417]));
  });

  test('a reading after missed days is spread over them too, unless they are more than a month', () => {
    const carried = spread([
      ['2025-01-01', 24, 1],
      ['2025-01-04', 72, 1],
    ]);
    expect(carried).toHaveLength(4 * 24);
    expect(new Set(carried.map(({ state }) => state))).toEqual(new Set([1]));
    const apart = spread([
      ['2025-01-01', 24, 1],
      ['2025-02-03', 24, 1],
    ]);
    expect(apart.map(({ start }) => DUBLIN.dayAt(start)).filter((day) => day < '2025-02-03')).toHaveLength(
      24,
    );
    expect(apart).toHaveLength(48);
  });

  test('a late day takes its hours back from the reading that was spread over them', () => {
    const before = spread([
      ['2025-01-01', 24, 1],
      ['2025-01-03', 48, 1],
    ]);
    const late = ledgerOf([
      ['2025-01-01', 24, 1],
      ['2025-01-02', 12, 1],
      ['2025-01-03', 36, 1],
    ]);
    const sent = rowsToSend(energyOf(late, before, DUBLIN, 'even'), before);
    expect(shown(sent)[0]).toEqual(['2025-01-02T00:00', 0.5, 24.5]);
    expect(shown(sent).at(-1)).toEqual(['2025-01-03T23:00', 1.5, 72]);
  });

  test('back at midnight, each hour has the sum of its day and nothing of its own', () => {
    const lines: Line[] = [
      ['2025-01-01', 24, 1],
      ['2025-01-02', 12, 1],
    ];
    const stored = spread(lines);
    const rows = shown(energyOf(ledgerOf(lines), stored));
    expect(rows).toHaveLength(48);
    expect(rows[0]).toEqual(['2025-01-01T00:00', 24, 24]);
    expect(rows[24]).toEqual(['2025-01-02T00:00', 12, 36]);
    expect(rows.slice(1, 24).every(([, state, sum]) => state === 0 && sum === 24)).toBe(true);
    expect(rows.slice(25).every(([, state, sum]) => state === 0 && sum === 36)).toBe(true);
  });

  test('sums go on from hours of earlier days, which stay', () => {
    const stored = spread([['2025-01-01', 12, 1]]);
    const rows = energyOf(ledgerOf([['2025-01-05', 24, 1]]), stored, DUBLIN, 'even');
    expect(rows.slice(0, 24)).toEqual(stored);
    expect(shown(rows)[24]).toEqual(['2025-01-05T00:00', 1, 13]);
  });

  const anyChangingZone = fc
    .constantFrom('Europe/Dublin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata')
    .map(zone);

  test('the sum at the end of each day with a reading is that of midnight to the last digit', () => {
    holds(anyLines, anyChangingZone, (lines, where) => {
      const ledger = ledgerOf(lines, { today: '2026-12-31' });
      const hourly = energyOf(ledger, [], where, 'even');
      const byStart = new Map(hourly.map((one) => [one.start, one]));
      let from = 0;
      for (const { start, state, sum } of energyOf(ledger, [], where)) {
        const next = statisticsHour(addDays(where.dayAt(start), 1), where);
        expect(byStart.get(next - HOUR_MS)?.sum).toBe(sum);
        const to = hourly.findIndex((one) => one.start >= next);
        const hours = hourly.slice(from, to < 0 ? undefined : to);
        const thousandths = hours.reduce((all, one) => all + Math.round(one.state * 1_000), 0);
        expect(thousandths).toBe(Math.round(state * 1_000));
        from += hours.length;
      }
      expect(hourly.every(({ start }, at) => start > (hourly[at - 1]?.start ?? 0))).toBe(true);
    });
  });
});

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
    holds(anyLines, anyLines, anyPlacement, anyPlacement, fc.nat(), (before, after, first, then, cut) => {
      const stored = energyOf(ledgerOf(before), [], first.zone, first.hours);
      const ledger = merge(ledgerOf(before), after.map(bucket), 2).ledger;
      const wanted = (given: readonly StatisticsRow[]) => energyOf(ledger, given, then.zone, then.hours);
      const whole = rowsToSend(wanted(stored), stored);
      // The connection breaks after some rows: what is left is found again.
      const partly = afterSending(stored, whole.slice(0, cut % (whole.length + 1)));
      const rest = rowsToSend(wanted(partly), partly);
      const settled = afterSending(partly, rest);
      expect(rowsToSend(wanted(settled), settled)).toEqual([]);
      expect(settled).toEqual(afterSending(stored, whole));
      expect(notStored(wanted(settled), settled)).toEqual([]);
    });
  });
});
