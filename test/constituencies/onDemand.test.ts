// Lists on demand: which are kept, how often the service is asked, and how the last good list stays through whatever it answers.
import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { summaryMessage } from '../../src/constituencies/lists.ts';
import { Constituencies } from '../../src/constituencies/onDemand.ts';
import { zone } from '../../src/domain/period.ts';
import { Topics } from '../../src/publication/topics.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import type { Fault } from '../../src/simulator/switches.ts';
import { constituenciesCodec } from '../../src/store/documents.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { owned } from '../../src/store/stateStore.ts';
import { handClock } from '../support/clock.ts';
import { tooMany } from '../support/faults.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const house = { chamber: 'dail', houseNo: 1, name: null, uri: null };
const list = {
  constituencies: [{ uri: 'u', name: 'Éadán', code: null, type: null, house }],
  total: 1,
  complete: true,
  unreadable: 0,
  raw: null,
};

/** `kept`: questions whose lists are on disk, oldest first. */
async function opened(
  kept: readonly object[] = [],
  isOfOtherService = false,
  house_no: number | null = 34,
  chamber: 'dail' | 'seanad' = 'dail',
) {
  const stack = openStack();
  const clock = handClock('2026-03-10T12:00:00Z');
  const simulator = stack.use(await startSimulator({ clock }));
  const folder = await stack.folder();
  const { log } = logLines();
  const state = await StateDirectory.open(folder, log);
  const service = simulator.urls.constituencies;
  for (const [n, more] of kept.entries()) {
    const document = state.document(`constituencies/kept-${n}`, constituenciesCodec);
    const question = { chamber, houseNo: null, chamberIds: [], skip: null, limit: null };
    const view = { question: { ...question, ...more }, list, fetchedAt: 1_770_000_000_000 + n, stale: false };
    await owned(document, isOfOtherService ? 'https://other.example.org' : service).write(view);
  }
  const postponed: unknown[] = [];
  const topics = new Topics('heat2mqtt');
  const reopen = () =>
    Constituencies.open(
      { base_url: service, chamber, house_no: house_no ?? undefined },
      {
        ...{ clock, log, state, topics, zone: zone('Europe/Dublin') },
        publishNow: () => undefined,
        onPostponed: (one) => void postponed.push(one),
      },
    );
  const constituencies = await reopen();
  /** What is retained on such a topic. */
  const retained = (end: string, lists = constituencies) =>
    JSON.parse(lists.messages().find(({ topic }) => topic === `heat2mqtt/${end}`)?.payload ?? 'null');
  return {
    ask: (...question: Parameters<Constituencies['answer']>) => constituencies.answer(...question),
    stop: () => constituencies.stop(),
    reopen,
    clock,
    postponed,
    switches: simulator.switches,
    requests: simulator.requests,
    counters: simulator.counters,
    retained,
    list: () => retained('constituencies/dail/34'),
    topics: () => constituencies.messages().map(({ topic }) => topic.replace('heat2mqtt/', '')),
    files: () => readdir(`${folder}/constituencies`),
  };
}

const TOPIC = 'heat2mqtt/constituencies/dail/34';
const MINUTE_MS = 60_000;

test('gives the answer of a minute again unless another is wanted, shares a fetch between equal questions, and sends no credentials', async () => {
  const { ask, clock, requests, counters, list } = await opened();
  expect(await ask({})).toMatchObject({
    status: 'ok',
    data: { topic: TOPIC, count: 43, fetched: true, changed: true, stale: false },
  });
  const names = list().constituencies.map(({ name }: { name: string }) => name);
  expect(names).toEqual(names.toSorted(new Intl.Collator('ga').compare));
  expect(names.join()).toMatch(/[áéíóúÁÉÍÓÚ]/);
  expect(await ask({})).toMatchObject({ data: { fetched: false, count: 43 } });
  expect(await ask({ force: true })).toMatchObject({ data: { fetched: true, changed: false } });
  clock.advance(MINUTE_MS);
  const same = { chamber: 'dail', house_no: 34 };
  const answers = await Promise.all([ask({}), ask({ force: true }), ask(same)]);
  expect(answers).toMatchObject(Array(3).fill({ status: 'ok', data: { fetched: true } }));
  expect([requests.length, counters.maxInFlight['GET /v1/constituencies']]).toEqual([3, 1]);
  expect(requests.filter(({ authorized }) => authorized)).toEqual([]);
  // The clock has been set back: how old the list is is not known.
  clock.jump(-MINUTE_MS);
  expect(await ask({})).toMatchObject({ data: { fetched: true } });
});

test('retains nothing when the list is empty, or a page of one', async () => {
  const { ask, topics } = await opened();
  const nothing = { topic: null, count: 0, fetched: true, changed: false };
  expect(await ask({ house_no: 999 })).toMatchObject({ status: 'ok', data: nothing });
  const ids = ['/ie/oireachtas/house/dail/3', 'https://data.oireachtas.ie/ie/oireachtas/house/seanad/3'];
  expect(await ask({ chamber_id: ids, limit: 20 })).toMatchObject({
    data: { topic: null, count: 20, complete: false, constituencies: expect.any(Array) },
  });
  expect(topics()).toEqual(['bridge/constituencies']);
});

test('asks for the sitting house when no house is configured, also after a restart and an election', async () => {
  const { ask, switches, clock, requests, retained, list, reopen } = await opened([], false, null);
  const summary = () => retained('bridge/constituencies');
  expect(summary()).toMatchObject({ topic: null, count: null });
  switches.fault('/v1/', { kind: 'reply', status: 500 }, { times: 1 });
  expect(await ask({})).toMatchObject({ status: 'error', data: { topic: null, count: null } });
  switches.constituencies.shape = 'older';
  expect(await ask({ force: true })).toMatchObject({
    status: 'ok',
    data: { topic: 'heat2mqtt/constituencies/dail/all', total: null, complete: null },
  });
  expect(summary().note).toBe('The service does not tell whether these are all.');
  switches.constituencies.shape = 'newer';
  switches.fault('/v1/', { kind: 'change', change: withoutHouse34 }, { times: 1 });
  expect(await ask({ force: true })).toMatchObject({ data: { topic: 'heat2mqtt/constituencies/dail/33' } });
  clock.advance(MINUTE_MS);
  const asked = requests.length;
  const [answer] = await Promise.all([ask({}), ask({})]);
  expect(answer).toMatchObject({ status: 'ok', data: { topic: TOPIC, count: 43, fetched: true } });
  const query = { chamber: 'dail', house_no: 34 };
  expect(list()).toMatchObject({ query, total: 43, complete: true });
  expect(summary()).toMatchObject({ topic: TOPIC, count: 43 });
  expect(requests.at(-1)?.query).toEqual({ chamber: 'dail', limit: '5000' });
  expect(await ask({})).toMatchObject({ data: { topic: TOPIC, fetched: false } });
  const page = { topic: null, count: 3, total: 43, complete: false };
  expect(await ask({ limit: 3 })).toMatchObject({ data: page });
  expect(requests).toHaveLength(asked + 2);
  expect(retained('bridge/constituencies', await reopen())).toMatchObject({ topic: TOPIC, count: 43 });
});

test('takes no house with a year for its number as the sitting one', async () => {
  const { ask, retained } = await opened([{ houseNo: 1934 }, { houseNo: 27 }], false, null, 'seanad');
  expect(retained('bridge/constituencies')).toMatchObject({ topic: 'heat2mqtt/constituencies/seanad/27' });
  expect(await ask({ force: true })).toMatchObject({
    status: 'ok',
    data: { topic: 'heat2mqtt/constituencies/seanad/27', count: 11 },
  });
  const other = await opened([{ houseNo: 1934 }], false, null, 'seanad');
  expect(other.retained('bridge/constituencies')).toMatchObject({ topic: null });
});

function withoutHouse34(body: unknown): unknown {
  const { results } = body as { results: readonly { house: { houseNo: string } }[] };
  const older = results.filter(({ house }) => house.houseNo !== '34');
  return { head: { counts: { resultCount: older.length } }, results: older };
}

const halved: Fault = {
  kind: 'change',
  change(body) {
    const { results, ...rest } = Object(body);
    return results ? { ...rest, results: results.slice(0, 21) } : body;
  },
};

const NAMELESS = { constituencyOrPanel: { uri: 'u9' } };
const withRows = (change: (rows: readonly unknown[]) => readonly unknown[]): Fault => ({
  kind: 'change',
  change(body) {
    const { results, head } = Object(body);
    const rows = change(results);
    return { head: { ...head, counts: { resultCount: rows.length } }, results: rows };
  },
});
const nameless = withRows(([, ...others]) => [NAMELESS, ...others]);
const anotherNameless = withRows((rows) => [...rows, NAMELESS]);

test('postpones a request, by force too, when thirty lists were fetched in five minutes, and gives a fresh list all the same', async () => {
  const { ask, clock, requests, postponed } = await opened();
  for (let n = 0; n < 30; n += 1) expect(await ask({ force: true })).toMatchObject({ status: 'ok' });
  const later = { reason: 'rate_limit', next_at: '2026-03-10T12:05:00+00:00' };
  expect(await ask({ force: true })).toMatchObject({ status: 'skipped', data: { ...later, count: 43 } });
  expect(await ask({})).toMatchObject({ status: 'ok', data: { fetched: false } });
  expect([requests.length, postponed]).toMatchObject([30, [{ reason: 'rate_limit' }]]);
  clock.advance(5 * MINUTE_MS);
  expect(await ask({})).toMatchObject({ status: 'ok', data: { fetched: true } });
});

test('gives up after thirty seconds when the service hangs, and keeps to its Retry-After', async () => {
  const { ask, switches, requests, clock, postponed, topics } = await opened();
  switches.fault('/v1/', { kind: 'hang' }, { times: 1 });
  const answer = ask({});
  await waitFor('the request', () => requests.length === 1);
  clock.advance(31_000);
  const message = expect.stringContaining('time ran out');
  expect(await answer).toMatchObject({ status: 'error', error: { code: 'provider_unreachable', message } });
  expect(topics()).toEqual(['bridge/constituencies']);
  switches.fault('/v1/', tooMany(120), { times: 1 });
  expect(await ask({})).toMatchObject({ status: 'error', error: { code: 'provider_unreachable' } });
  expect(await ask({ force: true })).toMatchObject({
    status: 'skipped',
    data: { reason: 'retry_after', next_at: '2026-03-10T12:02:31+00:00' },
  });
  expect(postponed).toMatchObject([{ reason: 'retry_after' }]);
  clock.advance(2 * MINUTE_MS);
  expect(await ask({})).toMatchObject({ status: 'ok' });
  expect(requests).toHaveLength(3);
});

test('passes an unknown shape and a list with gaps on when there is nothing better, and never over a whole list', async () => {
  const { ask, switches, list, retained } = await opened();
  switches.constituencies.shape = 'third';
  const shapeless = { count: null, changed: true, warning: expect.stringContaining('shape') };
  expect(await ask({})).toMatchObject({ status: 'ok', data: shapeless });
  const raw = { constituencies: expect.any(Array) };
  expect(list()).toMatchObject({ count: null, constituencies: null, raw });
  Object.assign(switches.constituencies, { shape: 'newer', deepSkip: 1 });
  switches.fault('/v1/', halved);
  const part = { count: 21, warning: expect.stringContaining('21 of 43') };
  expect(await ask({})).toMatchObject({ status: 'ok', data: part });
  expect(list()).toMatchObject({ count: 21, total: 43, complete: false });
  // Another part is as good.
  expect(await ask({ force: true })).toMatchObject({ status: 'ok', data: { ...part, changed: false } });
  switches.clearFaults();
  expect(await ask({ force: true })).toMatchObject({ data: { count: 43, changed: true } });
  const good = list();

  const data = { topic: TOPIC, count: 43, stale: true, fetched_at: good.fetched_at, changed: false };
  switches.fault('/v1/', halved);
  const error = { code: 'incomplete_list' };
  expect(await ask({ force: true })).toMatchObject({ status: 'error', error, data });
  switches.clearFaults();
  switches.constituencies.shape = 'third';
  expect(await ask({ force: true })).toMatchObject({
    status: 'error',
    error: { code: 'unexpected_reply', message: expect.stringContaining('another shape') },
    data,
  });
  expect(list()).toEqual({ ...good, stale: true });
  expect(retained('bridge/constituencies')).toMatchObject({ count: 43, stale: true });
  // A stale list is no answer: asked within the minute, it is fetched anew.
  switches.constituencies.shape = 'newer';
  expect(await ask({})).toMatchObject({ data: { fetched: true, changed: false, stale: false } });
  // Nor does the one house of the older shape replace all of them.
  const dail = { chamber: 'dail', force: true };
  const { count, total } = (await ask(dail)).data as Record<string, unknown>;
  switches.constituencies.shape = 'older';
  expect(await ask(dail)).toMatchObject({
    status: 'error',
    error,
    data: { count, total, complete: true, stale: true },
  });
});

test('keeps a row as it was when it cannot be read any more, and takes what comes where there is none', async () => {
  const { ask, switches, list } = await opened();
  switches.fault('/v1/', nameless);
  const left = { count: 42, warning: expect.stringContaining('cannot be read: 1 ') };
  expect(await ask({})).toMatchObject({ status: 'ok', data: left });
  expect(list()).toMatchObject({ count: 42, total: 43, complete: false });
  // Another such list is as good.
  expect(await ask({ force: true })).toMatchObject({ status: 'ok', data: { ...left, changed: false } });
  switches.clearFaults();
  expect(await ask({ force: true })).toMatchObject({ data: { count: 43, changed: true } });
  const good = list();
  const warned = { warning: expect.stringContaining('cannot be read: 1 '), stale: false };
  for (const fault of [nameless, nameless, anotherNameless]) {
    switches.fault('/v1/', fault);
    const kept = { ...warned, count: 43, changed: false };
    expect(await ask({ force: true })).toMatchObject({ status: 'ok', data: kept });
    expect(list().constituencies).toEqual(good.constituencies);
    switches.clearFaults();
  }
  expect(await ask({ force: true })).toMatchObject({ data: { count: 43, complete: true, changed: false } });
});

test('drops the oldest list when there are more than a hundred beside the configured one', async () => {
  const houses = Array.from({ length: 100 }, (_, n) => ({ houseNo: 100 + n }));
  const { ask, topics } = await opened([{ houseNo: 34 }, ...houses]);
  expect(topics()).toHaveLength(102);
  await ask({ chamber: 'seanad', house_no: 27 });
  expect(topics()).toHaveLength(102);
  expect(topics()).toEqual(
    expect.arrayContaining(['constituencies/dail/34', 'constituencies/dail/101', 'constituencies/seanad/27']),
  );
  expect(topics()).not.toContain('constituencies/dail/100');
});

test('removes pages when an earlier version has kept some', async () => {
  const { topics, files } = await opened([
    { limit: 3 },
    { skip: 0 },
    { chamberIds: ['/ie/a/house/dail/3'] },
    { houseNo: 3 },
  ]);
  expect(topics()).toEqual(['constituencies/dail/3', 'bridge/constituencies']);
  expect(await files()).toEqual(['kept-3.json']);
});

test('reads no list when it is of another service', async () => {
  const { topics } = await opened([{ houseNo: 34 }], true);
  expect(topics()).toEqual(['bridge/constituencies']);
});

test('ends a fetch when it stops, and does not mark the list from before as stale', async () => {
  const { ask, stop, switches, counters, list } = await opened();
  await ask({});
  switches.fault('/v1/', { kind: 'hang' });
  const asking = expect(ask({ force: true })).rejects.toThrow('interrupted');
  await waitFor('the second question', () => counters.requests['GET /v1/constituencies'] === 2);
  // No time passes on the clock: nothing else ends it.
  await stop();
  await asking;
  expect(list()).toMatchObject({ stale: false });
});

/** Of a list with these names. */
function summaryOf(names: readonly string[]) {
  const question = { chamber: 'dail', houseNo: 34, chamberIds: [], skip: null, limit: null } as const;
  const rows = names.map((name) => ({ uri: name, name, code: null, type: null, house }));
  const view = { ...list, constituencies: rows, total: rows.length };
  const shown = { question, list: view, fetchedAt: 0, stale: false };
  return JSON.parse(
    summaryMessage({ topics: new Topics('heat2mqtt'), zone: zone('Europe/Dublin') }, 'dail/34', shown)
      .payload,
  );
}

test('puts every name once into the summary for Home Assistant, and none when they would be over 16 KiB', () => {
  expect(summaryOf(['Éadán', 'Zion'])).toMatchObject({ count: 2, names: ['Éadán', 'Zion'], note: null });
  expect(summaryOf(['Éadán', 'Éadán', 'Zion'])).toMatchObject({
    count: 3,
    names: ['Éadán', 'Zion'],
    note: '3 constituencies have 2 different names.',
  });
  const many = (count: number) => Array.from({ length: count }, (_, n) => `Dáilcheantar ${n}`);
  expect(summaryOf(many(600)).names).toHaveLength(600);
  expect(summaryOf(many(1_300))).toMatchObject({
    count: 1_300,
    names: null,
    note: 'The 1300 names are too long for Home Assistant. They are on the topic of the list.',
  });
});
