// What the simulator does not answer, refused in the words of Elasticsearch 7.1.1 where it has some.
import { expect, test } from 'vitest';
import {
  DOCUMENTS,
  FILTERS,
  HISTOGRAM,
  type Json,
  RANGE,
  READ_AT,
  refusal,
  usageQuestion,
} from './usageQuestion.ts';
import { look } from './visitor.ts';

const question = (changes: Json = {}) =>
  usageQuestion(7, '2024-03-29T00:00:00.000Z', '2024-04-04T22:59:59.999Z', changes);

const PARSING = 'parsing_exception';
const UNKNOWN = 'x_content_parse_exception';
const ILLEGAL = 'illegal_argument_exception';

/** What changes about the question, and what the engine says to it; the words are those of 7.1.1 where it has some. */
test.each<[Json, string, string]>([
  [{ size: undefined }, PARSING, 'Missing [size]'],
  [{ size: 10 }, PARSING, 'Unknown key for a VALUE_NUMBER in [size].'],
  [{ magic: {} }, PARSING, 'Unknown key for a START_OBJECT in [magic].'],
  [{ query: 'all' }, PARSING, 'Unknown key for a VALUE_STRING in [query].'],
  [{ query: {} }, ILLEGAL, 'query malformed, empty clause found at'],
  [{ query: { match_all: {} } }, PARSING, 'no [query] registered for [match_all]'],
  [
    { 'query.match_all': {} },
    PARSING,
    '[bool] malformed query, expected [END_OBJECT] but found [FIELD_NAME]',
  ],
  [{ 'query.bool': 'x' }, PARSING, '[bool] query malformed, no start_object after query name'],
  [{ 'query.bool.must': [] }, PARSING, '[bool] query does not support [must]'],
  [{ [FILTERS]: {} }, PARSING, '[bool] query does not support [filter]'],
  [{ [`${FILTERS}.0`]: { term: { service_type: 'x' } } }, PARSING, 'no [query] registered for [term]'],
  [{ [`${FILTERS}.1`]: { query_string: { query: '7', fields: ['customer'] } } }, PARSING, '[bool] malformed'],
  [{ [`${FILTERS}.0.query_string.query`]: undefined }, PARSING, 'must be provided with a [query]'],
  [
    { [`${FILTERS}.0.query_string.lenient`]: true },
    PARSING,
    '[query_string] query does not support [lenient]',
  ],
  [
    { [`${FILTERS}.2.terms.resource_name`]: 'Euro' },
    PARSING,
    '[terms] query does not support [resource_name]',
  ],
  [{ [`${FILTERS}.2`]: undefined }, PARSING, 'query malformed, no start_object after query name'],
  [{ [`${FILTERS}.3.nested.score_mode`]: 'none' }, PARSING, '[nested] query does not support [score_mode]'],
  [
    { [`${FILTERS}.3.nested.path`]: 'events' },
    'query_shard_exception',
    '[nested] failed to find nested object under path [events]',
  ],
  [{ [RANGE]: { amount: { gte: 0 } } }, PARSING, '[range] query does not support [amount]'],
  [{ [RANGE]: { [READ_AT]: { gt: 0 } } }, PARSING, '[range] query does not support [gt]'],
  [
    { [RANGE]: { [READ_AT]: { gte: 'today' } } },
    'parse_exception',
    'failed to parse date field [today] with format',
  ],
  [{ [RANGE]: { [READ_AT]: { gte: 'x', format: 'yyyy' } } }, ILLEGAL, 'Invalid format: [yyyy]'],
  [{ 'aggs.resources': {} }, PARSING, 'Missing definition for aggregation [resources]'],
  [{ 'aggs.resources.aggs': {} }, PARSING, 'Missing definition for aggregation [resources]'],
  [
    { 'aggs.resources.sum': {} },
    PARSING,
    'Found two aggregation type definitions in [resources]: [terms] and [sum]',
  ],
  [
    { aggs: { x: { filter: {} } } },
    'named_object_not_found_exception',
    'unable to parse BaseAggregationBuilder with name [filter]: parser not found',
  ],
  [{ 'aggs.resources.terms.size': 2 }, UNKNOWN, '[terms] unknown field [size], parser not found'],
  [{ 'aggs.resources.terms.field': 'service_type' }, ILLEGAL, 'Field [service_type] is not supported for'],
  [
    { [`${HISTOGRAM}.field`]: 'amount' },
    ILLEGAL,
    'Field [amount] is not supported for aggregation [intervals]',
  ],
  [{ [`${HISTOGRAM}.keyed`]: true }, UNKNOWN, '[date_histogram] unknown field [keyed], parser not found'],
  [
    { [`${HISTOGRAM}.interval`]: undefined },
    ILLEGAL,
    'Invalid interval specified, must be non-null and non-empty',
  ],
  [{ [`${HISTOGRAM}.interval`]: 'fortnight' }, ILLEGAL, 'with value [fortnight] as a time value'],
  [{ [`${HISTOGRAM}.min_doc_count`]: -1 }, ILLEGAL, '[minDocCount]'],
  [
    { [`${HISTOGRAM}.time_zone`]: 'Mars/Olympus' },
    UNKNOWN,
    '[date_histogram] failed to parse field [time_zone]',
  ],
  [
    { [`${HISTOGRAM}.extended_bounds.mid`]: 0 },
    UNKNOWN,
    '[extended_bounds] unknown field [mid], parser not found',
  ],
  [
    { [`${HISTOGRAM}.extended_bounds.min`]: '2025-01-01T00:00:00.000Z' },
    'search_parse_exception',
    'cannot be greater than [extended_bounds.max]',
  ],
  [
    { [`${DOCUMENTS}.aggs.amount.sum.field`]: 'customer_id' },
    ILLEGAL,
    'Field [customer_id] is not supported for',
  ],
  [{ [`${DOCUMENTS}.aggs.amount`]: { avg: {} } }, 'named_object_not_found_exception', 'with name [avg]'],
])('refused: %j', (changes, type, reason) => {
  const { status, error } = refusal(question(changes));
  expect([status, look(error, 'root_cause.0.type')]).toEqual([400, type]);
  expect(look(error, 'root_cause.0.reason')).toContain(reason);
});

test.each([
  [[], 'START_ARRAY'],
  ['x', 'VALUE_STRING'],
  [undefined, 'VALUE_NULL'],
])('no object: %j', (body, found) => {
  expect(refusal(body).error).toMatchObject({
    type: PARSING,
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

const CALENDAR = { [`${HISTOGRAM}.interval`]: undefined, [`${HISTOGRAM}.calendar_interval`]: 'day' };
test.each<[string, Json, readonly ('interval' | 'calendar_interval')[], string, string]>([
  [
    'calendar_interval before 7.2',
    CALENDAR,
    ['interval'],
    '[1:1] [date_histogram] unknown field [calendar_interval], parser not found',
    '',
  ],
  [
    'interval from 8 on',
    {},
    ['calendar_interval'],
    '[1:1] [date_histogram] unknown field [interval] did you mean [fixed_interval]?',
    '',
  ],
  [
    'both',
    { [`${HISTOGRAM}.calendar_interval`]: 'day' },
    ['interval', 'calendar_interval'],
    '[1:1] [date_histogram] failed to parse field [calendar_interval]',
    'Cannot use [calendar_interval] with [interval] configuration option.',
  ],
  [
    'an unknown calendar interval',
    { ...CALENDAR, [`${HISTOGRAM}.calendar_interval`]: 'fortnight' },
    ['calendar_interval'],
    '[1:1] [date_histogram] failed to parse field [calendar_interval]',
    'The supplied interval [fortnight] could not be parsed as a calendar interval.',
  ],
])('%s', (_, changes, intervalKeys, reason, cause) => {
  const { status, error } = refusal(question(changes), { intervalKeys });
  expect([status, look(error, 'root_cause.0')]).toEqual([400, { type: UNKNOWN, reason }]);
  expect(look(error, 'caused_by.reason') ?? '').toBe(cause);
});

test('a date mapped in another format than the question names', () => {
  const { status, error } = refusal(question(), { dateFormat: 'epoch_millis' });
  const reason = 'failed to parse date field [2024-03-29T00:00:00.000Z] with format [epoch_millis]';
  expect([status, error]).toMatchObject([
    400,
    {
      root_cause: [{ type: 'parse_exception', reason: `${reason}: [${reason}]` }],
      type: 'search_phase_execution_exception',
      reason: 'all shards failed',
    },
  ]);
});
