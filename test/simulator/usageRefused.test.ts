// What the simulator does not answer, refused in the words of Elasticsearch 7.1.1 where it has some.
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
import { look } from './visitor.ts';

const LATER = '2025-01-01T00:00:00.000Z';
const question = (changes: Json = {}) =>
  usageQuestion(7, '2024-03-29T00:00:00.000Z', '2024-04-04T22:59:59.999Z', changes);

const STRING = `${FILTERS}.0.query_string`;
const RESOURCE = `${FILTERS}.2.terms.resource_name`;
const NO_DEFINITION = 'parsing_exception: Missing definition for aggregation [resources]';
/** What changes about the question and to what, and the type and the reason that the engine gives. */
test.each<[string, unknown, string]>([
  ['size', undefined, 'parsing_exception: Missing [size], expected [0]'],
  ['size', 10, 'parsing_exception: Unknown key for a VALUE_NUMBER in [size].'],
  ['magic', {}, 'parsing_exception: Unknown key for a START_OBJECT in [magic].'],
  ['query', {}, 'illegal_argument_exception: query malformed, empty clause found at [1:1]'],
  ['query', { match_all: {} }, 'parsing_exception: no [query] registered for [match_all]'],
  ['query.x', {}, 'parsing_exception: [bool] malformed query, expected [END_OBJECT] but found [FIELD_NAME]'],
  ['query.bool', 1, 'parsing_exception: [bool] query malformed, no start_object after query name'],
  ['query.bool.should', [], 'parsing_exception: [bool] query does not support [should]'],
  [
    'query.bool.must',
    { terms: { resource_name: [] } },
    'parsing_exception: [bool] malformed query, expected filters',
  ],
  [`${FILTERS}.0`, { term: {} }, 'parsing_exception: no [query] registered for [term]'],
  [`${STRING}.fields`, ['x'], 'parsing_exception: [bool] malformed query, expected filters'],
  [`${STRING}.query`, 1, 'parsing_exception: [query_string] must be provided with a [query]'],
  [`${STRING}.x`, 1, 'parsing_exception: [query_string] query does not support [x]'],
  [`${FILTERS}.1.query_string.query`, 'seven', 'failed to create query: For input string: "seven"'],
  [RESOURCE, 'x', 'parsing_exception: [terms] query does not support [resource_name]'],
  [`${FILTERS}.3.nested.x`, 1, 'parsing_exception: [nested] query does not support [x]'],
  [`${FILTERS}.3.nested.path`, 'x', '[nested] failed to find nested object under path [x]'],
  [RANGE, { amount: {} }, 'parsing_exception: [range] query does not support [amount]'],
  [RANGE, { [READ_AT]: { gt: 0 } }, 'parsing_exception: [range] query does not support [gt]'],
  [RANGE, { [READ_AT]: { gte: 'x', format: 'yyyy' } }, 'parse_exception: failed to parse date field [x]'],
  ['aggs.x', { y: {} }, 'unable to parse BaseAggregationBuilder with name [y]: parser not found'],
  ['aggs.resources', {}, NO_DEFINITION],
  ['aggs.resources.aggs', {}, NO_DEFINITION],
  ['aggs.resources.sum', {}, 'Found two aggregation type definitions in [resources]: [terms] and [sum]'],
  [
    'aggs.resources.terms.x',
    2,
    'x_content_parse_exception: [1:1] [terms] unknown field [x], parser not found',
  ],
  [
    'aggs.resources.terms.field',
    'x',
    'Field [x] is not supported for aggregation [resources] of type [terms]',
  ],
  [`${HISTOGRAM}.field`, 'x', 'Field [x] is not supported for aggregation [intervals]'],
  [`${HISTOGRAM}.keyed`, true, '[date_histogram] unknown field [keyed], parser not found'],
  [`${HISTOGRAM}.interval`, undefined, 'Zero or negative time interval not supported'],
  [`${HISTOGRAM}.interval`, '2d', 'with value [2d] as a time value: unit is missing or unrecognized'],
  [`${HISTOGRAM}.interval`, 'minute', 'with value [minute] as a time value: unit is missing or unrecognized'],
  [`${HISTOGRAM}.min_doc_count`, -1, '[date_histogram] failed to parse field [min_doc_count]'],
  [`${HISTOGRAM}.time_zone`, 'Mars/Olympus', '[date_histogram] failed to parse field [time_zone]'],
  [`${HISTOGRAM}.extended_bounds`, undefined, 'Expected [START_OBJECT] under [extended_bounds]'],
  [`${HISTOGRAM}.extended_bounds.x`, 0, '[extended_bounds] unknown field [x], parser not found'],
  [`${HISTOGRAM}.extended_bounds.min`, LATER, '] cannot be greater than [extended_bounds.max]['],
  [`${NEWEST}.max.field`, 'x', 'Field [x] is not supported for aggregation [newest] of type [max]'],
  [`${NEWEST}.max.missing`, 0, '[max] unknown field [missing], parser not found'],
  [`${READINGS}.nested.path`, 'x', 'Field [x] is not supported for aggregation [readings] of type [nested]'],
  [
    NEWEST,
    { sum: { field: 'amount' } },
    'Field [amount] is not supported for aggregation [newest] of type [sum]',
  ],
  ['aggs.x', { reverse_nested: {}, aggs: {} }, 'for aggregation [x] of type [reverse_nested]'],
  [`${DOCUMENTS}.aggs.amount.sum.field`, 'x', 'Field [x] is not supported for aggregation [amount]'],
  [`${DOCUMENTS}.aggs.amount`, { avg: {} }, 'named_object_not_found_exception: [1:1] unable to parse'],
])('refused: %s as %j', (path, value, expected) => {
  const { status, error } = refusal(question({ [path]: value }));
  expect(status).toBe(400);
  expect(`${look(error, 'root_cause.0.type')}: ${look(error, 'root_cause.0.reason')}`).toContain(expected);
});

test.each([
  [[], 'START_ARRAY'],
  ['x', 'VALUE_STRING'],
  [undefined, 'VALUE_NULL'],
])('no object: %j', (body, found) => {
  expect(refusal(body).error).toMatchObject({
    type: 'parsing_exception',
    reason: `Expected [START_OBJECT] but found [${found}]`,
  });
});

test('a sum with something below it, and too many buckets, are errors of the server', () => {
  const below = refusal(question({ [`${DOCUMENTS}.aggs.amount.aggs`]: {} }));
  expect([below.status, below.error.type]).toEqual([500, 'aggregation_initialization_exception']);
  const many = refusal(question({ [`${HISTOGRAM}.extended_bounds.min`]: '1970-01-01T00:00:00.000Z' }));
  expect([many.status, many.error.type]).toEqual([503, 'too_many_buckets_exception']);
});

test.each(['AND', '7 OR 8', '7*', 'a:(b', ''])('a query string that is no single term: %s', (query) => {
  const { status, error } = refusal(question({ [`${FILTERS}.1.query_string.query`]: query }));
  const cause = { type: 'query_shard_exception', reason: `Failed to parse query [${query}]` };
  expect([status, error]).toMatchObject([400, { root_cause: [cause], reason: 'all shards failed' }]);
});

const CALENDAR = `${HISTOGRAM}.calendar_interval`;
const INSTEAD = { [`${HISTOGRAM}.interval`]: undefined, [CALENDAR]: 'day' };
const NOT_PARSED = 'failed to parse field [calendar_interval]';
const NOT_BOTH = 'Cannot use [calendar_interval] with [interval] configuration option.';
const NO_FORTNIGHT = 'The supplied interval [fortnight] could not be parsed as a calendar interval.';
type Keys = readonly ('interval' | 'calendar_interval')[];
test.each<[string, Json, Keys, string, string?]>([
  ['new before 7.2', INSTEAD, ['interval'], 'unknown field [calendar_interval], parser not found'],
  ['old from 8 on', {}, ['calendar_interval'], 'unknown field [interval] did you mean [fixed_interval]?'],
  ['both', { [CALENDAR]: 'day' }, ['interval', 'calendar_interval'], NOT_PARSED, NOT_BOTH],
  ['none', { ...INSTEAD, [CALENDAR]: 'fortnight' }, ['calendar_interval'], NOT_PARSED, NO_FORTNIGHT],
])('an interval of another age of the engine: %s', (_, changes, intervalKeys, words, cause) => {
  const { status, error } = refusal(question(changes), { intervalKeys });
  const reason = `[1:1] [date_histogram] ${words}`;
  expect([status, look(error, 'root_cause.0')]).toEqual([400, { type: 'x_content_parse_exception', reason }]);
  expect(look(error, 'caused_by.reason')).toBe(cause);
});

test('a date mapped in another format than the question names', () => {
  const { status, error } = refusal(question(), { dateFormat: 'epoch_millis' });
  const reason = 'failed to parse date field [2024-03-29T00:00:00.000Z] with format [epoch_millis]';
  const root_cause = [{ type: 'parse_exception', reason: `${reason}: [${reason}]` }];
  const type = 'search_phase_execution_exception';
  expect([status, error]).toMatchObject([400, { root_cause, type, reason: 'all shards failed' }]);
});
