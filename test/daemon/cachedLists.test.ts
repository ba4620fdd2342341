// The cached lists: bounded, kept over a restart, and forgotten when they come from another service.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { CachedLists } from '../../src/daemon/requests/cachedLists.ts';
import type { ConstituencyQuestion } from '../../src/domain/constituency.ts';
import { zone } from '../../src/domain/period.ts';
import { Topics } from '../../src/publication/topics.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';

const { log } = logLines();
const topics = new Topics('heat2mqtt');
const USUAL = { chamber: 'dail', houseNo: 34, chamberIds: [], skip: null, limit: null } as const;
let path: string;

beforeEach(async () => {
  path = await openStack().folder();
});

async function open(owner = 'https://list.example.org/v1') {
  const state = await StateDirectory.open(path, log);
  return CachedLists.open(owner, 'dail/34', { topics, zone: zone('Europe/Dublin'), state, log });
}

const house = { chamber: 'dail', houseNo: 34, name: null, uri: null };
function view(name: string, more: Partial<ConstituencyQuestion> = {}, fetchedAt = 1_770_000_000_000) {
  const constituencies = [{ uri: `u/${name}`, name, code: null, type: null, house }];
  const list = { constituencies, total: 1, complete: true, raw: null };
  return { question: { ...USUAL, ...more }, list, fetchedAt, stale: false };
}

test('comes back after a restart as it was, stale mark included', async () => {
  const before = await open();
  expect(await before.put(view('Dún Laoghaire'))).toBe(true);
  expect(await before.put(view('Dún Laoghaire', {}, 1_770_000_060_000))).toBe(false);
  await before.put({
    ...view('x', { limit: 3 }),
    list: { constituencies: null, total: null, complete: true, raw: { any: ['thing'] } },
  });
  await before.markStale('dail/34');
  await before.markStale('seanad/1');
  expect(before.get('dail/34')).toMatchObject({ stale: true, fetchedAt: 1_770_000_060_000 });
  const after = await open();
  const topicsOf = (lists: CachedLists) =>
    lists
      .messages()
      .map(({ topic }) => topic)
      .sort();
  expect(topicsOf(after)).toEqual(topicsOf(before));
  expect(after.get('dail/34')).toEqual(before.get('dail/34'));
  expect(after.messages().find(({ payload }) => payload.includes('"any"'))).toBeDefined();
});

test('at most fifty queries and a hundred houses beside the configured one; the oldest go, from the disk too', async () => {
  const lists = await open();
  await lists.put(view('usual'));
  for (let limit = 1; limit <= 53; limit += 1) await lists.put(view(`q${limit}`, { limit }));
  for (let houseNo = 100; houseNo <= 202; houseNo += 1) await lists.put(view(`h${houseNo}`, { houseNo }));
  expect(lists.get('dail/34')).not.toBeNull();
  expect([lists.get('dail/102'), lists.get('dail/103')?.question.houseNo]).toEqual([null, 103]);
  const names = await readdir(join(path, 'constituencies'));
  expect(names.filter((name) => name.startsWith('query-'))).toHaveLength(50);
  expect(names.filter((name) => name.startsWith('dail-'))).toHaveLength(101);
  expect(lists.messages()).toHaveLength(152);
  await lists.put(view('h103 again', { houseNo: 103 }));
  await lists.put(view('h300', { houseNo: 300 }));
  expect([lists.get('dail/103')?.question.houseNo, lists.get('dail/104')]).toEqual([103, null]);
});

test('lists of another service, and damaged ones, are not there', async () => {
  const lists = await open();
  await lists.put(view('usual'));
  await lists.put(view('other', { houseNo: 33 }));
  const file = join(path, 'constituencies', 'dail-33.json');
  await writeFile(file, (await readFile(file, 'utf8')).slice(0, 50));
  expect((await open()).messages()).toHaveLength(2);
  expect((await open('https://other.example.org')).messages()).toHaveLength(1);
});
