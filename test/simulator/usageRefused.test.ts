// What the simulator does not answer: what no client of it asks, or what Elasticsearch refuses.
import { expect, test } from 'vitest';
import {
  DOCUMENTS,
  FILTERS,
  HISTOGRAM,
  type Json,
  NEWEST,
  RANGE,
  READ_AT,
  READINGS,
  refusal,
  usageQuestion,
} from './usageQuestion.ts';

const LATER = '2025-01-01T00:00:00.000Z';
const question = (changes: Json = {}) =>
  usageQuestion(7, '2024-03-29T00:00:00.000Z', '2024-04-04T22:59:59.999Z', changes);

const STRING = `${FILTERS}.0.query_string`;
const CUSTOMER = `${FILTERS}.1.query_string.query`;
const MISSING = '[bool] must filter by service, customer, resource and time';
/** What changes about the question and to what, and the reason that the engine gives. */
test.each<[string, unknown, string]>([
  ['size', undefined, '[size] must be 0'],
  ['size', 10, '[size] must be 0'],
  ['magic', {}, '[body] unknown field [magic]'],
  ['query', {}, '[query] must have one of [bool]'],
  ['query', { match_all: {} }, '[query] unknown field [match_all]'],
  ['query.bool', 1, '[bool] must be an object'],
  ['query.bool.should', [], '[bool] unknown field [should]'],
  ['query.bool.must', { terms: { resource_name: [] } }, MISSING],
  [FILTERS, [], MISSING],
  [`${FILTERS}.0`, { term: {} }, '[bool] unknown field [term]'],
  [`${STRING}.fields`, ['x'], '[query_string] needs one field'],
  [`${STRING}.fields`, ['service_type', 'x'], '[query_string] needs one field'],
  [`${STRING}.x`, 1, '[query_string] unknown field [x]'],
  [CUSTOMER, 'seven', 'failed to create query: For input string: "seven"'],
  ...['AND', '7 OR 8', '7*', 'a:(b', ''].map((query): [string, string, string] => [
    CUSTOMER,
    query,
    `Failed to parse query [${query}]`,
  ]),
  [`${FILTERS}.2.terms.resource_name`, 'x', '[terms] needs a list of names'],
  [`${FILTERS}.3.nested.x`, 1, '[nested] unknown field [x]'],
  [`${FILTERS}.3.nested.path`, 'x', '[nested] failed to find nested object under path [x]'],
  [RANGE, { amount: {} }, '[range] unknown field [amount]'],
  [RANGE, { [READ_AT]: { gt: 0 } }, '[range] unknown field [gt]'],
  [RANGE, { [READ_AT]: { gte: 'x' } }, 'failed to parse date field [x]'],
  [`${HISTOGRAM}.format`, 'epoch_millis', 'with format [epoch_millis]'],
  ['aggs', {}, 'Missing definition for aggregation [aggs]'],
  ['aggs.x', { avg: {} }, '[x] unknown field [avg]'],
  ['aggs.x', { reverse_nested: {}, aggs: {} }, '[reverse_nested] is not supported at [x]'],
  ['aggs.resources.aggs', {}, 'Missing definition for aggregation [resources]'],
  ['aggs.resources.sum', {}, '[resources] must have one of [terms, '],
  ['aggs.resources.terms.x', 2, '[terms] unknown field [x]'],
  ['aggs.resources.terms.field', 'x', 'Field [x] is not supported for [resources]'],
  [`${READINGS}.nested.path`, 'x', 'Field [x] is not supported for [readings]'],
  [`${HISTOGRAM}.field`, 'x', 'Field [x] is not supported for [intervals]'],
  [`${HISTOGRAM}.keyed`, true, '[date_histogram] unknown field [keyed]'],
  [`${HISTOGRAM}.calendar_interval`, 'day', '[date_histogram] unknown field [calendar_interval]'],
  [`${HISTOGRAM}.interval`, undefined, '[date_histogram] does not know the interval [undefined]'],
  [`${HISTOGRAM}.interval`, '2d', '[date_histogram] does not know the interval [2d]'],
  [`${HISTOGRAM}.min_doc_count`, -1, '[min_doc_count] must be 0'],
  [`${HISTOGRAM}.time_zone`, 'Mars/Olympus', 'Unknown time-zone ID: Mars/Olympus'],
  [`${HISTOGRAM}.extended_bounds`, undefined, '[extended_bounds] must be an object'],
  [`${HISTOGRAM}.extended_bounds.min`, LATER, '[extended_bounds] must not end before they begin'],
  [NEWEST, { sum: { field: 'amount' } }, '[sum] is not supported at [newest]'],
  [`${NEWEST}.max.field`, 'x', 'Field [x] is not supported for [newest]'],
  [`${NEWEST}.max.missing`, 0, '[max] unknown field [missing]'],
  [`${DOCUMENTS}.aggs.amount.aggs`, {}, '[amount] cannot accept sub-aggregations'],
])('refused: %s as %j', (path, value, expected) => {
  expect(refusal(question({ [path]: value }))).toEqual([400, expect.stringContaining(expected)]);
});

test.each([[[]], ['x'], [undefined]])('no object: %j', (body) => {
  expect(refusal(body)).toEqual([400, '[body] must be an object']);
});

test('too many buckets are an error of the server', () => {
  const many = question({ [`${HISTOGRAM}.extended_bounds.min`]: '1970-01-01T00:00:00.000Z' });
  expect(refusal(many)).toEqual([503, 'Trying to create too many buckets']);
});

test('the interval of a newer engine has another name', () => {
  expect(refusal(question(), ['calendar_interval'])).toEqual([
    400,
    '[date_histogram] unknown field [interval]',
  ]);
});
