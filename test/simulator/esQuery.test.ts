// Which documents each kind of query finds, on analysed and on exact fields.
import { expect, test } from 'vitest';
import { search } from '../../src/simulator/elasticsearch.ts';
import { look } from './visitor.ts';

const HEAT = 'HEAT_METER_READ_SERVICE';
const at = (iso: string) => [{ time_of_read: { date: Date.parse(iso) }, identifier: `M-${iso.slice(0, 4)}` }];
const documents = [
  {
    n: 0,
    service_type: HEAT,
    customer_id: 7,
    resource_name: 'Euro',
    amount: 1,
    event_fields: at('2024-01-31T00:00:05Z'),
  },
  {
    n: 1,
    service_type: HEAT,
    customer_id: 7,
    resource_name: 'Heat - Meter Value',
    amount: 900,
    event_fields: at('2024-06-30T23:00:05Z'),
  },
  {
    n: 2,
    service_type: HEAT,
    customer_id: 71,
    resource_name: 'Euro',
    amount: -2,
    event_fields: at('2025-01-31T12:00:00Z'),
  },
  { n: 3, service_type: 'WATER_METER_READ_SERVICE', customer_id: 7, resource_name: 'Euro', event_fields: [] },
];

function found(query: unknown, mapping?: Parameters<typeof search>[2]): unknown[] {
  const answer = search(documents, { query }, mapping);
  expect(answer.status).toBe(200);
  return answer.matched.map(({ n }) => n);
}

const nested = (query: unknown) => ({ nested: { path: 'event_fields', query } });
const date = (bounds: unknown) => nested({ range: { 'event_fields.time_of_read.date': bounds } });

test('term on analysed text does not find the word that was stored, match and query_string do', () => {
  expect(found({ term: { service_type: HEAT } })).toEqual([]);
  expect(found({ terms: { service_type: [HEAT] } })).toEqual([]);
  expect(found({ match: { service_type: HEAT } })).toEqual([0, 1, 2]);
  expect(found({ match_phrase: { service_type: { query: HEAT } } })).toEqual([0, 1, 2]);
  expect(found({ query_string: { query: `service_type:${HEAT}` } })).toEqual([0, 1, 2]);
  const keyword = { mapping: { service_type: 'keyword' } } as const;
  expect(found({ term: { service_type: HEAT } }, keyword)).toEqual([0, 1, 2]);
  expect(found({ match: { service_type: HEAT.toLowerCase() } }, keyword)).toEqual([]);
});

test('numbers are asked as number or text, and a prefix is not enough', () => {
  expect(found({ term: { customer_id: 7 } })).toEqual([0, 1, 3]);
  expect(found({ term: { customer_id: { value: '7' } } })).toEqual([0, 1, 3]);
  expect(found({ terms: { customer_id: [7, '71'] } })).toEqual([0, 1, 2, 3]);
  expect(found({ match: { customer_id: '71' } })).toEqual([2]);
});

test('exact names with blanks', () => {
  expect(found({ terms: { resource_name: ['Heat - Meter Value'] } })).toEqual([1]);
  expect(found({ match: { resource_name: 'Heat' } })).toEqual([]);
  expect(found({ query_string: { query: 'resource_name:"Heat - Meter Value"' } })).toEqual([1]);
});

test.each([
  [`service_type:${HEAT} AND customer_id:7`, [0, 1]],
  [`service_type:"${HEAT}" AND customer_id:"71"`, [2]],
  [`(service_type:${HEAT}) AND (customer_id:7 OR customer_id:71)`, [0, 1, 2]],
  [`service_type:${HEAT} AND NOT customer_id:7`, [2]],
  ['customer_id:(7 OR 71) AND resource_name:Euro', [0, 2, 3]],
  ['customer_id:71 resource_name:"Heat - Meter Value"', [1, 2]],
  ['customer_id:[8 TO *]', [2]],
  ['resource_name:Heat*', [1]],
  ['amount:*', [0, 1, 2]],
  [HEAT, [0, 1, 2]],
  ['nobody:7', []],
])('query_string %s', (query, expected) => {
  expect(found({ query_string: { query } })).toEqual(expected);
});

test('query_string with fields and an operator of its own', () => {
  expect(found({ query_string: { query: '7', fields: ['customer_id'] } })).toEqual([0, 1, 3]);
  expect(found({ query_string: { query: '71', default_field: 'customer_id' } })).toEqual([2]);
  const query = 'customer_id:7 resource_name:Euro';
  expect(found({ query_string: { query, default_operator: 'AND' } })).toEqual([0, 3]);
});

test('bool with single clauses and lists, should alone and beside others', () => {
  const euro = { term: { resource_name: 'Euro' } };
  const seven = { term: { customer_id: 7 } };
  expect(found({ bool: { filter: euro, must: [seven] } })).toEqual([0, 3]);
  expect(found({ bool: { must_not: euro } })).toEqual([1]);
  expect(found({ bool: { should: [euro, seven] } })).toEqual([0, 1, 2, 3]);
  expect(found({ bool: { filter: [seven], should: [euro] } })).toEqual([0, 1, 3]);
  expect(found({ bool: { should: [euro, seven], minimum_should_match: 2 } })).toEqual([0, 3]);
  expect(found({ bool: {} })).toEqual([0, 1, 2, 3]);
});

test('ranges of instants, as numbers, text, local dates and with their ends', () => {
  const june = Date.parse('2024-06-30T23:00:05Z');
  expect(found(date({ gte: june, lt: june + 1 }))).toEqual([1]);
  expect(found(date({ gt: june }))).toEqual([2]);
  expect(found(date({ lte: String(june), format: 'epoch_millis' }))).toEqual([0, 1]);
  expect(found(date({ gte: '2024-07-01', lt: '2024-07-02', time_zone: 'Europe/Dublin' }))).toEqual([1]);
  expect(found(date({ gte: '2024-07-01', lt: '2024-07-02' }))).toEqual([]);
  expect(found(date({ lte: '2025-01-31' }))).toEqual([0, 1, 2]);
  expect(found(date({ lt: '2025-01-31' }))).toEqual([0, 1]);
  expect(found({ range: { amount: { gte: 0 } } })).toEqual([0, 1]);
});

test('nested, exists and match_all', () => {
  expect(found(nested({ term: { 'event_fields.identifier': 'M-2025' } }))).toEqual([2]);
  expect(found(nested({ term: { customer_id: 7 } }))).toEqual([]);
  expect(found({ exists: { field: 'amount' } })).toEqual([0, 1, 2]);
  expect(found(nested({ exists: { field: 'event_fields.identifier' } }))).toEqual([0, 1, 2]);
  expect(found({ match_all: {} })).toEqual([0, 1, 2, 3]);
});

test.each([
  [{ fuzzy: { service_type: HEAT } }, 'no [query] registered for [fuzzy]'],
  [{ toString: {} }, 'no [query] registered for [toString]'],
  [{}, 'empty clause'],
  [{ term: { customer_id: 7 }, match_all: {} }, 'malformed'],
  [{ term: { customer_id: 'seven' } }, 'For input string: "seven"'],
  [{ terms: { customer_id: 7 } }, 'single value'],
  [{ bool: { musst: [] } }, 'unknown field [musst]'],
  [
    { nested: { path: 'events', query: { match_all: {} } } },
    'failed to find nested object under path [events]',
  ],
  [date({ gte: 'yesterday' }), 'failed to parse date field [yesterday]'],
  [{ query_string: { query: 'customer_id:(7' } }, 'Failed to parse query'],
])('refused: %j', (query, reason) => {
  const answer = search(documents, { query });
  expect(answer.status).toBe(400);
  expect(look(answer.body, 'error.reason')).toContain(reason);
});
