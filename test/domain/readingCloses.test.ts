// Which day a reading closes, by the hours at which readings are taken: the whole year round, clock changes included.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays, type Day, zone } from '../../src/domain/period.ts';
import { closingOf, DAYS_LOOKED_AT, dayClosedBy, isContradicted } from '../../src/domain/readingCloses.ts';
import { holds } from '../support/property.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const DUBLIN = zone('Europe/Dublin');
// North, east and west of Greenwich, with and without clock changes, and one that changes by half an hour.
const ZONES = ['Europe/Dublin', 'Europe/Berlin', 'Europe/Athens', 'UTC', 'Australia/Lord_Howe'].map(zone);
const anyZone = fc.constantFrom(...ZONES);
const anyDay = fc.integer({ min: 0, max: 3 * 365 }).map((days) => addDays('2024-01-01', days));

type Times = (day: Day, in_: typeof DUBLIN) => number[];
const atUtc =
  (time: string): Times =>
  (day) => [Date.parse(`${day}T${time}Z`)];
/** On the wall, wherever the clock change has put it. */
const atLocal =
  (time: string): Times =>
  (day, in_) => {
    const [hours = 0, minutes = 0] = time.split(':').map(Number);
    const near = in_.startOf(day) + hours * HOUR_MS + minutes * MINUTE_MS;
    const shift = [0, -1, 1, -0.5, 0.5].find((by) =>
      in_.iso(near + by * HOUR_MS).startsWith(`${day}T${time}`),
    );
    return [near + (shift ?? 0) * HOUR_MS];
  };
const halfHourly: Times = (day, in_) => {
  const count = (in_.startOf(addDays(day, 1)) - in_.startOf(day)) / (30 * MINUTE_MS);
  return Array.from({ length: count }, (_, at) => in_.startOf(day) + at * 30 * MINUTE_MS);
};

/** Of the newest weeks up to the day: every reading, and the last one of each day. */
function looked(times: Times, last: Day, in_: typeof DUBLIN) {
  const days = Array.from({ length: DAYS_LOOKED_AT }, (_, at) => addDays(last, -at));
  const all = days.map((day) => times(day, in_));
  return { all: all.flat(), lastOfDays: all.map((some) => Math.max(...some)) };
}

const CASES = [
  ['at 00:00:30 UTC', atUtc('00:00:30'), 'previous_day', ZONES.slice(0, 4)],
  ['at 02:10 UTC', atUtc('02:10:00'), 'previous_day', ZONES.slice(0, 4)],
  ['just after local midnight', atLocal('00:01'), 'previous_day', ZONES],
  ['at 05:30 local', atLocal('05:30'), 'previous_day', ZONES],
  ['at noon UTC', atUtc('12:00:00'), 'same_day', ZONES.slice(0, 4)],
  ['at noon local', atLocal('12:00'), 'same_day', ZONES],
  ['at 23:50 local', atLocal('23:50'), 'same_day', ZONES],
  ['half-hourly', halfHourly, 'same_day', ZONES],
] as const;

const anyCase = fc
  .constantFrom(...CASES)
  .chain(([, times, expected, zones]) =>
    fc.record({ times: fc.constant(times), expected: fc.constant(expected), in_: fc.constantFrom(...zones) }),
  );

test('readings mean the same on every day of the year, and never contradict that', () => {
  holds(anyCase, anyDay, ({ times, expected, in_ }, last) => {
    const { all, lastOfDays } = looked(times, last, in_);
    expect(closingOf(all, in_)).toBe(expected);
    // The hour in which a reading was taken is enough.
    const hours = all.map((at) => at - (at % (30 * MINUTE_MS)));
    expect(closingOf(hours, in_)).toBe(expected);
    expect(isContradicted(expected, lastOfDays, in_)).toBe(false);
  });
});

test('each day gets the readings of one day, over both clock changes as well', () => {
  holds(anyCase, anyDay, ({ times, expected, in_ }, first) => {
    const days = [0, 1, 2, 3].map((at) => addDays(first, at));
    const closed = days.map((day) => new Set(times(day, in_).map((at) => dayClosedBy(at, expected, in_))));
    const shift = expected === 'previous_day' ? -1 : 0;
    expect(closed).toEqual(days.map((day) => new Set([addDays(day, shift)])));
  });
});

test('nothing read tells nothing; one reading is enough', () => {
  expect(closingOf([], DUBLIN)).toBeNull();
  expect(closingOf(atUtc('00:00:30')('2026-03-01', DUBLIN), DUBLIN)).toBe('previous_day');
  expect(closingOf(atUtc('14:00:00')('2026-03-01', DUBLIN), DUBLIN)).toBe('same_day');
  const twice = ['00:30:00', '14:00:00'].flatMap((time) => atUtc(time)('2026-03-01', DUBLIN));
  expect(closingOf(twice, DUBLIN)).toBe('same_day');
});

test('a stray reading on one day in five does not count; a day with half-hourly readings is no night reading', () => {
  holds(anyZone, anyDay, fc.integer({ min: 0, max: 5 }), (in_, last, stray) => {
    const { all } = looked(atLocal('00:01'), last, in_);
    const extra = Array.from({ length: stray }, (_, at) =>
      atLocal('15:00')(addDays(last, -at * 5), in_),
    ).flat();
    expect(closingOf([...all, ...extra], in_)).toBe('previous_day');
  });
  const small = halfHourly('2026-03-02', DUBLIN).slice(0, 6);
  expect(closingOf(small, DUBLIN)).toBe('same_day');
});

test('evidence against a decision takes a week of it', () => {
  holds(anyZone, anyDay, fc.integer({ min: 1, max: DAYS_LOOKED_AT }), (in_, last, days) => {
    const night = looked(atLocal('00:01'), last, in_).lastOfDays.slice(0, days);
    const evening = looked(atLocal('23:50'), last, in_).lastOfDays.slice(0, days);
    expect(isContradicted('same_day', night, in_)).toBe(days >= 7);
    expect(isContradicted('previous_day', evening, in_)).toBe(days >= 7);
    // With the clock change such a reading moves over the hour that decides.
    const morning = looked(atLocal('05:30'), last, in_).lastOfDays;
    expect(isContradicted('same_day', morning, in_)).toBe(false);
  });
});
