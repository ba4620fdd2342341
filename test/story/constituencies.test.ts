// Constituencies on demand, as a home without any account sees them, and the last good list: it stays through faults, restarts, and a
// broker that forgets.
import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/switches.ts';
import { FAULTS, tooMany } from '../support/faults.ts';
import { asking, FETCH, LIST, openListStory, REQUEST, RESPONSE, SUMMARY } from '../support/lists.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll } from '../support/story.ts';

const BRIDGE = 'homeassistant/device/heat2mqtt_bridge/config';

function names(payload: unknown): string[] {
  const { constituencies = [] } = Object(payload) as { constituencies?: { name: string }[] };
  return constituencies.map(({ name }) => name);
}

function halved(body: unknown): unknown {
  const { results, ...rest } = body as { results?: unknown[] };
  return results ? { ...rest, results: results.slice(0, 21) } : body;
}

test('nothing is fetched by itself; a request fetches, publishes retained, and answers; within a minute from the cache, unless forced; equal ones share a fetch', async () => {
  const { story, probe, switches, fetches, counters } = await openListStory();
  await story.pass(3_600_000, 60_000);
  expect(fetches()).toBe(0);
  expect(probe.on(LIST)).toEqual([]);
  expect(probe.json(SUMMARY)).toMatchObject({ count: null, names: null });

  // As the button of Home Assistant does.
  expect(probe.json(BRIDGE)).toMatchObject({
    components: { refresh_constituencies: { command_topic: REQUEST, payload_press: '{}' } },
  });
  await probe.publish(REQUEST, '{}');
  expect(await probe.until(RESPONSE)).toMatchObject({
    status: 'ok',
    data: { topic: LIST, count: 43, fetched: true, changed: true, stale: false },
  });
  expect(probe.on(LIST)).toHaveLength(1);
  const list = probe.json(LIST);
  expect(list).toMatchObject({ schema: 1, stale: false, count: 43, total: 43, complete: true });
  expect(names(list)).toEqual(names(list).toSorted(new Intl.Collator('ga').compare));
  expect(names(list).join()).toMatch(/[áéíóúÁÉÍÓÚ]/);
  expect(probe.json(SUMMARY)).toMatchObject({ count: 43, stale: false, fetched_at: list?.fetched_at });
  // The list is there before the answer that names it.
  const order = probe.heard.map(({ topic }) => topic).filter((topic) => topic === LIST || topic === RESPONSE);
  expect(order).toEqual([LIST, RESPONSE]);
  const later = await story.listen();
  await later.until(LIST);
  expect(later.last(LIST)?.retained).toBe(true);
  expect(
    story.simulator.requests.filter(({ path, authorized }) => authorized && path.includes('/v1/cons')),
  ).toEqual([]);

  expect(await asking(probe)).toMatchObject({ status: 'ok', data: { fetched: false, count: 43 } });
  expect(fetches()).toBe(1);
  expect(await asking(probe, { force: true })).toMatchObject({ data: { fetched: true, changed: false } });
  await story.pass(60_000, 10_000);
  switches.fault('/v1/', { kind: 'slow', ms: 5_000 });
  const same = { chamber: 'dail', house_no: 34 };
  const answers = [asking(probe), asking(probe, { force: true }), asking(probe, same)];
  await untilTrue('the fetch', () => fetches() === 3);
  await story.pass(6_000);
  expect(await Promise.all(answers)).toMatchObject(Array(3).fill({ status: 'ok', data: { fetched: true } }));
  expect([fetches(), counters.maxInFlight[FETCH]]).toEqual([3, 1]);
});

test('each question has its topic, without fadas; both chambers are 1,300 rows; an empty list leaves nothing retained', async () => {
  const { probe } = await openListStory();
  expect(await asking(probe, { chamber: 'dail', house_no: 999 })).toMatchObject({
    status: 'ok',
    data: { topic: null, count: 0, fetched: true, changed: false },
  });
  expect(probe.heard.filter(({ topic }) => topic.startsWith('heat2mqtt/constituencies/'))).toEqual([]);
  expect(await asking(probe, { chamber: 'seanad', house_no: 27 })).toMatchObject({
    data: { topic: 'heat2mqtt/constituencies/seanad/27', count: 11 },
  });
  const both = await asking(probe, { chamber: '' });
  expect(both).toMatchObject({ data: { topic: 'heat2mqtt/constituencies/all/all' } });
  expect((both.data as { count: number }).count).toBeGreaterThan(1_200);
  const ids = ['/ie/oireachtas/house/dail/3', 'https://data.oireachtas.ie/ie/oireachtas/house/seanad/3'];
  const listed = () =>
    probe.heard.filter(({ topic }) => /\/constituencies\/[^/]+\/[^/]+$/.test(topic)).length;
  const before = listed();
  const query = await asking(probe, { chamber_id: ids, limit: 20 });
  expect(query).toMatchObject({ status: 'ok', data: { topic: null, count: 20, complete: false } });
  expect(names(query.data)).toHaveLength(20);
  expect(listed()).toBe(before);
  expect(probe.heard.every(({ topic }) => /^[\x20-\x7e]+$/.test(topic))).toBe(true);
});

test('without house_no the configured question is the sitting house: found in the list of its chamber, after a restart and an election too', async () => {
  const { story, daemon, start, probe, switches, fetches } = await openListStory({});
  expect(probe.json(SUMMARY)).toMatchObject({ topic: null, count: null });
  switches.fault('/v1/', { kind: 'reply', status: 500 }, { times: 1 });
  const failed = { status: 'error', data: { topic: null, count: null, fetched: false } };
  expect(await asking(probe)).toMatchObject(failed);
  switches.constituencies.shape = 'older';
  expect(await asking(probe, { force: true })).toMatchObject({
    status: 'ok',
    data: { topic: 'heat2mqtt/constituencies/dail/all', total: null, complete: null },
  });
  expect(probe.json(SUMMARY)?.note).toBe('The service does not tell whether these are all.');
  switches.constituencies.shape = 'newer';
  switches.fault('/v1/', { kind: 'change', change: withoutHouse34 }, { times: 1 });
  expect(await asking(probe, { force: true })).toMatchObject({
    data: { topic: 'heat2mqtt/constituencies/dail/33' },
  });
  await story.pass(60_000, 10_000);
  const asked = fetches();
  const [answer] = await Promise.all([asking(probe), asking(probe)]);
  expect(answer).toMatchObject({ status: 'ok', data: { topic: LIST, count: 43, fetched: true } });
  expect(probe.json(LIST)).toMatchObject({
    query: { chamber: 'dail', house_no: 34 },
    total: 43,
    complete: true,
  });
  expect(probe.json(SUMMARY)).toMatchObject({ topic: LIST, count: 43 });
  expect(story.simulator.requests.at(-1)?.query).toEqual({ chamber: 'dail', limit: '5000' });
  expect(await asking(probe)).toMatchObject({ data: { topic: LIST, fetched: false } });
  const page = await asking(probe, { limit: 3 });
  expect(page).toMatchObject({ data: { topic: null, count: 3, total: 43, complete: false } });
  switches.fault('/v1/', { kind: 'reply', status: 500 });
  expect(await asking(probe, { force: true })).toMatchObject({
    status: 'error',
    data: { topic: LIST, count: 43, stale: true },
  });

  await story.stop(daemon);
  probe.forget();
  await start();
  expect(await probe.until(SUMMARY)).toMatchObject({ topic: LIST, count: 43 });
  expect(fetches()).toBe(asked + 3);
});

function withoutHouse34(body: unknown): unknown {
  const { results } = body as { results: readonly { house: { houseNo: string } }[] };
  const older = results.filter(({ house }) => house.houseNo !== '34');
  return { head: { counts: { resultCount: older.length } }, results: older };
}

const FAULTY: readonly (readonly [string, Fault, string])[] = [
  ['HTML', FAULTS.captivePage, 'unexpected_reply'],
  ['500', FAULTS.serverError, 'provider_unreachable'],
  ['404', FAULTS.notFound, 'provider_refused'],
  ['a huge reply', FAULTS.oversized, 'reply_too_large'],
];

test('each fault: an error with a code; the list stays and says that it is stale, until the next good one', async () => {
  const { story, probe, switches } = await openListStory();
  await asking(probe);
  for (const [what, fault, code] of FAULTY) {
    const good = probe.json(LIST);
    const ordered = switches.fault('/v1/', fault);
    await story.pass(1_000);
    const answer = await asking(probe, { force: true });
    expect([what, answer]).toMatchObject([
      what,
      {
        status: 'error',
        error: { code, message: expect.any(String), hint: expect.any(String) },
        data: { topic: LIST, count: 43, stale: true, fetched_at: good?.fetched_at, changed: false },
      },
    ]);
    expect(probe.json(LIST)).toEqual({ ...good, stale: true });
    expect(probe.json(SUMMARY)).toMatchObject({ count: 43, stale: true });
    ordered.remove();
    // A stale list is no answer: asked within the minute, it is fetched anew.
    expect(await asking(probe)).toMatchObject({
      status: 'ok',
      data: { fetched: true, changed: false, stale: false },
    });
    expect(probe.json(LIST)).toMatchObject({ stale: false });
  }
});

test('a service that hangs is given up after thirty seconds; Retry-After is honoured, by force too', async () => {
  const { story, probe, switches, fetches } = await openListStory();
  switches.fault('/v1/', { kind: 'hang' }, { times: 1 });
  const answer = asking(probe);
  await untilTrue('the request', () => fetches() === 1);
  await story.pass(31_000);
  expect(await answer).toMatchObject({
    status: 'error',
    error: { code: 'provider_unreachable', message: expect.stringContaining('time ran out') },
    data: { topic: LIST, count: null },
  });
  expect(probe.on(LIST)).toEqual([]);

  switches.fault('/v1/', tooMany(120), { times: 1 });
  expect(await asking(probe)).toMatchObject({ status: 'error', error: { code: 'provider_unreachable' } });
  expect(await asking(probe, { force: true })).toMatchObject({
    status: 'skipped',
    data: { reason: 'retry_after', next_at: expect.stringContaining('2025-03-10T12:02:3') },
  });
  expect(await probe.until('heat2mqtt/bridge/event')).toMatchObject({
    event_type: 'request_skipped',
    code: 'retry_after',
    request: 'constituencies',
    message: expect.stringContaining('possible again at 12:0'),
  });
  await story.pass(120_000, 10_000);
  expect(await asking(probe)).toMatchObject({ status: 'ok' });
  expect(fetches()).toBe(3);
});

test('an unknown shape and a list with gaps are passed on while there is nothing better, and never over a whole list', async () => {
  const { story, probe, switches } = await openListStory();
  switches.constituencies.shape = 'third';
  expect(await asking(probe)).toMatchObject({
    status: 'ok',
    data: { count: null, changed: true, warning: expect.stringContaining('shape') },
  });
  expect(probe.json(LIST)).toMatchObject({
    count: null,
    constituencies: null,
    raw: { constituencies: expect.any(Array) },
  });
  expect(story.log.some(({ level, warning }) => level === 'warn' && warning !== undefined)).toBe(true);
  Object.assign(switches.constituencies, { shape: 'newer', deepSkip: 1 });
  switches.fault('/v1/', { kind: 'change', change: halved });
  expect(await asking(probe)).toMatchObject({
    status: 'ok',
    data: { count: 21, warning: expect.stringContaining('21 of 43') },
  });
  expect(probe.json(LIST)).toMatchObject({ count: 21, total: 43, complete: false });
  switches.clearFaults();
  expect(await asking(probe, { force: true })).toMatchObject({ data: { count: 43, changed: true } });
  switches.constituencies.shape = 'older';
  await asking(probe, { force: true });
  const older = probe.json(LIST);
  switches.constituencies.shape = 'newer';
  await asking(probe, { force: true });
  const good = probe.json(LIST);
  expect(good).toEqual(older);

  switches.fault('/v1/', { kind: 'change', change: halved });
  const data = { topic: LIST, count: 43, stale: true, fetched_at: good?.fetched_at, changed: false };
  expect(await asking(probe, { force: true })).toMatchObject({
    status: 'error',
    error: { code: 'incomplete_list' },
    data,
  });
  expect(probe.json(LIST)).toEqual({ ...good, stale: true });
  switches.clearFaults();
  switches.constituencies.shape = 'third';
  expect(await asking(probe, { force: true })).toMatchObject({
    status: 'error',
    error: { code: 'unexpected_reply', message: expect.stringContaining('another shape') },
    data,
  });
  expect(probe.json(LIST)).toEqual({ ...good, stale: true });
  // Nor does the one house of the older shape replace all of them.
  switches.constituencies.shape = 'newer';
  const dail = { chamber: 'dail', force: true };
  const { count, total } = (await asking(probe, dail)).data as Record<string, unknown>;
  switches.constituencies.shape = 'older';
  expect(await asking(probe, dail)).toMatchObject({
    status: 'error',
    error: { code: 'incomplete_list' },
    data: { count, total, complete: true, stale: true },
  });
});

test('lists survive a restart and a broker that forgot, without a fetch; one that is cut short by the end leaves them unmarked', async () => {
  const { story, daemon, start, probe, switches, fetches } = await openListStory();
  await asking(probe);
  const seanad = await asking(probe, { chamber: 'seanad', house_no: 27 });
  const { topic } = seanad.data as { topic: string };
  await story.stop(daemon);
  await story.restartBroker();
  const second = await start();
  const after = await story.listen();
  await after.until(topic);
  await after.until(LIST, ({ count }) => count === 43);
  await after.until(SUMMARY, ({ count }) => count === 43);
  expect(after.json(LIST)).toEqual(probe.json(LIST));
  // The clock went on by the stop only: the cached list is fresh enough.
  expect(await asking(after)).toMatchObject({ status: 'ok', data: { fetched: false } });
  await story.restartBroker();
  await story.pass(40_000);
  const again = await story.listen();
  await again.until(LIST, ({ count }) => count === 43);
  await again.until(topic);
  expect(fetches()).toBe(2);

  switches.fault('/v1/', { kind: 'hang' });
  await again.publish(REQUEST, '{"force":true}');
  await untilTrue('the fetch', () => fetches() === 3);
  expect(await story.stop(second)).toBeLessThan(8_000);
  again.forget();
  await start();
  expect(await again.until(LIST)).toMatchObject({ stale: false, count: 43 });
});

test('taken out of the configuration: lists, sensors and button are withdrawn, a request is refused', async () => {
  const { probe, restart } = await firstPoll({ config: { constituencies: { house_no: 34 } } });
  await asking(probe);
  await restart();
  await probe.untilCleared([LIST, SUMMARY]);
  const documents = probe.on(BRIDGE).map(({ payload }) => payload);
  expect(documents[0]).toContain('"refresh_constituencies":{"platform":"button"}');
  expect(documents.at(-1)).not.toContain('constituencies');
  expect(await asking(probe)).toMatchObject({ status: 'error', error: { code: 'not_configured' } });
});
