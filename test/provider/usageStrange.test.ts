// Strange usage reports: what is understood all the same, and what is refused with a word on where and why. And engines of other
// ages: which key cuts the intervals, and what is logged when a query is refused.
import { describe, expect, test } from 'vitest';

import { usageReports } from '../../src/provider/monetization/usageReport.ts';
import { type AskOptions, createAsk, UnexpectedReply } from '../../src/provider/request.ts';
import { refusalOf } from '../auth/account.ts';
import { look } from '../simulator/visitor.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { QUESTION, readUsageOf } from './readings.ts';

type Row = Record<string, unknown>;
type Change = (body: Row) => unknown;

const at = (day: string) => Date.parse(`${day}T00:00:00Z`);
/** A day of a resource; without a value it is empty, as a histogram with bounds gives it. */
const interval = (day: string, value: number | null) => {
  const doc_count = value === null ? 0 : 1;
  const sum = { value: value ?? 0 };
  return {
    key: at(day),
    key_as_string: `${day}T00:00:00.000Z`,
    doc_count,
    newest: { value: value === null ? null : at(day) },
    documents: { doc_count, amount: sum, quantity: sum },
  };
};
const resource = (key: string, values: readonly (number | null)[]) => ({
  key,
  doc_count: 3,
  readings: { intervals: { buckets: values.map((value, day) => interval(`2026-03-0${day + 1}`, value)) } },
});
const HONEST = {
  timed_out: false,
  _shards: { total: 5, successful: 5, skipped: 0, failed: 0 },
  hits: { total: 6, hits: [] },
  aggregations: {
    resources: {
      buckets: [
        resource('Heat - Meter Value', [12.5, 3, 8.25, null]),
        resource('Euro', [1.55, 0.372, 1.7, null]),
      ],
    },
  },
};
const honest = [
  { day: '2026-03-01', energy: 12_500_000, cost: 1_550_000 },
  { day: '2026-03-02', energy: 3_000_000, cost: 372_000 },
  { day: '2026-03-03', energy: 8_250_000, cost: 1_700_000 },
];

const report = (change: Change) => readUsageOf(async () => change(structuredClone(HONEST)));

/** Changes whatever is called so, from the inside to the outside. */
const named =
  (names: readonly string[], change: (value: never) => unknown): Change =>
  (body) =>
    JSON.parse(JSON.stringify(body), (key, value) => (names.includes(key) ? change(value as never) : value));
const inBuckets = (change: (rows: Row[]) => unknown) => named(['buckets'], change);
const inSums = (change: (value: unknown) => unknown) =>
  named(['amount', 'quantity'], ({ value }: { value: unknown }) => ({ value: change(value) }));
/** Changes the histogram's list of days, not the list of resources. */
const inHistogram = (change: (rows: Row[]) => unknown) =>
  inBuckets((rows) => (typeof rows[0]?.key === 'number' ? change(rows) : rows));
const inDays = (change: (row: Row) => unknown) => inHistogram((rows) => rows.map(change));
const moved = (ms: number) => inDays((row) => ({ ...row, key: Number(row.key) + ms }));
const keyed = (key: unknown) => inDays((row) => ({ ...row, key }));
const shards =
  (counts: Row): Change =>
  (body) => ({ ...body, _shards: counts });
const reply = (body: unknown) => () => body;

const NO_DOCUMENT = { doc_count: 0, amount: { value: 17 }, quantity: { value: null } };

describe('understood', () => {
  test.each<[string, Change]>([
    ['backwards', inBuckets((rows) => rows.toReversed())],
    ['with unknown fields', inBuckets((rows) => rows.map((row) => ({ ...row, news: { value: 'x' } })))],
    ['with dates that lie', inDays((row) => ({ ...row, key_as_string: '1999-12-31T23:00:00.000Z' }))],
    ['without the empty days', inBuckets((rows) => rows.filter(({ doc_count }) => doc_count !== 0))],
    ['without a word on shards and time', ({ aggregations }) => ({ aggregations })],
    ['without the successful shards', shards({ total: 5 })],
    ['with shards that need not be looked at', shards({ total: 5, successful: 5, skipped: 3, failed: 0 })],
    ['with readings just before noon', moved(11 * 3_600_000)],
    ['with noise of floating point', inSums((value) => Number(value) + 4e-13)],
    [
      'with sums of empty days',
      inDays((row) => (row.doc_count === 0 ? { ...row, documents: NO_DOCUMENT } : row)),
    ],
  ])('%s: the same days', async (_, change) => {
    expect(await report(change)).toEqual(honest);
  });

  test('no reading: a day more at either end, no day at all, and a sum of null, which is never zero', async () => {
    const only = (day: string) => inHistogram(() => [interval(day, 1)]);
    expect(await report(only('2026-01-31'))).toEqual([]);
    expect(await report(only('2026-03-11'))).toEqual([]);
    expect(await report(inHistogram(() => []))).toEqual([]);
    expect(await report(inSums(() => null))).toEqual([]);
  });

  test('a resource that is missing leaves the other', async () => {
    const found = await report(inBuckets((rows) => rows.filter(({ key }) => key !== 'Euro')));
    expect(found).toEqual(honest.map((bucket) => ({ ...bucket, cost: null })));
  });

  test('negative amounts stay negative: the ledger judges them', async () => {
    const negative = honest.map(({ day, energy, cost }) => ({ day, energy: -energy, cost: -cost }));
    expect(await report(inSums((value) => -Number(value)))).toEqual(negative);
  });
});

describe('refused', () => {
  const resources = (buckets: unknown) => reply({ aggregations: { resources: { buckets } } });
  const renamed = (row: Row) => ({ ...row, key: row.key === 'Euro' ? 'Water' : row.key });
  test.each<[string, Change, RegExp]>([
    ['text', inSums(() => 'private'), /expected number at aggregations\..*\.value, found a string/],
    ['a list for a number', inSums(() => [1]), /found a list of 1/],
    ['nothing for a number', inSums(() => undefined), /found nothing/],
    ['an astronomical number', inSums(() => 1e300), /value, found a number/],
    [
      'other days',
      moved(366 * 86_400_000),
      /days from 2026-02-01 to 2026-03-10, found others, such as 2027-03-02/,
    ],
    ['a day twice', inBuckets((rows) => [...rows, ...rows]), /two for 2026-03-01/],
    [
      'another resource',
      inBuckets((rows) => rows.map(renamed)),
      /the resources "Euro" and "Heat - Meter Value" only/,
    ],
    ['a resource without a name', resources([{ key: 7 }]), /found a number/],
    ['a key in words', keyed('private'), /key, found a string/],
    ['a key beyond the calendar', keyed(1e20), /key, found a number/],
    ['counts in words', inDays((row) => ({ ...row, doc_count: 'private' })), /doc_count, found a string/],
    ['fewer than no documents', inDays((row) => ({ ...row, doc_count: -1 })), /doc_count, found a number/],
    ['half a document', inDays((row) => ({ ...row, doc_count: 0.5 })), /doc_count, found a number/],
    [
      'fewer than no documents with amounts',
      named(['documents'], (row) => ({ ...Object(row), doc_count: -1 })),
      /documents\.doc_count, found a number/,
    ],
    ['days as an object', inHistogram((rows) => ({ ...rows })), /expected array/],
    [
      'other names',
      ({ aggregations, ...rest }) => ({ ...rest, aggs: aggregations }),
      /expected object at aggregations, found nothing/,
    ],
    ['resources as null', resources(null), /aggregations\.resources\.buckets, found null/],
    ['a count of shards in words', shards({ total: 'private' }), /_shards\.total, found a string/],
    ['a list', reply([]), /expected object at the top, found a list of 0/],
  ])('%s', async (_, change, words) => {
    const err = await refusalOf(report(change));
    expect(err).toBeInstanceOf(UnexpectedReply);
    expect(String(err)).toContain('reply to the usage report was not understood');
    expect(String(err)).toMatch(words);
    expect(String(err)).not.toContain('private');
  });
});

test.each<[Change, RegExp]>([
  [(body) => ({ ...body, timed_out: true }), /ran out of time/],
  [(body) => ({ ...body, terminated_early: true }), /ended early/],
  [shards({ total: 5, successful: 4, failed: 1 }), /1 of the index's shards failed/],
  [shards({ total: 5, successful: 4, failed: 0 }), /1 of the index's 5 shards are missing/],
  [reply({ _shards: { total: 5, successful: 0 } }), /5 of the index's 5 shards are missing/],
])('not whole, which passes: %#', async (change, words) => {
  const err = await refusalOf(report(change));
  expect(err).toMatchObject({ code: 'incomplete_reply', exitCode: 5, retry: 'later' });
  expect(String(err)).toMatch(words);
  expect(Object(err).hint).not.toContain('report it');
});

const HISTOGRAM = 'aggs.resources.aggs.readings.aggs.intervals.date_histogram';
const NOTHING_READ = { aggregations: { resources: { buckets: [] } } };
const because = (reason: unknown) => ({ error: { root_cause: [{ type: 'parsing_exception', reason }] } });
type Answer = readonly [status: number, body: unknown];

/** An engine that answers by the key that cuts the intervals. */
function openEngine(answer: (intervalKey: string) => Answer) {
  const asked: string[] = [];
  const send: AskOptions['send'] = async (_, { body }) => {
    const histogram = Object(look(JSON.parse(String(body)), HISTOGRAM));
    const intervalKey = Object.keys(histogram)
      .filter((key) => key.endsWith('interval'))
      .join();
    asked.push(intervalKey);
    const [status, answered] = answer(intervalKey);
    return { status, headers: {}, body: Buffer.from(JSON.stringify(answered)) };
  };
  const clock = handClock('2026-03-10T12:00:00Z');
  const ask = createAsk({ baseUrl: 'http://engine.invalid', timeoutSeconds: 30, send, clock });
  const { log, lines } = logLines();
  const { usage } = usageReports(ask, log);
  const told = () =>
    lines.map((line) => JSON.parse(line)).map(({ type, names }) => [type, ...names].join(' '));
  return { asked, lines, read: () => usage(QUESTION), told };
}

test('one that refuses `interval` is asked with `calendar_interval`, at once and from then on', async () => {
  const unknown = '[date_histogram] unknown field [interval] for 512001';
  let isNew = true;
  const { read, asked, told } = openEngine((key) =>
    (key === 'calendar_interval') === isNew ? [200, NOTHING_READ] : [400, because(unknown)],
  );
  expect(await read()).toEqual([]);
  await read();
  expect(asked).toEqual(['interval', 'calendar_interval', 'calendar_interval']);
  expect(told()).toEqual(['parsing_exception date_histogram interval']);
  // Another engine behind the same address.
  isNew = false;
  await read();
  await read();
  expect(asked.slice(3)).toEqual(['calendar_interval', 'interval', 'interval']);
});

const complaint = (type: unknown, reason: unknown) => ({ error: { root_cause: [{ type, reason }] } });

test.each<[string, unknown, string]>([
  ['names of the query', because('private [aggs] and [private] for 512001'), 'parsing_exception aggs'],
  ['a type that is none', complaint('private_exception', 'unknown key [nested]'), 'unknown nested'],
  ['no text', complaint({ private: 1 }, { private: 1 }), 'unknown'],
  ['what cannot be made a text', complaint({ toString: 'private' }, { toString: 'private' }), 'unknown'],
  ['another shape', { error: 'private' }, 'unknown'],
  ['nothing', null, 'unknown'],
])(
  'a query refused with either key is a refusal; of %s only words of our own are logged',
  async (_, body, words) => {
    const { read, asked, told, lines } = openEngine(() => [400, body]);
    await expect(read()).rejects.toMatchObject({ code: 'provider_refused', status: 400 });
    await expect(read()).rejects.not.toThrow(/private|unknown field/);
    expect(asked).toEqual(['interval', 'calendar_interval', 'interval', 'calendar_interval']);
    expect(told()).toEqual([words, words]);
    expect(lines.join('')).not.toMatch(/private|512001/);
  },
);

test.each([403, 422, 500])('a refusal of another kind is not about the query: %i', async (status) => {
  const { read, asked, told } = openEngine(() => [status, because('no')]);
  await expect(read()).rejects.toThrow(`HTTP ${status}`);
  expect([asked, told()]).toEqual([['interval'], []]);
});
