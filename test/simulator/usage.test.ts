// Answers to the usage question against sums worked out by hand, both clock changes included.
import { expect, test } from 'vitest';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { answer, BUCKETS, changed, FILTERS, HISTOGRAM, type Json, usageQuestion } from './usageQuestion.ts';
import { look } from './visitor.ts';

// Local midnight is 00:00Z until 31 March, then 23:00Z of the day before; 00:00Z again from 28 October on.
const reading = (at: string, kwh: number, register = 0): ExplicitEvent => {
  return { at: Date.parse(at), kwh, eur: null, register };
};
const SPRING = [
  reading('2024-03-30T00:00:10Z', 1, 100),
  reading('2024-03-31T00:00:10Z', 2, 102),
  reading('2024-03-31T23:00:10Z', 4, 106),
  reading('2024-04-02T23:00:10Z', 8, 114),
];
const AUTUMN = [
  reading('2024-10-25T23:00:10Z', 1),
  reading('2024-10-26T23:00:10Z', 2),
  reading('2024-10-27T00:30:00Z', 4),
  reading('2024-10-27T01:30:00Z', 8),
];
const inSpring = (changes: Json = {}) =>
  usageQuestion(7, '2024-03-29T00:00:00.000Z', '2024-04-04T22:59:59.999Z', changes);
const inAutumn = usageQuestion(7, '2024-10-25T23:00:00.000Z', '2024-10-27T23:59:59.999Z');
const spring = (changes: Json = {}, ...keys: (readonly string[])[]) =>
  rows(answer(inSpring(changes), SPRING, ...keys));

function rows(body: unknown): [string, number, unknown][] {
  return (look(body, `${BUCKETS}.0.readings.intervals.buckets`) as Json[]).map((one) => [
    new Date(Number(one.key)).toISOString().slice(0, 13),
    Number(one.doc_count),
    look(one, 'documents.quantity.value'),
  ]);
}

test('days over the spring change, empty ones included up to the bounds', () => {
  expect(spring()).toEqual([
    ['2024-03-29T00', 0, 0],
    ['2024-03-30T00', 1, 1],
    ['2024-03-31T00', 1, 2],
    ['2024-03-31T23', 1, 4],
    ['2024-04-01T23', 0, 0],
    ['2024-04-02T23', 1, 8],
    ['2024-04-03T23', 0, 0],
  ]);
});

test('days over the autumn change', () => {
  expect(rows(answer(inAutumn, AUTUMN))).toEqual([
    ['2024-10-25T23', 1, 1],
    ['2024-10-26T23', 3, 14],
  ]);
});

test.each([
  ['week', ['2024-03-25T00', 3], ['2024-03-31T23', 12]],
  ['month', ['2024-03-01T00', 3], ['2024-03-31T23', 12]],
  ['quarter', ['2024-01-01T00', 3], ['2024-03-31T23', 12]],
  ['year', ['2024-01-01T00', 15]],
])('one bucket for each %s', (interval, ...expected) => {
  const found = spring({ [`${HISTOGRAM}.interval`]: interval });
  expect(found.map(([start, , kwh]) => [start, kwh])).toEqual(expected);
});

test('in another zone the same readings are on other days', () => {
  const days = spring({ [`${HISTOGRAM}.time_zone`]: 'UTC' });
  expect(days.filter(([, count]) => count > 0)).toEqual([
    ['2024-03-30T00', 1, 1],
    ['2024-03-31T00', 2, 6],
    ['2024-04-02T00', 1, 8],
  ]);
});

test('resources by the number of documents; the amount of the heat is the register, no money', () => {
  const at = Date.parse('2024-03-30T00:00:10Z');
  const body = answer(inSpring(), [{ at, kwh: 1, eur: null, register: 100, charges: [0.1, 0.2, 0.3] }]);
  const [euro, heat] = look(body, BUCKETS) as Json[];
  expect(euro).toMatchObject({ key: 'Euro', doc_count: 3, readings: { doc_count: 3 } });
  // Added up as floating point numbers. The first charge is for the heat, the others carry none.
  expect(look(euro, 'readings.intervals.buckets.1.documents')).toEqual({
    doc_count: 3,
    amount: { value: 0.6000000000000001 },
    quantity: { value: 1 },
  });
  expect(heat).toMatchObject({ key: 'Heat - Meter Value', doc_count: 1 });
  expect(look(heat, 'readings.intervals.buckets.1.documents.amount.value')).toBe(100);
  expect(look(body, 'hits')).toEqual({ total: { value: 4, relation: 'eq' }, max_score: null, hits: [] });
  expect(body).toMatchObject({ timed_out: false, _shards: { failed: 0 } });
});

test('only what was asked for: property, service, resource and time; nothing found is no bucket', () => {
  const total = (changes: Json) => look(answer(inSpring(changes), SPRING), 'hits.total.value');
  expect(total({})).toBe(4);
  expect(total({ [`${FILTERS}.1.query_string.query`]: '"7"' })).toBe(4);
  expect(total({ [`${FILTERS}.0.query_string.query`]: 'WATER_METER_READ_SERVICE' })).toBe(0);
  expect(total({ [`${FILTERS}.2.terms.resource_name`]: ['Euro'] })).toBe(0);
  const later = usageQuestion(7, '2024-04-02T23:00:11.000Z', '2024-05-01T00:00:00.000Z');
  expect(look(answer(later, SPRING), BUCKETS)).toEqual([]);
});

test('another client may put it in other words: must, groups, one sum in each histogram, UTC as an offset', () => {
  const asked = inSpring();
  const [service, customer, resource, time] = look(asked, FILTERS) as Json[];
  const must = [
    customer,
    changed(Object(service), { 'query_string.query': '(HEAT_METER_READ_SERVICE)' }),
    resource,
  ];
  const history = (field: string) => {
    const aggs = { back: { reverse_nested: {}, aggs: { total: { sum: { field } } } } };
    const date_histogram = { ...Object(look(asked, HISTOGRAM)), time_zone: '+00:00' };
    return { nested: { path: 'event_fields' }, aggs: { history: { date_histogram, aggs } } };
  };
  const aggs = {
    chart: {
      terms: { field: 'resource_name' },
      aggs: { money: history('amount'), heat: history('quantity') },
    },
  };
  const events = [{ ...reading('2024-03-30T00:00:10Z', 3, 100), charges: [0.372, 0.686] }];
  const body = answer({ size: 0, query: { bool: { filter: time, must } }, aggs }, events);
  const [euro, heat] = look(body, 'aggregations.chart.buckets') as Json[];
  expect([euro?.key, heat?.key]).toEqual(['Euro', 'Heat - Meter Value']);
  const second = (one: unknown, name: string) => look(one, `${name}.history.buckets.1`);
  expect(second(euro, 'money')).toMatchObject({
    doc_count: 2,
    back: { doc_count: 2, total: { value: 1.058 } },
  });
  expect(second(euro, 'heat')).toMatchObject({ back: { total: { value: 3 } } });
  expect(second(heat, 'heat')).toMatchObject({ doc_count: 1, back: { total: { value: 3 } } });
});

test('key_as_string names the wrong day in summer', () => {
  const body = answer(inSpring(), SPRING);
  expect(look(body, `${BUCKETS}.0.readings.intervals.buckets.3.key_as_string`)).toBe('2024-03-31');
});

test('calendar_interval means the same to an engine that wants it', () => {
  const asked = { [`${HISTOGRAM}.interval`]: undefined, [`${HISTOGRAM}.calendar_interval`]: 'day' };
  expect(spring(asked, ['calendar_interval'])).toEqual(spring());
});
