// Lists a page at a time, whatever the server makes of pages, counts and shapes.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readList } from '../../src/provider/monetization/lists.ts';
import { UnexpectedReply } from '../../src/provider/request.ts';
import type { Fault } from '../../src/simulator/faults.ts';
import { refusalOf } from '../auth/account.ts';
import { logLines } from '../support/logLines.ts';
import { openProvider, type Provider } from './home.ts';

const LIST = '/api/v1/customers';
const ROUTE = `GET ${LIST}`;
const GROUP = 901;
const FIRST = 5001;

async function listOf(rows: number): Promise<Provider> {
  const properties = Array.from({ length: rows }, (_, index) => ({ id: FIRST + index }));
  const groups = [{ id: GROUP, properties }];
  return openProvider({ accounts: [{ username: 'me@example.org', password: 'p', groups }] });
}

const read = ({ ask }: Provider, signal?: AbortSignal, { log } = logLines()) =>
  readList(ask, {
    what: 'list of things',
    path: '/customers',
    query: { 'parent-group': String(GROUP) },
    row: z.object({ id: z.number() }),
    identity: ({ id }) => String(id),
    signal,
    log,
  });
const ids = (rows: number) => Array.from({ length: rows }, (_, index) => ({ id: FIRST + index }));
const requests = ({ simulator }: Provider) => simulator.counters.requests[ROUTE] ?? 0;
const page = (body: unknown): Fault => ({ kind: 'reply', status: 200, body });

describe('whatever a page holds', () => {
  test.each<[number, number, number, object]>([
    [0, 10, 1, {}],
    [1, 10, 1, {}],
    [10, 10, 1, {}],
    [11, 10, 2, {}],
    [25, 10, 3, {}],
    [7, 1, 7, {}],
    [120, 50, 3, {}],
    [120, 1000, 3, {}],
    [0, 10, 1, { bareArrays: true }],
    [3, 10, 2, { bareArrays: true }],
    [10, 10, 2, { bareArrays: true }],
    [25, 10, 4, { bareArrays: true }],
    [3, 1, 4, { bareArrays: true }],
    [8, 10, 1, { ignoresPage: true }],
    [8, 10, 2, { ignoresPage: true, bareArrays: true }],
    // More rows than a page: asked for in one.
    [120, 10_000, 3, { ignoresPage: true }],
    [120, 10_000, 3, { ignoresPage: true, bareArrays: true }],
  ])('%i rows, %i a page: %i requests %j', async (rows, maxPageSize, expected, habits) => {
    const provider = await listOf(rows);
    Object.assign(provider.simulator.switches.api, { maxPageSize, ...habits });
    const told = logLines();
    expect(await read(provider, undefined, told)).toEqual(ids(rows));
    expect(requests(provider)).toBe(expected);
    expect(told.lines).toEqual([]);
  });

  test('is asked for pages from 1 on, with what else was asked', async () => {
    const provider = await listOf(11);
    await read(provider);
    const queries = provider.simulator.requests
      .filter(({ route }) => route === ROUTE)
      .map(({ query }) => query);
    expect(queries).toEqual([
      { 'parent-group': '901', page: '1', count: '50' },
      { 'parent-group': '901', page: '2', count: '50' },
    ]);
  });
});

describe('a server with its own ideas', () => {
  test('the first page whatever is asked, and a count of rows that it never gives: said, and at an end', async () => {
    const provider = await listOf(8);
    Object.assign(provider.simulator.switches.api, { ignoresPage: true, maxPageSize: 5 });
    const told = logLines();
    expect(await read(provider, undefined, told)).toEqual(ids(5));
    expect(requests(provider)).toBe(3);
    expect(told.lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', what: 'list of things', rows: 5, total: 8 },
    ]);
  });

  test('one whose pages overlap: each row once', async () => {
    const provider = await listOf(0);
    for (const rows of [[1, 2, 3], [3, 4, 5], [5], []]) {
      const objects = rows.map((id) => ({ id }));
      provider.simulator.switches.fault(LIST, page({ objects }), { times: 1 });
    }
    expect(await read(provider)).toEqual([1, 2, 3, 4, 5].map((id) => ({ id })));
    expect(requests(provider)).toBe(3);
  });

  test.each([
    ['no count', undefined],
    ['a count of null', null],
    ['a count that is too large', 99],
  ])('%s: all rows, and an end', async (_, total_num) => {
    const provider = await listOf(12);
    provider.simulator.switches.fault(LIST, {
      kind: 'change',
      change: (body) => ({ ...Object(body), total_num }),
    });
    expect(await read(provider)).toEqual(ids(12));
    expect(requests(provider)).toBe(3);
  });

  test('one that goes on for ever is left alone at some point', async () => {
    const provider = await listOf(0);
    let last = 0;
    provider.simulator.switches.fault(LIST, {
      kind: 'change',
      change: () => ({ objects: [{ id: ++last }], total_num: 1_000_000 }),
    });
    expect((await read(provider)).length).toBe(requests(provider));
    expect(requests(provider)).toBeLessThanOrEqual(200);
  });
});

describe('what is no list', () => {
  test.each<[string, unknown, string]>([
    ['null', 'null', 'expected object at the top, found null'],
    ['text', '"none"', 'found a string'],
    ['an object without rows', {}, 'expected array at objects, found nothing'],
    ['rows as an object', { objects: {} }, 'expected array at objects, found an object'],
    ['a row that is none', { objects: [{ id: 1 }, null] }, 'expected object at objects.1, found null'],
    ['a bare row that is none', [{ id: 1 }, 7], 'objects.1, found a number'],
    [
      'a row without id',
      { objects: [{ name: 'private' }] },
      'expected number at objects.0.id, found nothing',
    ],
    [
      'a count in words',
      { objects: [], total_num: 'private' },
      'expected number at total_num, found a string',
    ],
    ['a count below zero', { objects: [], total_num: -1 }, 'total_num'],
  ])('%s', async (_, body, words) => {
    const provider = await listOf(0);
    provider.simulator.switches.fault(LIST, page(body));
    const err = await refusalOf(read(provider));
    expect(err).toBeInstanceOf(UnexpectedReply);
    expect(String(err)).toContain('list of things');
    expect(String(err)).toContain(words);
    expect(String(err)).not.toContain('private');
  });

  test('trouble on a later page is trouble: half a list is none', async () => {
    const provider = await listOf(12);
    const when = ({ query }: { query: URLSearchParams }) => query.get('page') === '2';
    provider.simulator.switches.fault(LIST, page('<html>'), { when });
    expect(await refusalOf(read(provider))).toBeInstanceOf(UnexpectedReply);
  });

  test('an interruption ends it', async () => {
    const provider = await listOf(12);
    expect(await refusalOf(read(provider, AbortSignal.abort()))).toMatchObject({
      code: 'provider_unreachable',
    });
    expect(requests(provider)).toBe(0);
  });
});
