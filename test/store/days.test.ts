// The days of a ledger in the database: packed and unpacked without loss, and only what has changed is written.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays } from '../../src/domain/period.ts';
import { daysToWrite, pack, type StoredDays, unpack } from '../../src/store/database/days.ts';
import type { DayRow } from '../../src/store/ledgerDocument.ts';

const row = (day: string, energy: number | null = 1_000, revision = 0): DayRow => [
  day,
  energy,
  200,
  revision,
  1_740_000_000_000,
];
const rows = (count: number, from = '2024-01-01'): DayRow[] =>
  Array.from({ length: count }, (_, n) => row(addDays(from, n)));
const stored = (all: readonly DayRow[], blockTo: string | null = null): StoredDays => ({
  rows: all,
  blockTo,
});

test('gives what was packed when it is unpacked', () => {
  const amount = fc.option(fc.maxSafeInteger());
  const dayRow = fc.tuple(
    fc.integer({ min: 0, max: 40_000 }).map((n) => addDays('1970-01-01', n)),
    amount,
    amount,
    fc.nat(),
    fc.nat(4_000_000_000_000),
  );
  const isKept = fc.property(fc.array(dayRow), (all) => {
    expect(unpack(JSON.parse(JSON.stringify(pack(all))))).toEqual(all);
  });
  fc.assert(isKept);
});

describe('of the days of a ledger', () => {
  test('writes only those that are new, changed or gone when there is no block', () => {
    const before = rows(30);
    const [first, , ...rest] = before;
    const changed = row('2024-01-30', 5, 1);
    const after = [...(first ? [first] : []), ...rest.slice(0, -1), changed, row('2024-01-31')];
    expect(daysToWrite(after, stored(before))).toEqual({
      ...{ days: [changed, row('2024-01-31')], gone: ['2024-01-02'], blockTo: null, block: null },
    });
    expect(daysToWrite(before, stored(before))).toMatchObject({ days: [], gone: [] });
  });

  test('packs all but the newest days when a ledger is long, and none of a short one', () => {
    expect(daysToWrite(rows(52), stored([])).blockTo).toBeNull();
    const long = rows(53);
    // The days of a ledger come in the order in which they became known.
    const { days, gone, blockTo, block } = daysToWrite([...long.slice(10), ...long.slice(0, 10)], stored([]));
    expect([days.length, gone, blockTo]).toEqual([53, null, '2024-02-02']);
    expect(block && unpack(block)).toEqual(long.slice(0, 32));
  });

  test('leaves the block as it is when few days are new behind it', () => {
    const grown = (loose: number) =>
      daysToWrite(rows(32 + loose), stored(rows(32 + loose - 1), '2024-02-02'));
    expect(grown(22)).toMatchObject({
      days: [row('2024-02-23')],
      gone: [],
      blockTo: '2024-02-02',
      block: null,
    });
    expect(grown(52)).toMatchObject({ gone: [], blockTo: '2024-02-02' });
    expect(grown(53)).toMatchObject({ gone: null, blockTo: '2024-03-05' });
  });

  test.each<[string, (all: DayRow[]) => DayRow[]]>([
    ['changed', (all) => [row('2024-01-05', 9, 1), ...all.filter(([day]) => day !== '2024-01-05')]],
    ['gone', (all) => all.slice(1)],
    ['new', (all) => [row('2023-12-31'), ...all]],
  ])('makes the block anew when a day within it is %s', (_, change) => {
    const before = rows(60);
    const after = change(before);
    const { gone, days, block } = daysToWrite(after, stored(before, '2024-02-09'));
    expect([gone, days.length]).toEqual([null, after.length]);
    expect(block && unpack(block)).toEqual([...after].sort().slice(0, -21));
  });

  test('replaces all days when they could not be read', () => {
    expect(daysToWrite(rows(3), { rows: null, blockTo: null })).toEqual({
      ...{ days: rows(3), gone: null, blockTo: null, block: null },
    });
    expect(daysToWrite([], { rows: null, blockTo: null })).toMatchObject({ days: [], gone: null });
  });
});
