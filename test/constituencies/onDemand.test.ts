// The lists that are kept: how many, of which service, and what an earlier version has left.
import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openConstituencies } from '../../src/constituencies/onDemand.ts';
import { zone } from '../../src/domain/period.ts';
import { Topics } from '../../src/publication/topics.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { constituenciesCodec } from '../../src/store/documents.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { owned } from '../../src/store/stateStore.ts';
import { handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';

const house = { chamber: 'dail', houseNo: 1, name: null, uri: null };
const list = {
  constituencies: [{ uri: 'u', name: 'Éadán', code: null, type: null, house }],
  total: 1,
  complete: true,
  raw: null,
};

/** `kept`: questions whose lists are on disk, oldest first. */
async function opened(kept: readonly object[], isOfOtherService = false) {
  const stack = openStack();
  const clock = handClock('2026-03-10T12:00:00Z');
  const simulator = stack.use(await startSimulator({ clock }));
  const folder = await stack.folder();
  const { log } = logLines();
  const state = await StateDirectory.open(folder, log);
  const service = simulator.urls.constituencies;
  for (const [n, more] of kept.entries()) {
    const document = state.document(`constituencies/kept-${n}`, constituenciesCodec);
    const question = { chamber: 'dail' as const, houseNo: null, chamberIds: [], skip: null, limit: null };
    const view = { question: { ...question, ...more }, list, fetchedAt: 1_770_000_000_000 + n, stale: false };
    await owned(document, isOfOtherService ? 'https://other.example.org' : service).write(view);
  }
  const constituencies = await openConstituencies(
    { base_url: service, chamber: 'dail', house_no: 34 },
    {
      clock,
      log,
      state,
      zone: zone('Europe/Dublin'),
      topics: new Topics('heat2mqtt'),
      publishNow: () => undefined,
      onPostponed: () => undefined,
    },
  );
  const topics = () => constituencies.messages().map(({ topic }) => topic.replace('heat2mqtt/', ''));
  return { constituencies, topics, files: () => readdir(`${folder}/constituencies`) };
}

test('at most a hundred beside the configured one; the oldest goes', async () => {
  const houses = Array.from({ length: 100 }, (_, n) => ({ houseNo: 100 + n }));
  const { constituencies, topics } = await opened([{ houseNo: 34 }, ...houses]);
  expect(topics()).toHaveLength(102);
  await constituencies.answer({ chamber: 'seanad', house_no: 27 });
  expect(topics()).toHaveLength(102);
  expect(topics()).toEqual(
    expect.arrayContaining(['constituencies/dail/34', 'constituencies/dail/101', 'constituencies/seanad/27']),
  );
  expect(topics()).not.toContain('constituencies/dail/100');
});

test('pages that an earlier version has kept are removed', async () => {
  const { topics, files } = await opened([
    { limit: 3 },
    { chamberIds: ['/ie/a/house/dail/3'] },
    { houseNo: 3 },
  ]);
  expect(topics()).toEqual(['constituencies/dail/3', 'bridge/constituencies']);
  expect(await files()).toEqual(['kept-2.json']);
});

test('lists of another service are not read', async () => {
  const { topics } = await opened([{ houseNo: 34 }], true);
  expect(topics()).toEqual(['bridge/constituencies']);
});
