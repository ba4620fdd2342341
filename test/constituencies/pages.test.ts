// Reading the public list: both shapes and a third, and pages that end whatever the service does.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readConstituencies } from '../../src/constituencies/publicList.ts';
import { type ConstituencyQuestion, caveat, ofSittingHouse } from '../../src/domain/constituency.ts';
import { type Ask, ProviderRefused } from '../../src/provider/request.ts';
import { RUNS } from '../support/property.ts';

const ALL = { chamber: 'dail', houseNo: null, chamberIds: [], skip: null, limit: null } as const;
const HOUSE = { houseNo: '34', houseCode: 'dail', showAs: '34th Dáil', uri: 'https://x/house/dail/34' };
const record = (n: number) => ({ uri: `https://x/${n}`, showAs: `Áit ${n}`, representCode: `Ait-${n}` });
const newer = (rows: readonly number[], resultCount: unknown = rows.length) => ({
  head: { counts: { resultCount } },
  results: rows.map((n) => ({ constituencyOrPanel: record(n), house: HOUSE })),
});
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

interface Page {
  readonly skip: number;
  readonly limit: number;
}

/** A service in a few words; remembers what it was asked. */
function service(answer: (page: Page, number: number) => unknown) {
  const asked: URLSearchParams[] = [];
  const ask: Ask = async ({ query = new URLSearchParams() }) => {
    asked.push(query);
    return answer({ skip: Number(query.get('skip') ?? 0), limit: Number(query.get('limit')) }, asked.length);
  };
  return { ask, asked };
}

const refuse = (status = 422): never => {
  throw new ProviderRefused(status, { message: 'no', hint: 'none' });
};

test('reads the newer shape when only uri and name are there', async () => {
  const { ask } = service(() => ({
    head: { counts: { resultCount: '2' }, lang: 'en' },
    results: [
      { constituencyOrPanel: { uri: 'u2', showAs: 'B', representType: 7 }, house: null, extra: 1 },
      { constituencyOrPanel: { ...record(1), representType: 'panel' }, house: HOUSE },
    ],
  }));
  const nobody = { chamber: null, houseNo: null, name: null, uri: null };
  expect(await readConstituencies(ask, ALL)).toEqual({
    constituencies: [
      {
        uri: 'https://x/1',
        name: 'Áit 1',
        code: 'Ait-1',
        type: 'panel',
        house: { chamber: 'dail', houseNo: 34, name: '34th Dáil', uri: 'https://x/house/dail/34' },
      },
      { uri: 'u2', name: 'B', code: null, type: null, house: nobody },
    ],
    total: 2,
    complete: true,
    unreadable: 0,
    raw: null,
  });
});

test.each<[string, Partial<ConstituencyQuestion>, object]>([
  ['which is what was asked for', { houseNo: 34 }, { total: 2, complete: true }],
  ['though more were asked for', {}, { total: null, complete: null }],
  ['of both chambers, though more were asked for', { chamber: null }, { total: null, complete: null }],
])('the older shape has one house, %s', async (_, asked, told) => {
  const rows = [2, 1].map((n) => ({ constituencyOrPanel: record(n) }));
  const results = { house: { house: HOUSE, constituenciesOrPanels: rows } };
  const { ask } = service(() => ({ head: { counts: { resultCount: 2 } }, results }));
  const list = await readConstituencies(ask, { ...ALL, ...asked });
  expect(list).toMatchObject(told);
  const constituencies = list.constituencies?.slice(0, 2);
  expect(constituencies?.map(({ name, house }) => [name, house.chamber, house.houseNo])).toEqual([
    ['Áit 1', 'dail', 34],
    ['Áit 2', 'dail', 34],
  ]);
});

test.each([
  ['another key', { constituencies: [{ title: 'Áit' }], 7: 'x' }],
  ['a row without uri', { results: [{ constituencyOrPanel: { showAs: 'Áit' }, house: HOUSE }] }],
  ['results of another kind', { results: 'none' }],
])('an unknown shape is passed on as it came: %s', async (_, body) => {
  const { ask, asked } = service(() => body);
  const list = await readConstituencies(ask, ALL);
  expect(list).toEqual({ constituencies: null, total: null, complete: null, unreadable: 0, raw: body });
  expect(asked).toHaveLength(1);
});

test.each<[string, (good: readonly object[]) => readonly unknown[]]>([
  ['lacks its name', (good) => [...good, { constituencyOrPanel: { uri: 'u9' }, house: HOUSE }]],
  [
    'has an empty name',
    (good) => [{ constituencyOrPanel: { uri: 'u9', showAs: '' }, house: HOUSE }, ...good],
  ],
  ['lacks its uri', (good) => [...good, { constituencyOrPanel: { showAs: 'Áit' }, house: HOUSE }]],
  ['has a number for its uri', (good) => [...good, { constituencyOrPanel: { ...record(9), uri: 9 } }]],
  ['is null', (good) => [null, ...good]],
  ['is a text', (good) => [...good, 'Áit']],
])('leaves out one row when it %s', async (_, rowsOf) => {
  const results = rowsOf(newer([1, 2]).results);
  const { ask } = service(() => ({ head: { counts: { resultCount: 3 } }, results }));
  const list = await readConstituencies(ask, ALL);
  expect(list).toMatchObject({ total: 3, complete: false, unreadable: 1, raw: null });
  expect(list.constituencies?.map(({ uri }) => uri)).toEqual(['https://x/1', 'https://x/2']);
  expect(caveat({ question: ALL, list })).toMatch(/^Left out, as they cannot be read: 1 /);
});

test('leaves out a strange row of the older shape, too', async () => {
  const rows = [{ constituencyOrPanel: record(1) }, { constituencyOrPanel: { uri: 'u9' } }];
  const results = { house: { house: HOUSE, constituenciesOrPanels: rows } };
  const { ask } = service(() => ({ head: { counts: { resultCount: 2 } }, results }));
  const list = await readConstituencies(ask, { ...ALL, houseNo: 34 });
  expect(list).toMatchObject({ constituencies: [{ uri: 'https://x/1' }], unreadable: 1 });
});

test('tells the sitting house beside a row that is left out', async () => {
  const results = [...newer([1]).results, { constituencyOrPanel: { uri: 'u9' }, house: HOUSE }];
  const { ask } = service(() => ({ head: { counts: { resultCount: 2 } }, results }));
  const { question, list } = ofSittingHouse(ALL, await readConstituencies(ask, ALL));
  expect(question.houseNo).toBe(34);
  expect(list).toMatchObject({ constituencies: [{ uri: 'https://x/1' }], complete: false, unreadable: 1 });
});

test('passes on an unknown shape when most rows are strange', async () => {
  const strange = { constituencyOrPanel: { uri: 'u9' }, house: HOUSE };
  const body = { results: [...newer([1]).results, strange, strange] };
  const { ask } = service(() => body);
  expect(await readConstituencies(ask, ALL)).toMatchObject({ constituencies: null, raw: body });
});

test('passes on an unknown shape once when both chambers are asked for', async () => {
  const { ask, asked } = service(() => ({ results: 'none' }));
  const list = await readConstituencies(ask, { ...ALL, chamber: null });
  expect(list).toEqual({
    constituencies: null,
    total: null,
    complete: null,
    unreadable: 0,
    raw: { results: 'none' },
  });
  expect(asked).toHaveLength(1);
});

test.each([
  ['null', null],
  ['a huge unknown object', { blob: 'x'.repeat(300_000) }],
  ['a count but no rows', newer([], 43)],
])('what is no list at all is refused: %s', async (_, body) => {
  const { ask } = service(() => body);
  await expect(readConstituencies(ask, ALL)).rejects.toMatchObject({ code: 'unexpected_reply' });
});

test('sends every parameter as documented, chamber_id repeated', async () => {
  const { ask, asked } = service(() => newer([]));
  const chamberIds = ['/ie/oireachtas/house/dail/33', '/ie/oireachtas/house/seanad/27'];
  await readConstituencies(ask, { chamber: 'dail', houseNo: 34, chamberIds, skip: 5, limit: 7 });
  expect([...(asked[0] ?? [])]).toEqual([
    ['chamber_id', chamberIds[0]],
    ['chamber_id', chamberIds[1]],
    ['chamber', 'dail'],
    ['house_no', '34'],
    ['skip', '5'],
    ['limit', '7'],
  ]);
});

const ALL_ROWS = numbers(0, 1_300);
const REPEATED = numbers(0, 50);
const pages =
  (most: number, rows = ALL_ROWS, said: unknown = rows.length) =>
  ({ skip, limit }: Page) =>
    newer(rows.slice(skip, skip + Math.min(limit, most)), said);
const refusingLargeLimits = (page: Page) => (page.limit > 50 ? refuse() : pages(50)(page));
const reshuffling = (_: Page, number: number) => newer([[1, 2], [2, 3], [3, 4], []][number - 1] ?? [], null);
const refusingDeepSkips = (page: Page) => (page.skip >= 100 ? refuse() : pages(50)(page));

test.each<[string, (page: Page, number: number) => unknown, number, boolean | null, number]>([
  ['honours the limit', pages(Number.POSITIVE_INFINITY), 1300, true, 1],
  ['gives fifty at most', pages(50), 1300, true, 26],
  ['refuses large limits', refusingLargeLimits, 1300, true, 27],
  ['repeats the first page for ever', () => newer(REPEATED, 1300), 50, false, 2],
  ['refuses a deep skip', refusingDeepSkips, 100, false, 3],
  ['gives more than it says', () => newer(numbers(0, 43), 8), 43, null, 2],
  ['does not say how many', pages(50, numbers(0, 120), null), 120, true, 4],
  ['ends with an empty page too early', (_, number) => newer(number === 1 ? [1, 2] : [], 1300), 2, false, 2],
  ['gives other pages each time, and does not say how many', reshuffling, 4, null, 4],
  ['gives rows twice', () => newer([1, 1, 2, 2], 4), 2, false, 1],
])('a service that %s', async (_, answer, count, complete, requests) => {
  const { ask, asked } = service(answer);
  const list = await readConstituencies(ask, ALL);
  expect([list.constituencies?.length, list.complete, asked.length]).toEqual([count, complete, requests]);
  expect(new Set(list.constituencies?.map(({ uri }) => uri)).size).toBe(count);
});

const DAIL = numbers(0, 43);
const cut =
  (said: unknown = 43) =>
  ({ skip, limit }: Page) =>
    newer(DAIL.slice(skip, skip + limit), said);

type Told = readonly [count: number, total: number | null, complete: boolean | null, requests: number];
test.each<[string, number | null, number | null, (page: Page) => unknown, ...Told]>([
  ['a limit', null, 25, cut(), 25, 43, false, 1],
  ['a larger one', null, 50, cut(), 43, 43, true, 1],
  ['a limit, in smaller pages', 10, 25, ({ skip }) => newer(numbers(skip, skip + 10), 43), 25, 43, false, 3],
  ['a skip', 40, null, cut(), 3, 43, false, 1],
  ['a skip that is ignored', 40, null, () => newer(DAIL, 43), 43, null, null, 2],
  ['a limit, and no word of how many', null, 25, cut(null), 25, null, null, 1],
  ['a skip, and no word of how many', 40, null, cut(null), 3, null, null, 2],
])('%s: how many match, and whether these are all', async (_, skip, limit, answer, count, ...told) => {
  const { ask, asked } = service(answer);
  const list = await readConstituencies(ask, { ...ALL, skip, limit });
  expect([list.constituencies?.length, list.total, list.complete, asked.length]).toEqual([count, ...told]);
});

test.each([
  ['all of it', {}, 25, true],
  ['a page of it', { skip: 10, limit: 12 }, 12, false],
])(
  'no filter at all: both chambers are asked, since the service would answer with one house: %s',
  async (_, page, count, complete) => {
    const { ask, asked } = service(() => newer(asked.length === 1 ? numbers(0, 15) : numbers(15, 25)));
    const list = await readConstituencies(ask, { ...ALL, chamber: null, ...page });
    expect(asked.map((query) => [...query])).toEqual(
      ['dail', 'seanad'].map((chamber) => [
        ['chamber', chamber],
        ['limit', '5000'],
      ]),
    );
    expect([list.constituencies?.length, list.total, list.complete]).toEqual([count, 25, complete]);
  },
);

test('tells the right total and completeness, or null, whatever the service does', async () => {
  const few = fc.integer({ min: 0, max: 120 });
  const habits = fc.record({
    most: fc.integer({ min: 1, max: 150 }),
    tells: fc.boolean(),
    ignoresSkip: fc.boolean(),
    ignoresLimit: fc.boolean(),
    deepest: fc.option(few, { nil: Number.POSITIVE_INFINITY }),
  });
  const limits = fc.option(few.map((n) => n + 1));
  const property = fc.asyncProperty(
    few,
    fc.option(few),
    limits,
    habits,
    async (there, skip, limit, habit) => {
      const { most, tells, ignoresSkip, ignoresLimit, deepest } = habit;
      const { ask } = service((page) => {
        if (page.skip > deepest) refuse();
        const from = ignoresSkip ? 0 : page.skip;
        const to = from + Math.min(most, ignoresLimit ? most : page.limit);
        return newer(numbers(0, there).slice(from, to), tells ? there : null);
      });
      const list = await readConstituencies(ask, { ...ALL, skip, limit }).catch(() => null);
      if (list === null) return;
      if (list.total !== null) expect(list.total).toBe(there);
      if (list.complete !== null) expect(list.complete).toBe(list.constituencies?.length === there);
      if (tells && !ignoresSkip) expect(list.complete).not.toBeNull();
    },
  );
  await fc.assert(property, { numRuns: RUNS });
});

test('rejects when the question is refused, or a page fails in the middle', async () => {
  await expect(readConstituencies(service(() => refuse(404)).ask, ALL)).rejects.toMatchObject({
    status: 404,
  });
  const limited = { ...ALL, limit: 10 };
  const once = service(() => refuse());
  await expect(readConstituencies(once.ask, limited)).rejects.toThrow(ProviderRefused);
  expect(once.asked).toHaveLength(1);
  const breaks = service(({ skip }) => {
    if (skip > 0) throw new Error('gone');
    return newer([1], 10);
  });
  await expect(readConstituencies(breaks.ask, ALL)).rejects.toThrow('gone');
  const turns = service(({ skip }) => (skip > 0 ? { strange: true } : newer([1], 10)));
  await expect(readConstituencies(turns.ask, ALL)).rejects.toMatchObject({ code: 'unexpected_reply' });
});
