// Calendar arithmetic on days written as text, and where local days begin and end, against instants worked out by hand.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addDays,
  daysBetween,
  INTERVALS,
  intervalStart,
  isSameZone,
  piecesOf,
  timeWords,
  zone,
} from '../../src/domain/period.ts';
import { holds } from '../support/property.ts';

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

const at = (iso: string) => Date.parse(iso);
const HOUR_MS = 3_600_000;

test.each([
  // Ordinary days, on either side of UTC.
  ['Europe/Dublin', '2026-01-15', '2026-01-15T00:00:00Z', 24],
  ['America/St_Johns', '2026-01-15', '2026-01-15T03:30:00Z', 24],
  ['Pacific/Pago_Pago', '2026-01-15', '2026-01-15T11:00:00Z', 24],
  ['Asia/Kathmandu', '2026-01-15', '2026-01-14T18:15:00Z', 24],
  // Clock changes in the small hours.
  ['Europe/Dublin', '2026-03-29', '2026-03-29T00:00:00Z', 23],
  ['Europe/Dublin', '2026-10-25', '2026-10-24T23:00:00Z', 25],
  // Half an hour only.
  ['Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30:00Z', 23.5],
  ['Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00:00Z', 24.5],
  // Midnight is skipped: the day begins at one.
  ['Africa/Cairo', '2024-04-26', '2024-04-25T22:00:00Z', 23],
  ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00Z', 23],
  // The hour before midnight comes twice; or the one after it.
  ['America/Sao_Paulo', '2018-02-17', '2018-02-17T02:00:00Z', 25],
  ['Asia/Beirut', '2024-10-26', '2024-10-25T21:00:00Z', 25],
  ['America/Havana', '2024-11-03', '2024-11-03T04:00:00Z', 25],
  // A day that never was: Samoa crossed the date line.
  ['Pacific/Apia', '2011-12-29', '2011-12-29T10:00:00Z', 24],
  ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00Z', 0],
  ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00Z', 24],
])('in %s, %s begins %s and has %d hours', (name, day, start, hours) => {
  const local = zone(name);
  // A known answer is remembered, and has to be the same.
  expect(local.startOf(day)).toBe(local.startOf(day));
  expect(new Date(local.startOf(day)).toISOString()).toBe(new Date(start).toISOString());
  expect((local.startOf(addDays(day, 1)) - local.startOf(day)) / HOUR_MS).toBe(hours);
});

test.each([
  ['Europe/Dublin', '2026-01-15T12:00:00Z', '2026-01-15T12:00:00+00:00'],
  ['Europe/Dublin', '2026-07-15T12:00:00.999Z', '2026-07-15T13:00:00+01:00'],
  // The doubled hour is told apart by its offset.
  ['Europe/Dublin', '2026-10-25T00:30:00Z', '2026-10-25T01:30:00+01:00'],
  ['Europe/Dublin', '2026-10-25T01:30:00Z', '2026-10-25T01:30:00+00:00'],
  ['America/St_Johns', '2026-01-15T12:00:00Z', '2026-01-15T08:30:00-03:30'],
  ['Asia/Kolkata', '2026-01-15T20:00:00Z', '2026-01-16T01:30:00+05:30'],
  ['Pacific/Marquesas', '2026-01-15T12:00:00Z', '2026-01-15T02:30:00-09:30'],
])('in %s, %s is written %s', (name, instant, written) => {
  expect(zone(name).iso(at(instant))).toBe(written);
});

const NAMES = [
  'Europe/Dublin',
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Santiago',
  'America/St_Johns',
  'America/Havana',
  'Asia/Beirut',
  'Asia/Tehran',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Antarctica/Troll',
];

test('every instant lies in the day it is said to lie in, and reads back from its text', () => {
  const zones = NAMES.map(zone);
  holds(
    fc.constantFrom(...zones),
    fc.integer({ min: at('2015-01-01T00:00:00Z'), max: at('2037-12-31T00:00:00Z') }),
    (local, instant) => {
      const day = local.dayAt(instant);
      expect(local.startOf(day)).toBeLessThanOrEqual(instant);
      expect(local.startOf(addDays(day, 1))).toBeGreaterThan(instant);
      expect(local.dayAt(local.startOf(day) - 1)).toBe(addDays(day, -1));
      expect(Date.parse(local.iso(instant))).toBe(Math.floor(instant / 1000) * 1000);
    },
  );
});

test('a time in a sentence is local, with the date when it is not today', () => {
  const dublin = zone('Europe/Dublin');
  const now = Date.parse('2026-07-10T22:30:00Z');
  expect(timeWords(dublin, Date.parse('2026-07-10T07:30:59Z'), now)).toBe('08:30');
  expect(timeWords(dublin, Date.parse('2026-07-10T23:30:00Z'), now)).toBe('2026-07-11 00:30');
});

test.each([
  ['Europe/Dublin', 'Eire', true],
  ['Asia/Kolkata', 'Asia/Calcutta', true],
  ['europe/dublin', 'Europe/Dublin', true],
  ['Europe/Dublin', 'Europe/London', false],
  // Anybody can write what a topic or a file has.
  ['Europe/Dublin', 'Europe/Atlantis', false],
  ['Europe/Atlantis', 'Europe/Dublin', false],
  ['Europe/Atlantis', 'Europe/Atlantis', true],
  ['', 'Europe/Dublin', false],
])('%s and %s are one time zone: %s', (one, other, isSame) => {
  expect(isSameZone(one, other)).toBe(isSame);
});
