// Comparisons that are kept are those that would be made anew.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareWithYearBefore, weatherChanges } from '../../../src/domain/insight/weather.ts';
import type { DayRecord } from '../../../src/domain/ledger.ts';
import { addDays } from '../../../src/domain/period.ts';
import { Household } from '../../support/household.ts';
import { holds } from '../../support/property.ts';

const house = new Household({ seed: 4, from: '2023-01-01', days: 730 });
const MONTHS = [
  { from: '2024-03-01', to: '2024-04-01' },
  { from: '2024-11-01', to: '2024-12-01' },
];
const day = fc.integer({ min: 0, max: 800 }).map((at) => addDays('2023-01-01', at));
const change = fc.oneof(
  fc.record({ kind: fc.constant('read' as const), day, factor: fc.constantFrom(0.5, 3) }),
  fc.record({ kind: fc.constant('lost' as const), day }),
  fc.record({ kind: fc.constant('temperature' as const), day }),
  fc.record({ kind: fc.constant('base' as const), base: fc.constantFrom(null, 12, 15.5) }),
);

test('after any change of days, temperatures and base', () => {
  holds(fc.array(change, { maxLength: 3 }), (changes) => {
    const changesOver = weatherChanges();
    let { days } = house;
    let weather: { temperatures: ReadonlyMap<string, number>; base: number | null } = {
      temperatures: house.temperatures,
      base: 15.5,
    };
    for (const one of [null, ...changes]) {
      if (one?.kind === 'read') {
        const record = days.get(one.day) ?? ({ energy: 4_000_000, cost: null } as DayRecord);
        days = new Map([...days, [one.day, { ...record, energy: (record.energy ?? 1e6) * one.factor }]]);
      } else if (one?.kind === 'lost') days = new Map([...days].filter(([known]) => known !== one.day));
      else if (one?.kind === 'temperature')
        weather = { ...weather, temperatures: new Map([...weather.temperatures, [one.day, 3]]) };
      else if (one?.kind === 'base') weather = { ...weather, base: one.base };
      const changeOver = changesOver(days, weather);
      for (const span of MONTHS) expect(changeOver(span)).toEqual(compareWithYearBefore(days, weather, span));
    }
  });
});

test('a new day and a new temperature leave past months as they are', () => {
  const changesOver = weatherChanges();
  const first = changesOver(house.days, { temperatures: house.temperatures, base: null });
  const before = MONTHS.map(first);
  const next = changesOver(new Map([...house.days, ['2025-01-01', { energy: 1, cost: 1 } as DayRecord]]), {
    temperatures: new Map([...house.temperatures, ['2025-01-01', 3]]),
    base: null,
  });
  expect(before[0]).toMatchObject({ from: '2024-03-01' });
  for (const [at, span] of MONTHS.entries()) expect(next(span)).toBe(before[at]);
});
