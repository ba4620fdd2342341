// Date histograms against sums worked out by hand, both clock changes included.
import { expect, test } from 'vitest';
import { search } from '../../src/simulator/elasticsearch.ts';
import type { SearchDocument } from '../../src/simulator/esFields.ts';
import { look } from './visitor.ts';

const DATE = 'event_fields.time_of_read.date';

function reading(
  at: string,
  quantity: number,
  amount: number,
  resource_name = 'Heat - Meter Value',
): SearchDocument {
  const event_fields = [{ time_of_read: { date: Date.parse(at) }, identifier: 'M1' }];
  return {
    service_type: 'HEAT_METER_READ_SERVICE',
    customer_id: 7,
    resource_name,
    amount,
    quantity,
    event_fields,
  };
}

// Local midnight is 00:00Z until 31 March, 23:00Z of the day before from 1 April on, 00:00Z again from 28 October.
const spring = [
  reading('2024-03-30T00:00:10Z', 1, 100),
  reading('2024-03-31T00:00:10Z', 2, 102),
  reading('2024-03-31T23:00:10Z', 4, 106),
  reading('2024-04-02T23:00:10Z', 8, 114),
];
const autumn = [
  reading('2024-10-25T23:00:10Z', 1, 1),
  reading('2024-10-26T23:00:10Z', 2, 1),
  reading('2024-10-28T00:00:10Z', 4, 1),
];

function daily(documents: readonly SearchDocument[], histogram: Record<string, unknown> = {}, size = 0) {
  const sums = { kwh: { sum: { field: 'quantity' } }, eur: { sum: { field: 'amount' } } };
  const parameters = { field: DATE, interval: 'day', time_zone: 'Europe/Dublin', ...histogram };
  const days = { date_histogram: parameters, aggs: { up: { reverse_nested: {}, aggs: sums } } };
  const events = { nested: { path: 'event_fields' }, aggs: { days } };
  const by = { terms: { field: 'resource_name' }, aggs: { events } };
  return search(documents, { size, aggs: { by } });
}

function rows(answer: ReturnType<typeof search>): [string, number, unknown][] {
  const buckets = look(answer.body, 'aggregations.by.buckets.0.events.days.buckets') as Record<
    string,
    unknown
  >[];
  return buckets.map((one) => [
    new Date(Number(one.key)).toISOString().slice(0, 13),
    Number(one.doc_count),
    look(one, 'up.kwh.value'),
  ]);
}

test('days over the spring change, the gap filled with a bucket that counts nothing', () => {
  expect(rows(daily(spring))).toEqual([
    ['2024-03-30T00', 1, 1],
    ['2024-03-31T00', 1, 2],
    ['2024-03-31T23', 1, 4],
    ['2024-04-01T23', 0, 0],
    ['2024-04-02T23', 1, 8],
  ]);
});

test('days over the autumn change', () => {
  expect(rows(daily(autumn))).toEqual([
    ['2024-10-25T23', 1, 1],
    ['2024-10-26T23', 1, 2],
    ['2024-10-28T00', 1, 4],
  ]);
});

test('without a time zone the same readings fall into other days', () => {
  expect(rows(daily(spring, { time_zone: 'UTC' })).map(([start, count]) => [start, count])).toEqual([
    ['2024-03-30T00', 1],
    ['2024-03-31T00', 2],
    ['2024-04-01T00', 0],
    ['2024-04-02T00', 1],
  ]);
});

test('weeks from Monday, months, quarters, years', () => {
  expect(rows(daily(spring, { interval: 'week' }))).toEqual([
    ['2024-03-25T00', 2, 3],
    ['2024-03-31T23', 2, 12],
  ]);
  expect(rows(daily(spring, { interval: 'month' }))).toEqual([
    ['2024-03-01T00', 2, 3],
    ['2024-03-31T23', 2, 12],
  ]);
  expect(rows(daily(spring, { interval: 'quarter' }))).toEqual([
    ['2024-01-01T00', 2, 3],
    ['2024-03-31T23', 2, 12],
  ]);
  expect(rows(daily(spring, { interval: 'year' }))).toEqual([['2024-01-01T00', 4, 15]]);
});

test('min_doc_count drops empty buckets, extended_bounds adds some on both sides', () => {
  expect(rows(daily(spring, { min_doc_count: 1 })).map(([start]) => start)).not.toContain('2024-04-01T23');
  const bounds = { min: Date.parse('2024-03-29T05:00:00Z'), max: '2024-04-04' };
  expect(rows(daily(spring, { extended_bounds: bounds })).map(([start, count]) => [start, count])).toEqual([
    ['2024-03-29T00', 0],
    ['2024-03-30T00', 1],
    ['2024-03-31T00', 1],
    ['2024-03-31T23', 1],
    ['2024-04-01T23', 0],
    ['2024-04-02T23', 1],
    ['2024-04-03T23', 0],
  ]);
});

test('key_as_string names the wrong day in summer', () => {
  const last = look(daily(spring).body, 'aggregations.by.buckets.0.events.days.buckets.4');
  expect(look(last, 'key_as_string')).toBe('2024-04-02');
});

test('calendar_interval is a word of later versions', () => {
  const answer = daily(spring, { interval: undefined, calendar_interval: 'day' });
  expect(answer.status).toBe(400);
  expect(look(answer.body, 'error.reason')).toContain('unknown field [calendar_interval]');
});

test('hits come along unless size is 0', () => {
  expect(look(search(spring, {}).body, 'hits.hits.0._source.quantity')).toBe(1);
  expect(look(daily(spring).body, 'hits.hits')).toEqual([]);
});

test('too many buckets are an error of the server', () => {
  const bounds = { min: Date.parse('1980-01-01'), max: Date.parse('2024-05-01') };
  expect(daily(spring, { extended_bounds: bounds }).status).toBe(503);
});
