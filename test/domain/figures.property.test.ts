// Whatever days a ledger has, on whatever day it is looked at: the sums of months, the gaps and the forecast, as a calendar on paper gives them.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forecastMonth } from '../../src/domain/insight/forecast.ts';
import type { Ledger } from '../../src/domain/ledger.ts';
import { zone } from '../../src/domain/period.ts';
import { totals } from '../../src/domain/totals.ts';
import { drawFor } from '../../src/simulator/random.ts';
import { holds } from '../support/property.ts';
import { ledgerOf } from './ledgers.ts';

type Kind = 'energy' | 'cost';
const DAY_MS = 86_400_000;
const ORIGIN = '2023-01-01';
/** Up to two years of readings, which begin within four years of the origin, two leap days among them. */
const days = fc
  .tuple(fc.nat({ max: 1_300 }), fc.integer({ min: 300, max: 700 }), fc.nat())
  .map(([before, count, seed]) => {
    const random = drawFor(seed, 0, 'days');
    const amount = () => (random() < 1 / 7 ? null : Math.floor(random() * 9_000_000));
    const read = () => (random() < 1 / 6 ? null : { energy: amount(), cost: amount() });
    return [...Array<null>(before).fill(null), ...Array.from({ length: count }, read)];
  });
const dublin = zone('Europe/Dublin');
/** The local day at an instant: near midnight and the clock changes too. */
const today = fc
  .oneof(
    fc.integer({ min: Date.parse('2024-01-01T00:00:00Z'), max: Date.parse('2028-03-31T00:00:00Z') }),
    fc.constantFrom('2024-02-29T12:00:00Z', '2026-03-29T00:59:59Z', '2027-10-30T23:30:00Z').map(Date.parse),
  )
  .map((at) => dublin.dayAt(at));

const CALENDAR = Array.from({ length: 2_000 }, (_, at) =>
  new Date(Date.parse(`${ORIGIN}T00:00:00Z`) + at * DAY_MS).toISOString().slice(0, 10),
);
const calendar = (count: number): string[] => CALENDAR.slice(0, count);

function ledgerWith(drawn: readonly ({ energy: number | null; cost: number | null } | null)[]): Ledger {
  const dates = calendar(drawn.length);
  const records = drawn.flatMap((amounts, at) =>
    amounts === null ? [] : [[dates[at] ?? '', { ...amounts, revision: 0, receivedAt: 1 }] as const],
  );
  return { ...ledgerOf([], { origin: ORIGIN }), days: new Map(records) };
}

/** The amounts of the days whose text the condition takes. */
const given = ({ days }: Ledger, kind: Kind, takes: (day: string) => boolean): number[] =>
  [...days].flatMap(([day, record]) => (takes(day) ? (record[kind] ?? []) : []));
const added = (amounts: readonly number[]): number | null =>
  amounts.length === 0 ? null : amounts.reduce((sum, each) => sum + each, 0);
const kinds: readonly Kind[] = ['energy', 'cost'];

test('the same month of last year is every day whose text begins with it; the gaps are the days without a reading', () => {
  holds(days, today, (drawn, day) => {
    const ledger = ledgerWith(drawn);
    const { gaps, missingDays, newestDay, monthLastYear } = totals(ledger, day);
    const month = `${Number(day.slice(0, 4)) - 1}${day.slice(4, 7)}`;
    for (const kind of kinds)
      expect(monthLastYear[kind]).toBe(added(given(ledger, kind, (each) => each.startsWith(month))));
    // Each gap once and in order, as many as are counted.
    const dates = calendar(drawn.length);
    const missing = dates.filter(
      (each) => each < (newestDay ?? '') && (ledger.days.get(each)?.energy ?? null) === null,
    );
    const named = gaps.flatMap(({ from, to }) =>
      dates.slice(dates.indexOf(from), dates.indexOf(to)).reverse(),
    );
    expect(missingDays).toBe(missing.length);
    expect(named).toEqual(missing.reverse().slice(0, named.length));
    expect(named.length === missing.length || gaps.length === 100).toBe(true);
    // Days in a row are one gap.
    const starts = gaps.map(({ from }) => from);
    expect(gaps.filter(({ to }) => starts.includes(to))).toEqual([]);
  });
});

/** With no more history than 25 days no season is learnt. Each reading has the gap before it in it; after a week it tells nothing of a day. */
test('the forecast of a young meter is what the month has, and the mean of the newest fourteen for its other days', () => {
  holds(days, today, (drawn, day) => {
    const began = new Date(Date.parse(day) - 25 * DAY_MS).toISOString().slice(0, 10);
    const whole = ledgerWith(drawn);
    const ledger = {
      ...whole,
      days: new Map([...whole.days].filter(([each]) => each >= began && each <= day)),
    };
    const [year = 0, month = 0] = day.split('-').map(Number);
    const daysOfMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
    for (const kind of kinds) {
      const isRead = (each: string) => (ledger.days.get(each)?.[kind] ?? null) !== null;
      const dates = calendar(drawn.length).filter((each) => each >= began && isRead(each));
      const gaps = dates.map(
        (each, at) => (Date.parse(each) - Date.parse(dates[at - 1] ?? each)) / DAY_MS || 1,
      );
      const newest = given(ledger, kind, () => true)
        .map((use, at) => ({ use, days: gaps[at] ?? 1 }))
        .filter((one) => one.days <= 7)
        .slice(-14);
      const isOfMonth = (each: string) => each.startsWith(day.slice(0, 7));
      const ofMonth = given(ledger, kind, isOfMonth);
      const total = (values: readonly number[]) => added(values) ?? 0;
      const mean = total(newest.map(({ use }) => use)) / total(newest.map((one) => one.days));
      const covered = dates.map((each, at) => Math.min(gaps[at] ?? 1, Number(each.slice(8))));
      const left = daysOfMonth - total(covered.filter((_, at) => isOfMonth(dates[at] ?? '')));
      const expected = total(ofMonth) + Math.round(left === 0 ? 0 : mean * left);
      const found = forecastMonth({ days: ledger.days, today: day, tariff: null })[kind];
      expect(found && { ...found, amount: 0 }).toEqual(
        newest.length === 0 ? null : { amount: 0, low: null, high: null },
      );
      if (found) expect(Math.abs(found.amount - expected)).toBeLessThanOrEqual(1);
    }
  });
});

test('a forecast lies within its band, and no part of it below what the month has', () => {
  holds(days, today, (drawn, day) => {
    const ledger = ledgerWith(drawn);
    for (const kind of kinds) {
      const found = forecastMonth({ days: ledger.days, today: day, tariff: null })[kind];
      if (found?.low == null || found.high === null) continue;
      const sure = added(given(ledger, kind, (each) => each.startsWith(day.slice(0, 7)))) ?? 0;
      expect([found.low >= sure, found.low <= found.amount, found.amount <= found.high]).toEqual([
        true,
        true,
        true,
      ]);
      expect([found.amount, found.low, found.high].every(Number.isSafeInteger)).toBe(true);
    }
  });
});
