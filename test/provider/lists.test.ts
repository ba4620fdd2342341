// Lists a page at a time, whatever the server makes of pages, counts and shapes.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { readList } from '../../src/provider/reply.ts';
import { type Ask, type Exchange, UnexpectedReply } from '../../src/provider/request.ts';
import { refusalOf } from '../auth/account.ts';
import { logLines } from '../support/logLines.ts';

interface Habits {
  readonly pageRows?: number;
  readonly bareArrays?: boolean;
  readonly ignoresPage?: boolean;
  /** What it does to a reply. */
  readonly change?: (body: object, at: number) => unknown;
}

const ids = (rows: number) => Array.from({ length: rows }, (_, index) => ({ id: 5001 + index }));

/** A server with so many rows, and a client that reads them. */
function listOf(rows: number, { pageRows = 10, bareArrays, ignoresPage, change }: Habits = {}) {
  const asked: Exchange[] = [];
  const told = logLines();
  const ask: Ask = async (exchange) => {
    asked.push(exchange);
    const { page, count } = Object.fromEntries(exchange.query ?? []);
    const size = Math.min(pageRows, Number(count));
    const from = ignoresPage ? 0 : (Number(page) - 1) * size;
    const objects = ids(rows).slice(from, from + size);
    const body = bareArrays ? objects : { objects, total_num: rows };
    return change ? change(body, asked.length) : body;
  };
  const read = (signal?: AbortSignal) =>
    readList(ask, {
      what: 'list of things',
      path: '/things',
      query: { 'parent-group': '901' },
      row: z.object({ id: z.number() }),
      signal,
      log: told.log,
    });
  return { read, asked, told };
}

test.each<[number, number, number, Habits]>([
  [0, 10, 1, {}],
  [10, 10, 1, {}],
  [11, 10, 2, {}],
  [7, 1, 7, {}],
  [120, 1000, 3, {}],
  [10, 10, 2, { bareArrays: true }],
  [25, 10, 4, { bareArrays: true }],
  [8, 10, 2, { ignoresPage: true, bareArrays: true }],
  // More rows than a page: asked for in one.
  [120, 10_000, 3, { ignoresPage: true }],
  [120, 10_000, 3, { ignoresPage: true, bareArrays: true }],
])('%i rows, %i a page: %i requests %j', async (rows, pageRows, expected, habits) => {
  const { read, asked, told } = listOf(rows, { pageRows, ...habits });
  expect(await read()).toEqual(ids(rows));
  expect(asked).toHaveLength(expected);
  expect(told.lines).toEqual([]);
});

test('is asked for pages from 1 on, with what else was asked, until its reader is interrupted', async () => {
  const { read, asked } = listOf(11);
  const { signal } = new AbortController();
  await read(signal);
  expect(asked.map(({ query, ...rest }) => ({ ...rest, query: Object.fromEntries(query ?? []) }))).toEqual(
    ['1', '2'].map((page) => ({
      method: 'GET',
      path: '/things',
      what: 'list of things',
      signal,
      query: { 'parent-group': '901', page, count: '50' },
    })),
  );
});

test('the first page whatever is asked, and a count of rows that it never gives: said, and at an end', async () => {
  const { read, asked, told } = listOf(8, { ignoresPage: true, pageRows: 5 });
  expect(await read()).toEqual(ids(5));
  expect(asked).toHaveLength(3);
  expect(told.lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', what: 'list of things', rows: 5, total: 8 },
  ]);
});

const PAGES = [[1, 2, 3], [3, 4, 5], [5], []];
test.each<[string, number, Habits['change'], number, number]>([
  ['pages that overlap', 0, (_, at) => PAGES[at - 1]?.map((id) => ({ id })), 5, 3],
  ['no count', 12, (body) => ({ ...body, total_num: null }), 12, 3],
  ['a count that is too high', 12, (body) => ({ ...body, total_num: 99 }), 12, 3],
  ['no end', 0, (_, id) => ({ objects: [{ id }], total_num: 1e6 }), 100, 100],
])('%s: each row once, and an end', async (_, rows, change, found, requests) => {
  const { read, asked } = listOf(rows, { ...(change ? { change } : {}) });
  expect(await read()).toHaveLength(found);
  expect(asked).toHaveLength(requests);
});

test.each<[string, unknown, string]>([
  ['text', 'none', 'found a string'],
  ['an object without rows', {}, 'expected array at objects, found nothing'],
  ['a bare row that is none', [{ id: 1 }, 7], 'objects.1, found a number'],
  ['a row without id', { objects: [{ name: 'private' }] }, 'expected number at objects.0.id, found nothing'],
  ['a count in words', { objects: [], total_num: 'private' }, 'expected number at total_num, found a string'],
])('no list: %s; half a list is none either', async (_, body, words) => {
  for (const page of [1, 2]) {
    const { read } = listOf(12, { change: (honest, at) => (at === page ? body : honest) });
    const err = await refusalOf(read());
    expect(err).toBeInstanceOf(UnexpectedReply);
    expect(String(err)).toContain('list of things');
    expect(String(err)).toContain(words);
    expect(String(err)).not.toContain('private');
  }
});
