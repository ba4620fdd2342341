// The public list: filters, paging, its shapes and its bad habits.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inventedHouses } from '../../src/simulator/constituencies.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { handClock } from '../support/clock.ts';
import { look, visit } from './visitor.ts';

let provider: Simulator;

beforeEach(async () => {
  provider = await startSimulator({ clock: handClock('2026-03-10T12:00:00Z') });
});
afterEach(() => provider.stop());

const list = (query = '') => visit(`${provider.urls.constituencies}/constituencies${query}`);

async function uris(query: string): Promise<string[]> {
  const rows = look((await list(query)).body, 'results') as unknown[];
  return rows.map((row) => String(look(row, 'constituencyOrPanel.uri')));
}

test('about sixty houses with 1,300 rows, unique by uri, names recurring, some with a fada', () => {
  const houses = inventedHouses(1);
  const rows = houses.flatMap((house) => house.rows);
  expect(houses).toHaveLength(61);
  expect(rows.length).toBeGreaterThan(1200);
  expect(rows.length).toBeLessThan(1400);
  expect(new Set(rows.map(({ uri }) => uri)).size).toBe(rows.length);
  expect(new Set(rows.map(({ showAs }) => showAs)).size).toBeLessThan(100);
  expect(rows.some(({ showAs }) => /[áéíóú]/i.test(showAs))).toBe(true);
  expect(rows.every(({ representCode }) => /^[A-Za-z-]+$/.test(representCode))).toBe(true);
});

test('one house, in an order that is not the alphabet but holds still unless told', async () => {
  const first = await uris('?chamber=dail&house_no=34');
  expect(first).toHaveLength(43);
  expect(first.every((uri) => uri.includes('/house/dail/34/constituency/'))).toBe(true);
  expect(first).not.toEqual(first.toSorted());
  expect(await uris('?chamber=dail&house_no=34')).toEqual(first);
  provider.switches.constituencies.reshuffles = true;
  expect(await uris('?chamber=dail&house_no=34')).not.toEqual(first);
});

test('the newer, the older and the third shape', async () => {
  const { body, headers } = await list('?chamber=seanad&house_no=27&limit=1');
  expect(headers.get('etag')).toBeNull();
  expect(look(body, 'head.counts')).toEqual({ constituencyCount: 11, resultCount: 11 });
  const uri = 'https://data.oireachtas.ie/ie/oireachtas/house/seanad/27';
  expect(look(body, 'results.0')).toMatchObject({
    constituencyOrPanel: {
      representType: 'panel',
      showAs: expect.any(String),
      representCode: expect.any(String),
    },
    house: { houseNo: '27', houseCode: 'seanad', uri },
  });
  provider.switches.constituencies.shape = 'older';
  const house = look((await list('?chamber=dail&house_no=34')).body, 'results.house');
  expect(look(house, 'house')).toMatchObject({ houseCode: 'dail', houseNo: '34' });
  expect(look(house, 'constituenciesOrPanels')).toHaveLength(43);
  expect(look(house, 'constituenciesOrPanels.0.constituencyOrPanel.uri')).toContain('/dail/34/');
  provider.switches.constituencies.shape = 'third';
  expect(Object.keys((await list('?chamber=dail')).body as object)).toEqual(['constituencies']);
});

test('skip and limit cut pages that fit together, fifty rows unless asked; without a filter eight of a house', async () => {
  const all = await uris('?chamber=dail&limit=5000');
  expect(all.length).toBeGreaterThan(900);
  expect(await uris('?chamber=dail')).toEqual(all.slice(0, 50));
  expect(await uris('?chamber=dail&skip=50&limit=30')).toEqual(all.slice(50, 80));
  expect(await uris('?chamber=dail&skip=5000')).toEqual([]);
  const rows = await uris('');
  expect(rows).toHaveLength(8);
  expect(new Set(rows.map((uri) => uri.split('/').slice(0, -2).join('/'))).size).toBe(1);
});

test('filters by chamber_id, several of them, and by house number over both chambers', async () => {
  const both = await uris(
    '?chamber_id=/ie/oireachtas/house/dail/3&chamber_id=/ie/oireachtas/house/seanad/3&limit=500',
  );
  expect(both.filter((uri) => uri.includes('/seanad/3/'))).toHaveLength(11);
  expect(both.every((uri) => /\/(dail|seanad)\/3\//.test(uri))).toBe(true);
  expect((await uris('?house_no=3&limit=500')).toSorted()).toEqual(both.toSorted());
  expect(await uris('?chamber=commons')).toEqual([]);
});

test('bad habits: limit ignored, the first page for ever, no deep skip', async () => {
  const { constituencies } = provider.switches;
  constituencies.ignoresLimit = true;
  expect(await uris('?chamber=dail&house_no=34&limit=25')).toHaveLength(43);
  constituencies.ignoresLimit = false;
  constituencies.repeatsFirstPage = true;
  expect(await uris('?chamber=dail&skip=50')).toEqual(await uris('?chamber=dail'));
  constituencies.deepSkip = 500;
  const deep = await list('?chamber=dail&skip=500');
  expect([deep.status, look(deep.body, 'message')]).toEqual([422, expect.any(String)]);
  expect((await list('?limit=-1')).status).toBe(422);
});

test('credentials sent here are noticed', async () => {
  await list();
  expect(provider.counters.credentialsToConstituencies).toBe(0);
  await visit(`${provider.urls.constituencies}/constituencies`, { headers: { authorization: 'Bearer x' } });
  expect(provider.counters.credentialsToConstituencies).toBe(1);
});
