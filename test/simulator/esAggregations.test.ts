// Aggregations beside the histogram, the traps of nested documents, and questions that are refused.
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

const spring = [
  reading('2024-03-30T00:00:10Z', 1, 100),
  reading('2024-03-31T00:00:10Z', 2, 102),
  reading('2024-03-31T23:00:10Z', 4, 106),
  reading('2024-04-02T23:00:10Z', 8, 114),
];

test('a histogram or range on the nested date finds nothing without its wrapper', () => {
  const bare = { days: { date_histogram: { field: DATE, interval: 'day' } } };
  expect(look(search(spring, { aggs: bare }).body, 'aggregations.days.buckets')).toEqual([]);
  const range = { range: { [DATE]: { gte: Date.parse('2024-03-31T00:00:00Z') } } };
  expect(search(spring, { query: range }).matched).toHaveLength(0);
  expect(search(spring, { query: { nested: { path: 'event_fields', query: range } } }).matched).toHaveLength(
    3,
  );
});

test('sums inside nested are zero unless one steps back out, and each document counts once', () => {
  const twice = { ...reading('2024-01-01T00:00:00Z', 5, 9) };
  const event_fields = [...twice.event_fields, ...twice.event_fields];
  const sum = { sum: { field: 'quantity' } };
  const aggs = {
    events: { nested: { path: 'event_fields' }, aggs: { sum, up: { reverse_nested: {}, aggs: { sum } } } },
  };
  const { body } = search([{ ...twice, event_fields }], { aggs });
  expect(look(body, 'aggregations.events.doc_count')).toBe(2);
  expect(look(body, 'aggregations.events.sum.value')).toBe(0);
  expect(look(body, 'aggregations.events.up.sum.value')).toBe(5);
  expect(search(spring, { aggs: { up: { reverse_nested: {} } } }).status).toBe(400);
});

test('the order of the steps is free: days first, resources inside', () => {
  const documents = [...spring, reading('2024-03-31T00:00:10Z', 2, 0.9, 'Euro')];
  const eur = { sum: { field: 'amount' } };
  const by = { terms: { field: 'resource_name' }, aggs: { eur } };
  const days = {
    date_histogram: { field: DATE, interval: 'day', time_zone: 'Europe/Dublin' },
    aggs: { up: { reverse_nested: {}, aggs: { by } } },
  };
  const { body } = search(documents, {
    aggs: { events: { nested: { path: 'event_fields' }, aggs: { days } } },
  });
  const second = look(body, 'aggregations.events.days.buckets.1');
  expect(look(second, 'doc_count')).toBe(2);
  expect(look(second, 'up.by.buckets.0')).toEqual({ key: 'Euro', doc_count: 1, eur: { value: 0.9 } });
});

test('filter, filters, terms by count, value_count, min and max', () => {
  const documents = [...spring, reading('2024-03-31T00:00:10Z', 2, 0.9, 'Euro')];
  const heat = { term: { resource_name: 'Heat - Meter Value' } };
  const { body } = search(documents, {
    aggs: {
      one: {
        filter: heat,
        aggs: { low: { min: { field: 'quantity' } }, high: { max: { field: 'quantity' } } },
      },
      named: { filters: { filters: { heat, euro: { term: { resource_name: 'Euro' } } } } },
      by: { terms: { field: 'resource_name', size: 1 } },
      all: { value_count: { field: 'quantity' } },
      none: {
        filter: { term: { customer_id: 8 } },
        aggs: { sum: { sum: { field: 'amount' } }, low: { min: { field: 'amount' } } },
      },
    },
  });
  expect(look(body, 'aggregations.one')).toEqual({ doc_count: 4, low: { value: 1 }, high: { value: 8 } });
  expect(look(body, 'aggregations.named.buckets')).toEqual({
    heat: { doc_count: 4 },
    euro: { doc_count: 1 },
  });
  expect(look(body, 'aggregations.by.buckets')).toEqual([{ key: 'Heat - Meter Value', doc_count: 4 }]);
  expect(look(body, 'aggregations.by.sum_other_doc_count')).toBe(1);
  expect(look(body, 'aggregations.all.value')).toBe(5);
  expect(look(body, 'aggregations.none')).toEqual({ doc_count: 0, sum: { value: 0 }, low: { value: null } });
});

test.each([
  [{ aggs: { x: { histogram: { field: 'amount' } } } }, 400],
  [{ aggs: { x: { terms: { field: 'service_type' } } } }, 400],
  [{ aggs: { x: { sum: { field: 'amount' }, min: { field: 'amount' } } } }, 400],
  [{ aggs: { x: { sum: { field: 'amount' }, aggs: { y: { sum: { field: 'amount' } } } } } }, 500],
  [{ aggs: { x: { date_histogram: { field: DATE, interval: 'fortnight' } } } }, 400],
  [{ aggs: { x: { date_histogram: { field: DATE, interval: 'day', time_zone: 'Mars/Olympus' } } } }, 400],
  [{ filter: {} }, 400],
  ['not an object', 400],
])('a question it does not understand is refused: %j', (body, status) => {
  const answer = search(spring, body);
  expect([answer.status, look(answer.body, 'status')]).toEqual([status, status]);
  expect(look(answer.body, 'error.root_cause.0.reason')).toBeTypeOf('string');
});
