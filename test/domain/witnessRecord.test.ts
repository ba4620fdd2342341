// Which registers of a meter itself are believed, what is kept of them, and what that says beside the provider's days.
import { describe, expect, test } from 'vitest';
import { compareWitness } from '../../src/domain/insight/witnessDays.ts';
import { addDays, type Day } from '../../src/domain/period.ts';
import type { Telegram, WitnessRefusal } from '../../src/domain/witness.ts';
import {
  hearTelegram,
  isOfMidnight,
  NOTHING_HEARD,
  type WitnessRecord,
  withoutFuture,
  witnessRecord,
} from '../../src/domain/witnessRecord.ts';
import { DUBLIN } from '../support/household.ts';
import { type Line, ledgerOf } from './ledgers.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const at = (text: string): number => Date.parse(text);
const telegram = (kwh: number, more: Partial<Telegram> = {}): Telegram => ({
  energy: Math.round(kwh * 1e6),
  receivedAt: null,
  meter: '58496405',
  isOfMidnight: false,
  surroundings: {},
  ...more,
});

/** Hears one after the other: `[when, kWh]`. */
function heard(
  all: readonly (readonly [number | string, number, Partial<Telegram>?])[],
  before: WitnessRecord = NOTHING_HEARD,
) {
  let record = before;
  const refusals: (WitnessRefusal['refused'] | null)[] = [];
  for (const [when, kwh, more] of all) {
    const moment = typeof when === 'string' ? at(when) : when;
    const taken = hearTelegram(record, telegram(kwh, more), moment, DUBLIN);
    record = taken.record;
    refusals.push(taken.refusal?.refused ?? null);
  }
  const kwh = record.newest && record.newest.energy / 1e6;
  const midnights = (record.midnights?.readings ?? []).map(({ readAt, energy }) => [
    DUBLIN.iso(readAt).slice(0, 16),
    energy / 1e6,
  ]);
  return { record, refusals, kwh, midnights };
}

describe('what is believed', () => {
  test('an older one, such as a retained one after a restart, changes nothing', () => {
    const { record } = heard([['2026-11-27T10:00:00Z', 100]]);
    expect(
      heard(
        [
          ['2026-11-27T09:00:00Z', 99],
          ['2026-11-27T10:00:00Z', 101],
        ],
        record,
      ).record,
    ).toBe(record);
  });

  test('a register of few digits does not fall', () => {
    const { kwh, refusals } = heard([
      ['2026-11-27T10:00:00Z', 100.04],
      ['2026-11-27T10:01:00Z', 100],
    ]);
    expect([kwh, refusals]).toEqual([100.04, [null, null]]);
  });

  test.each([
    ['falls a little', 6884, 6500, 'fallen', 48],
    ['falls as that of a new meter does', 6884, 3, 'fallen', 1],
    ['jumps', 6884, 6_884_000, 'jumped', 48],
  ])('one that %s is refused, and taken once it has stayed for hours', (_, before, after, code, hours) => {
    const began = at('2026-11-27T10:00:00Z');
    const all = Array.from(
      { length: hours + 2 },
      (_, hour) => [began + (hour + 1) * HOUR_MS, after] as const,
    );
    const { refusals, kwh, midnights } = heard([['2026-11-27T00:10:00Z', before], [began, before], ...all]);
    expect(refusals.slice(2)).toEqual([...Array(hours).fill(code), null, null]);
    expect([kwh, midnights.every(([, energy]) => energy === after)]).toEqual([after, true]);
  });

  test('one wrong telegram among right ones leaves no trace', () => {
    const { refusals, midnights, kwh } = heard([
      ['2026-11-27T00:01:00Z', 100],
      ['2026-11-27T10:00:00Z', 2],
      ['2026-11-27T10:01:00Z', 104],
      ['2026-11-27T12:00:00Z', 2],
      ['2026-11-27T12:01:00Z', 105],
    ]);
    expect(refusals).toEqual([null, 'fallen', null, 'fallen', null]);
    expect([kwh, midnights]).toEqual([105, [['2026-11-27T00:01', 100]]]);
  });

  test('telegrams of two meters on one topic are not mixed, and a meter that stays away is replaced', () => {
    const other = { meter: '58496406' };
    const both = Array.from({ length: 200 }, (_, minute) => {
      const when = at('2026-11-27T10:00:00Z') + minute * MINUTE_MS;
      return minute % 2 === 0 ? ([when, 100] as const) : ([when, 900, other] as const);
    });
    const mixed = heard(both);
    expect([mixed.kwh, new Set(mixed.refusals)]).toEqual([100, new Set([null, 'another_meter'])]);
    const began = at('2026-11-27T13:19:30Z');
    const alone = heard(
      Array.from({ length: 62 }, (_, minute) => [began + minute * MINUTE_MS, 900, other] as const),
      mixed.record,
    );
    expect([alone.kwh, alone.refusals.at(-3), alone.refusals.at(-1)]).toEqual([900, 'another_meter', null]);
  });

  test('registers that were heard before their meter was named go on as those of the first one that is', () => {
    const { kwh, refusals, midnights } = heard([
      ['2026-11-27T00:01:00Z', 100, { meter: undefined }],
      ['2026-11-27T10:00:00Z', 104],
      ['2026-11-28T00:01:00Z', 110],
    ]);
    expect([kwh, refusals]).toEqual([110, [null, null, null]]);
    expect(midnights).toEqual([
      ['2026-11-27T00:01', 100],
      ['2026-11-28T00:01', 110],
    ]);
  });

  test('what was heard while the clock was ahead is forgotten, and a small step back costs nothing', () => {
    const { record } = heard([
      ['2026-11-26T00:00:01Z', 90],
      ['2026-11-27T00:00:01Z', 100],
      ['2036-11-27T10:00:00Z', 100.4],
    ]);
    const { newest, midnights } = withoutFuture(record, at('2026-11-27T10:00:00Z'));
    expect([newest?.energy, midnights?.readings.length]).toEqual([100e6, 2]);
    expect(withoutFuture(record, at('2026-11-25T10:00:00Z'))).toBe(NOTHING_HEARD);
    expect(withoutFuture(record, at('2036-11-27T09:59:50Z'))).toBe(record);
  });
});

describe('what is kept of days', () => {
  test('the first after each local midnight, in summer time too', () => {
    const { midnights } = heard([
      ['2026-07-01T22:59:00Z', 100],
      ['2026-07-01T23:01:00Z', 101],
      ['2026-07-02T12:00:00Z', 105],
      ['2026-07-02T23:02:00Z', 109],
    ]);
    expect(midnights).toEqual([
      ['2026-07-02T00:01', 101],
      ['2026-07-03T00:02', 109],
    ]);
  });

  test('none of a day whose midnight nobody heard, unless the register has hardly moved since', () => {
    const { midnights } = heard([
      ['2026-11-25T00:01:00Z', 100],
      ['2026-11-25T12:00:00Z', 105],
      ['2026-11-26T14:00:00Z', 118],
      ['2026-11-26T22:00:00Z', 120],
      ['2026-11-27T07:00:00Z', 121],
    ]);
    expect(midnights).toEqual([
      ['2026-11-25T00:01', 100],
      ['2026-11-27T07:00', 121],
    ]);
  });

  test('62 days and more, through two years of telegrams', () => {
    const days = Array.from({ length: 730 }, (_, n) => addDays('2024-11-27', n));
    const { midnights, record } = heard(
      days.map((day, n) => [DUBLIN.startOf(day) + MINUTE_MS, 100 + 10 * n] as const),
    );
    const expected = days.map((day, n) => [`${day}T00:01`, 100 + 10 * n]);
    expect(midnights.slice(-62)).toEqual(expected.slice(-62));
    expect(midnights.length).toBeLessThan(100);
    expect(witnessRecord.parse(JSON.parse(JSON.stringify(record)))).toEqual(record);
  });

  test.each([
    ['by its driver', { isOfMidnight: true }, 0],
    ['by what it does', {}, 2],
  ])('a meter that sends the state of midnight all day is known for it %s', (_, more, fromDay) => {
    let record = NOTHING_HEARD;
    const known: boolean[] = [];
    for (let day = 0; day < 5; day += 1) {
      const began = at('2026-11-20T00:00:10Z') + day * 24 * HOUR_MS;
      record = heard(
        [...Array(24).keys()].map((hour) => [began + hour * HOUR_MS, 100 + day * 9, more] as const),
        record,
      ).record;
      known.push(isOfMidnight(record));
    }
    expect(known.indexOf(true)).toBe(fromDay);
  });

  test('where its own midnight is an hour later, in summer, its day has the register that stays', () => {
    const more = { isOfMidnight: true };
    const { midnights } = heard([
      ['2026-07-01T22:00:00Z', 100, more],
      ['2026-07-01T23:00:10Z', 100, more],
      ['2026-07-02T00:00:10Z', 107, more],
      ['2026-07-02T12:00:00Z', 107, more],
    ]);
    expect(midnights.at(-1)).toEqual(['2026-07-02T01:00', 107]);
  });
});

describe('beside the provider', () => {
  const dayOf = (day: number): Day => `2026-11-${String(day).padStart(2, '0')}`;
  /** The register at each midnight of November, by what the days used. */
  const november = (used: (day: number) => number) => {
    let kwh = 1000;
    return heard(
      Array.from({ length: 30 }, (_, n) => {
        if (n > 0) kwh += used(n);
        return [DUBLIN.startOf(dayOf(n + 1)) + MINUTE_MS, kwh] as const;
      }),
    ).record.midnights;
  };
  const use = (day: number) => 10 + (day % 7) * 2;
  /** The provider's days, so many days late, with some changed. */
  function ledger(late: number, change: Record<number, number | null> = {}) {
    const lines = Array.from({ length: 29 }, (_, n): Line => {
      const day = n + 1;
      return [dayOf(day), day in change ? (change[day] ?? null) : use(day - late), 1];
    });
    const known = lines.filter(([, kwh]) => kwh !== null);
    return ledgerOf(known, { origin: '2026-11-01', today: '2026-11-30' });
  }

  test('days agree, over the longest span that both have', () => {
    const { days, check, differing, daysLate } = compareWitness(november(use), ledger(0), DUBLIN);
    expect(check).toMatchObject({ from: '2026-11-01', to: '2026-11-29', difference: 0, daysMissing: 0 });
    expect([days.get('2026-11-05'), differing, daysLate]).toEqual([20e6, [], 0]);
  });

  test('a day on which the two differ is named', () => {
    const { check, differing } = compareWitness(november(use), ledger(0, { 9: use(9) + 11 }), DUBLIN);
    expect([check?.difference, differing]).toEqual([-11e6, ['2026-11-09']]);
  });

  test('a day that the provider lacks has its heat, and the reading after it is not blamed', () => {
    const gap = ledger(0, { 9: null, 10: use(9) + use(10) });
    const { days, differing, check } = compareWitness(november(use), gap, DUBLIN);
    expect([days.get('2026-11-09'), differing, check?.difference]).toEqual([14e6, [], 0]);
  });

  test.each([1, -1])('readings that the provider books %i day off are noticed', (late) => {
    expect(compareWitness(november(use), ledger(late), DUBLIN).daysLate).toBe(late);
  });

  test('of few days nothing is concluded', () => {
    const { daysLate, check } = compareWitness(null, ledger(0), DUBLIN);
    expect([daysLate, check]).toEqual([null, null]);
  });
});
