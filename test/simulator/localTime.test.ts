// Local calendars against dates worked out by hand, both clock changes of Europe/Dublin included.
import { expect, test } from 'vitest';
import { type CalendarUnit, Zone } from '../../src/simulator/localTime.ts';

const dublin = new Zone('Europe/Dublin');
const utc = (iso: string) => Date.parse(iso);

test.each<[CalendarUnit, string, string, string]>([
  ['hour', '2024-03-30T12:59:59Z', '2024-03-30T12:00:00Z', '2024-03-30T13:00:00Z'],
  ['hour', '2024-03-31T01:10:00Z', '2024-03-31T01:00:00Z', '2024-03-31T02:00:00Z'],
  ['hour', '2024-10-27T00:10:00Z', '2024-10-27T00:00:00Z', '2024-10-27T01:00:00Z'],
  ['hour', '2024-10-27T01:10:00Z', '2024-10-27T01:00:00Z', '2024-10-27T02:00:00Z'],
  ['day', '2024-03-31T12:00:00Z', '2024-03-31T00:00:00Z', '2024-03-31T23:00:00Z'],
  ['day', '2024-03-31T23:30:00Z', '2024-03-31T23:00:00Z', '2024-04-01T23:00:00Z'],
  ['day', '2024-10-27T12:00:00Z', '2024-10-26T23:00:00Z', '2024-10-28T00:00:00Z'],
  ['week', '2024-03-31T12:00:00Z', '2024-03-25T00:00:00Z', '2024-03-31T23:00:00Z'],
  ['week', '2024-10-27T23:59:59Z', '2024-10-20T23:00:00Z', '2024-10-28T00:00:00Z'],
  ['month', '2024-03-31T23:30:00Z', '2024-03-31T23:00:00Z', '2024-04-30T23:00:00Z'],
  ['month', '2024-10-31T12:00:00Z', '2024-09-30T23:00:00Z', '2024-11-01T00:00:00Z'],
  ['quarter', '2024-05-05T12:00:00Z', '2024-03-31T23:00:00Z', '2024-06-30T23:00:00Z'],
  ['year', '2024-07-01T12:00:00Z', '2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z'],
])('the %s around %s', (unit, at, start, end) => {
  expect(dublin.floor(utc(at), unit)).toBe(utc(start));
  expect(dublin.next(utc(start), unit)).toBe(utc(end));
});

test('a midnight that does not exist gives way to the first instant after the gap', () => {
  // Santiago springs forward at midnight.
  const santiago = new Zone('America/Santiago');
  expect(santiago.startOfDate('2024-09-08')).toBe(utc('2024-09-08T04:00:00Z'));
  expect(santiago.dateOf(utc('2024-09-08T03:59:59Z'))).toBe('2024-09-07');
});

test('no such zone', () => {
  expect(() => new Zone('Mars/Olympus')).toThrow(RangeError);
});
