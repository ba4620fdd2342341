// Strange usage reports: what is understood all the same, and what is refused with a word on where and why.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Bucket } from '../../src/domain/reading.ts';
import { UnexpectedReply } from '../../src/provider/request.ts';
import type { Fault } from '../../src/simulator/faults.ts';
import { refusalOf } from '../auth/account.ts';
import { FAULTS, inBuckets, inSums } from '../support/faults.ts';
import { type Home, openHome, REPORT, reading } from './readings.ts';

let home: Home;
let honest: Bucket[];
beforeEach(async () => {
  home = await openHome([
    reading('2026-03-01', 12.5, 1.55),
    reading('2026-03-02', 3, 0.372),
    reading('2026-03-03', 8.25, 1.7),
  ]);
  honest = await home.report();
});

const spoil = (fault: Fault, rule?: { times: number }) => home.simulator.switches.fault(REPORT, fault, rule);

type Row = Record<string, unknown>;
/** Changes the histogram's list of days, not the list of resources. */
const inHistogram = (change: (rows: Row[]) => unknown): Fault =>
  inBuckets((rows) => (typeof rows[0]?.key === 'number' ? change(rows) : rows));
const inDays = (change: (row: Row) => unknown): Fault => inHistogram((rows) => rows.map(change));
const moved = (ms: number) => inDays((row) => ({ ...row, key: Number(row.key) + ms }));
const keyed = (key: unknown) => inDays((row) => ({ ...row, key }));
const changed = (change: (body: Row) => Row): Fault => ({
  kind: 'change',
  change: (body) => change(Object(body)),
});
const shards = (counts: Row): Fault => changed((body) => ({ ...body, _shards: counts }));
const reply = (body: unknown): Fault => ({ kind: 'reply', status: 200, body });
const shuffled = (rows: Row[]) => rows.toSorted((a, b) => (Number(a.key) % 7) - (Number(b.key) % 7) || 1);

describe('understood', () => {
  test.each<[string, Fault]>([
    ['backwards', inBuckets((rows) => rows.toReversed())],
    ['shuffled', inBuckets(shuffled)],
    ['with unknown fields', inBuckets((rows) => rows.map((row) => ({ ...row, news: { value: 'x' } })))],
    ['with dates that lie', inDays((row) => ({ ...row, key_as_string: '1999-12-31T23:00:00.000Z' }))],
    ['without the empty days', inBuckets((rows) => rows.filter(({ doc_count }) => doc_count !== 0))],
    ['without a word on shards and time', changed(({ aggregations }) => ({ aggregations }))],
    ['without the number of shards', shards({ successful: 4, failed: 0 })],
    ['without the successful shards', shards({ total: 5 })],
    ['with shards that need not be looked at', shards({ total: 5, successful: 5, skipped: 3, failed: 0 })],
    ['with readings just before noon', moved(11 * 3_600_000)],
    ['with noise of floating point', inSums((value) => Number(value) + 4e-13)],
  ])('%s: the same days', async (_, fault) => {
    spoil(fault);
    expect(honest).toHaveLength(3);
    expect(await home.report()).toEqual(honest);
  });

  test.each<[string, Fault]>([
    ['days that were not asked for', moved(366 * 86_400_000)],
    ['a sum of null, which is never zero', inSums(() => null)],
  ])('no reading: %s', async (_, fault) => {
    spoil(fault);
    expect(await home.report()).toEqual([]);
  });

  test('sums of empty days do not matter, whatever they are', async () => {
    const spoiled = (row: Row) =>
      row.doc_count === 0
        ? { ...row, documents: { doc_count: 0, amount: { value: 17 }, quantity: { value: null } } }
        : row;
    spoil(inDays(spoiled));
    expect(await home.report()).toEqual(honest);
  });

  test('a resource that is missing leaves the other', async () => {
    spoil(inBuckets((rows) => rows.filter(({ key }) => key !== 'Euro')));
    expect(await home.report()).toEqual(honest.map((bucket) => ({ ...bucket, cost: null })));
  });

  test('negative amounts stay negative: the ledger judges them', async () => {
    spoil(inSums((value) => -Number(value)));
    const negative = honest.map(({ day, energy, cost }) => [day, -(energy ?? 0), -(cost ?? 0)]);
    expect((await home.report()).map(({ day, energy, cost }) => [day, energy, cost])).toEqual(negative);
  });
});

describe('refused', () => {
  const resources = (buckets: unknown) => reply({ aggregations: { resources: { buckets } } });
  const renamed = (row: Row) => ({ ...row, key: row.key === 'Euro' ? 'Water' : row.key });
  test.each<[string, Fault, RegExp]>([
    ['text', inSums(() => 'private'), /expected number at aggregations\..*\.value, found a string/],
    ['text that is a number', inSums(String), /found a string/],
    ['a list for a number', inSums(() => [1]), /found a list of 1/],
    ['nothing for a number', inSums(() => undefined), /found nothing/],
    ['an astronomical number', inSums(() => 1e300), /value, found a number/],
    ['an astronomical debt', inSums(() => -1e300), /value, found a number/],
    ['NaN', reply('{"aggregations":{"resources":NaN}}'), /expected JSON/],
    ['a day twice', inBuckets((rows) => [...rows, ...rows]), /two for 2026-03-01/],
    [
      'another resource',
      inBuckets((rows) => rows.map(renamed)),
      /the resources "Euro" and "Heat - Meter Value" only/,
    ],
    ['a resource without a name', resources([{ key: 7 }]), /found a number/],
    ['a key in words', keyed('private'), /key, found a string/],
    ['a key beyond the calendar', keyed(1e20), /key, found a number/],
    ['a key before the beginning', keyed(-1e20), /key, found a number/],
    ['counts in words', inDays((row) => ({ ...row, doc_count: 'private' })), /doc_count, found a string/],
    ['days as an object', inHistogram((rows) => ({ ...rows })), /expected array/],
    [
      'other names',
      changed(({ aggregations, ...rest }) => ({ ...rest, aggs: aggregations })),
      /expected object at aggregations, found nothing/,
    ],
    [
      'no resources',
      reply({ aggregations: {} }),
      /expected object at aggregations\.resources, found nothing/,
    ],
    ['resources as null', resources(null), /aggregations\.resources\.buckets, found null/],
    ['an error of the search', reply({ error: { reason: 'private' } }), /found nothing/],
    ['a count of shards in words', shards({ total: 'private' }), /_shards\.total, found a string/],
    ['a list', reply([]), /expected object at the top, found a list of 0/],
    ['a number', reply('17'), /found a number/],
    ['a captive page', FAULTS.captivePage, /expected JSON/],
    ['half of it', { kind: 'truncated' }, /expected JSON/],
  ])('%s', async (_, fault, words) => {
    spoil(fault, { times: 1 });
    const err = await refusalOf(home.report());
    expect(err).toBeInstanceOf(UnexpectedReply);
    expect(String(err)).toContain('reply to the usage report was not understood');
    expect(String(err)).toMatch(words);
    expect(String(err)).not.toContain('private');
    expect(await home.report()).toEqual(honest);
  });
});

describe('not whole, which passes', () => {
  test.each<[string, Fault, RegExp]>([
    ['out of time', changed((body) => ({ ...body, timed_out: true })), /ran out of time/],
    ['ended early', changed((body) => ({ ...body, terminated_early: true })), /ended early/],
    ['a failed shard', shards({ total: 5, successful: 4, failed: 1 }), /1 of the index's shards failed/],
    [
      'a missing shard',
      shards({ total: 5, successful: 4, failed: 0 }),
      /1 of the index's 5 shards are missing/,
    ],
    ['no shard', reply({ _shards: { total: 5, successful: 0 } }), /5 of the index's 5 shards are missing/],
  ])('%s', async (_, fault, words) => {
    spoil(fault);
    const err = await refusalOf(home.report());
    expect(err).toMatchObject({ code: 'incomplete_reply', exitCode: 5, retry: 'later' });
    expect(String(err)).toMatch(words);
    expect(Object(err).hint).not.toContain('report it');
  });
});
