// The register against the days: which readings are kept, which two are compared, and what is left between them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkRegister } from '../../../src/domain/insight/registerCheck.ts';
import type { Ledger } from '../../../src/domain/ledger.ts';
import { addDays, type Day } from '../../../src/domain/period.ts';
import {
  type Register,
  type RegisterHistory,
  readingsByMeter,
  withReadings,
} from '../../../src/domain/reading.ts';
import { DUBLIN } from '../../support/household.ts';
import { holds } from '../../support/property.ts';
import { type Line, ledgerOf, row } from '../ledgers.ts';

const HOUR_MS = 3_600_000;
const at = (day: Day, hour = 23): number => DUBLIN.startOf(day) + hour * HOUR_MS;
const shown = (day: Day, kwh: number, hour = 23): Register => ({
  energy: Math.round(kwh * 1e6),
  readAt: at(day, hour),
});
const keep = (readings: readonly Register[], known: RegisterHistory | null = null) =>
  withReadings(known, readings, DUBLIN) ?? { energy: 0, readAt: 0, readings: [] };
const check = (readings: readonly Register[], ledger: Pick<Ledger, 'days' | 'readTimes' | 'origin'>) => {
  const found = checkRegister(keep(readings), ledger, 'same_day', DUBLIN);
  return found && { ...found, growth: found.growth / 1e6, difference: found.difference / 1e6 };
};
/** May: all of its days, and without the sixth one. */
const WHOLE = row('2025-05-01', 31, 10, 2);
const GAP = WHOLE.toSpliced(5, 1);
const MAY = ledgerOf(WHOLE);
const inMay = (at: number | string): Day => `2025-05-${String(at).padStart(2, '0')}`;
const TEN_DAYS = { from: 2, to: 11, growth: 100 };

describe('two readings', () => {
  test.each([
    ['that agree', { 1: 100, 11: 200 }, WHOLE, { ...TEN_DAYS, difference: 0 }],
    ['with more heat', { 1: 100, 11: 203.5 }, WHOLE, { ...TEN_DAYS, growth: 103.5, difference: 3.5 }],
    ['less than a week apart', { 1: 100, 3: 120 }, WHOLE, { from: 2, to: 3, growth: 20, difference: 0 }],
    ['with a day missing between', { 1: 100, 11: 200 }, GAP, { ...TEN_DAYS, difference: 10, daysMissing: 1 }],
    [
      'and more: the longest span of known days counts',
      { 1: 100, 5: 140, 10: 190, 28: 370 },
      GAP,
      { from: 11, to: 28, growth: 180, difference: 0 },
    ],
  ])('%s', (_, readings, lines, { from, to, ...expected }) => {
    const known = Object.entries(readings).map(([day, kwh]) => shown(inMay(day), kwh));
    const found = check(known, ledgerOf(lines));
    expect(found).toEqual({ from: inMay(from), to: inMay(to), daysMissing: 0, ...expected });
  });

  test.each([
    ['of one day', shown('2025-05-01', 100, 8), shown('2025-05-01', 105)],
    ['of which one is not in the ledger yet', shown('2025-05-30', 100), shown('2025-06-01', 105)],
    ['before the origin', shown('2024-12-30', 100), shown('2025-05-11', 200)],
  ])('%s are not compared', (_, ...readings) => {
    expect(check(readings, MAY)).toBeNull();
  });

  test('end no span when the ledger has another reading of that day', () => {
    const readings = [shown('2025-05-01', 100), shown('2025-05-11', 200), shown('2025-05-21', 297, 12)];
    for (const hour of [3, 23]) {
      const readTimes = new Map([['2025-05-21', at('2025-05-21', hour)]]);
      expect(check(readings, { ...MAY, readTimes })).toMatchObject({ to: '2025-05-11' });
    }
    const readTimes = new Map([['2025-05-21', at('2025-05-21', 12)]]);
    expect(check(readings, { ...MAY, readTimes })).toMatchObject({ to: '2025-05-21', difference: -3 });
  });

  test('readings of the first hours that close the day before', () => {
    const readings = [shown('2025-05-02', 100, 1), shown('2025-05-12', 200, 1)];
    expect(checkRegister(keep(readings), MAY, 'previous_day', DUBLIN)).toMatchObject({
      from: '2025-05-02',
      to: '2025-05-11',
      difference: 0,
    });
  });
});

describe('kept', () => {
  const days = (from: Day, count: number, kwh = 0) =>
    Array.from({ length: count }, (_, n) => shown(addDays(from, n), kwh + n));

  test('the newest 66 days, the last of each month before, and the first; no more in the course of years', () => {
    let known: RegisterHistory | null = null;
    for (const one of days('2020-01-10', 1000)) known = keep([one], known);
    const kept = (known?.readings ?? []).map(({ readAt }) => DUBLIN.dayAt(readAt));
    expect(kept.slice(0, 4)).toEqual(['2020-01-10', '2020-01-31', '2020-02-29', '2020-03-31']);
    expect(kept.length).toBeLessThan(66 + 34);
    expect(kept.slice(-66)).toEqual(Array.from({ length: 66 }, (_, n) => addDays('2022-08-01', n)));
    expect(known).toMatchObject(shown('2022-10-05', 999));
  });

  test('a reading that was corrected; an older reply changes nothing', () => {
    const known = keep(days('2025-05-01', 5));
    const corrected = keep([shown('2025-05-05', 3.5)], known);
    expect(corrected.readings.at(-1)).toEqual(shown('2025-05-05', 3.5));
    expect(keep(days('2025-05-01', 3), known)).toEqual(known);
    expect(keep([], known)).toEqual(known);
  });

  test('what was known before readings were kept is the first of them', () => {
    const known = { ...shown('2025-05-01', 100), readings: [] };
    expect(keep([shown('2025-05-02', 110)], known).readings).toEqual([
      shown('2025-05-01', 100),
      shown('2025-05-02', 110),
    ]);
  });

  test('of a register that was exchanged, as of any other; the last one before and the first one after it stay for years', () => {
    const known = keep(days('2025-05-01', 10, 5000));
    const exchanged = keep(days('2025-05-11', 3), known);
    expect(exchanged.readings).toEqual([...days('2025-05-01', 10, 5000), ...days('2025-05-11', 3)]);
    const later = keep(days('2025-05-14', 400, 3), exchanged);
    expect(later.readings.slice(0, 4)).toEqual([
      shown('2025-05-01', 5000),
      shown('2025-05-10', 5009),
      shown('2025-05-11', 0),
      shown('2025-05-31', 20),
    ]);
  });

  test('of a day on which the meter was exchanged, the last one of each meter', () => {
    const [old, own] = [
      { ...shown('2025-05-10', 5009, 10), meter: 'A' },
      { ...shown('2025-05-10', 6000, 23), meter: 'B' },
    ];
    const { readings, meter } = keep([old, own]);
    expect(readings).toEqual([old, own]);
    expect([meter, readingsByMeter(readings)]).toEqual(['B', [[old], [own]]]);
  });

  test('of a register that falls all the time, no more in the course of years', () => {
    let known: RegisterHistory | null = null;
    for (let at = 0; at < 1000; at += 1) known = keep([shown(addDays('2020-01-10', at), 5000 - at)], known);
    expect(known?.readings.length).toBeLessThan(66 + 34 + 24);
  });
});

test('compares nothing when another meter came between the two readings', () => {
  const old = [shown('2025-05-01', 100), shown('2025-05-11', 200)].map((one) => ({ ...one, meter: 'A' }));
  const own = [shown('2025-05-12', 5000), shown('2025-05-20', 5080)].map((one) => ({ ...one, meter: 'B' }));
  expect(check([...old, own[0] as Register], MAY)).toBeNull();
  expect(check([...old, ...own], MAY)).toMatchObject({ from: '2025-05-13', to: '2025-05-20', difference: 0 });
});

test('has a growth that is the sum of the days and the difference when anything is read', () => {
  const readings = fc.array(fc.tuple(fc.integer({ min: 0, max: 150 }), fc.integer({ min: 0, max: 9_000 })));
  const lines = fc.array(fc.tuple(fc.integer({ min: 0, max: 150 }), fc.integer({ min: 0, max: 90 })));
  holds(readings, lines, (shownOn, used) => {
    const day = (count: number): Day => addDays('2025-01-01', count);
    const ledger = ledgerOf(used.map(([count, kwh]): Line => [day(count), kwh, 1]));
    const history = keep(shownOn.map(([count, kwh]) => shown(day(count), kwh)));
    const found = checkRegister(history, ledger, 'same_day', DUBLIN);
    expect(history.readings).toEqual(history.readings.toSorted((a, b) => a.readAt - b.readAt));
    if (found === null) return;
    const within = [...ledger.days].filter(([one]) => one >= found.from && one <= found.to);
    const sum = within.reduce((all, [, { energy }]) => all + (energy ?? 0), 0);
    expect(found.growth - found.difference).toBe(sum);
    expect(found.growth).toBeGreaterThanOrEqual(0);
  });
});
