// Constituencies on demand, as a home without any account sees them.
import { expect, test } from 'vitest';
import { asking, FETCH, LIST, openListStory, REQUEST, RESPONSE, SUMMARY } from '../support/lists.ts';
import { untilTrue } from '../support/rest.ts';

function names(payload: Record<string, unknown> | undefined): string[] {
  const rows = (payload?.constituencies ?? []) as { name: string }[];
  return rows.map(({ name }) => name);
}

test('nothing is fetched by itself; a request fetches, publishes retained, and answers', async () => {
  const { story, probe, fetches } = await openListStory();
  await story.pass(3_600_000, 60_000);
  expect(fetches()).toBe(0);
  expect(probe.on(LIST)).toEqual([]);
  expect(probe.json(SUMMARY)).toMatchObject({ count: null, names: null });

  // As the button of Home Assistant does.
  expect(probe.json('homeassistant/device/heat2mqtt_bridge/config')).toMatchObject({
    components: { refresh_constituencies: { command_topic: REQUEST, payload_press: '{}' } },
  });
  await probe.publish(REQUEST, '{}');
  const answer = await probe.until(RESPONSE);
  expect(answer).toMatchObject({
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
  const dail = await asking(probe, { chamber: 'dail' });
  expect(dail).toMatchObject({ data: { topic: 'heat2mqtt/constituencies/dail/all' } });
  const { count } = dail.data as { count: number };
  expect(count).toBeGreaterThan(900);
  const both = await asking(probe, { chamber: '' });
  expect(both).toMatchObject({
    data: { topic: 'heat2mqtt/constituencies/all/all', count: count + 27 * 11 - 3 },
  });
  const ids = ['/ie/oireachtas/house/dail/3', 'https://data.oireachtas.ie/ie/oireachtas/house/seanad/3'];
  const listed = () =>
    probe.heard.filter(({ topic }) => /\/constituencies\/[^/]+\/[^/]+$/.test(topic)).length;
  const before = listed();
  const query = await asking(probe, { chamber_id: ids, limit: 20 });
  expect(query).toMatchObject({ status: 'ok', data: { topic: null, count: 20, complete: false } });
  expect(names(query.data as Record<string, unknown>)).toHaveLength(20);
  expect(listed()).toBe(before);
  expect(probe.heard.every(({ topic }) => /^[\x20-\x7e]+$/.test(topic))).toBe(true);
});

test('a repeated question within a minute is answered from the cached list, unless forced; equal ones share a fetch', async () => {
  const { story, probe, switches, fetches, counters } = await openListStory();
  await asking(probe);
  expect(await asking(probe)).toMatchObject({ status: 'ok', data: { fetched: false, count: 43 } });
  expect(fetches()).toBe(1);
  expect(await asking(probe, { force: true })).toMatchObject({ data: { fetched: true, changed: false } });
  expect(fetches()).toBe(2);
  await story.pass(60_000, 10_000);
  switches.fault('/v1/', { kind: 'slow', ms: 5_000 });
  const answers = [
    asking(probe),
    asking(probe, { force: true }),
    asking(probe, { chamber: 'dail', house_no: 34 }),
  ];
  await untilTrue('the fetch', () => fetches() === 3);
  await story.pass(6_000);
  expect(await Promise.all(answers)).toMatchObject(Array(3).fill({ status: 'ok', data: { fetched: true } }));
  expect([fetches(), counters.maxInFlight[FETCH]]).toEqual([3, 1]);
});

test('without house_no the configured question is the sitting house: found in the list of its chamber', async () => {
  const { story, daemon, start, probe, fetches } = await openListStory({});
  expect(probe.json(SUMMARY)).toMatchObject({ topic: null, count: null });
  const [answer] = await Promise.all([asking(probe), asking(probe)]);
  expect(answer).toMatchObject({ status: 'ok', data: { topic: LIST, count: 43, fetched: true } });
  expect(probe.json(LIST)).toMatchObject({
    query: { chamber: 'dail', house_no: 34 },
    total: 43,
    complete: true,
  });
  expect(probe.json(SUMMARY)).toMatchObject({ topic: LIST, count: 43 });
  expect(story.simulator.requests.map(({ query }) => query)).toEqual([{ chamber: 'dail', limit: '5000' }]);
  expect(await asking(probe)).toMatchObject({ data: { topic: LIST, fetched: false } });
  const page = await asking(probe, { limit: 3 });
  expect(page).toMatchObject({ data: { topic: null, count: 3, total: 43, complete: false } });
  expect(names(page.data as Record<string, unknown>)).toHaveLength(3);

  await story.stop(daemon);
  probe.forget();
  await start();
  expect(await probe.until(SUMMARY)).toMatchObject({ topic: LIST, count: 43 });
  expect(fetches()).toBe(2);
});

test('while the sitting house cannot be found: an error without a topic; a known one goes on', async () => {
  const { probe, switches } = await openListStory({});
  switches.fault('/v1/', { kind: 'reply', status: 500 });
  const failed = { status: 'error', data: { topic: null, count: null, fetched: false } };
  expect(await asking(probe)).toMatchObject(failed);
  switches.clearFaults();
  await asking(probe);
  switches.fault('/v1/', { kind: 'reply', status: 500 });
  expect(await asking(probe, { force: true })).toMatchObject({
    status: 'error',
    data: { topic: LIST, count: 43, stale: true },
  });
});

test('after a general election the house with the higher number is the configured list', async () => {
  const { story, probe, switches } = await openListStory({});
  switches.fault('/v1/', { kind: 'change', change: withoutHouse34 }, { times: 1 });
  expect(await asking(probe)).toMatchObject({ data: { topic: 'heat2mqtt/constituencies/dail/33' } });
  await story.pass(60_000, 10_000);
  expect(await asking(probe)).toMatchObject({ data: { topic: LIST } });
  expect(probe.json(SUMMARY)).toMatchObject({ topic: LIST, count: 43 });
});

function withoutHouse34(body: unknown): unknown {
  const { results } = body as { results: readonly { house: { houseNo: string } }[] };
  const older = results.filter(({ house }) => house.houseNo !== '34');
  return { head: { counts: { resultCount: older.length } }, results: older };
}

test('a service that tells of one house only: not taken for the sitting one, nor for all', async () => {
  const { probe, switches } = await openListStory({});
  switches.constituencies.shape = 'older';
  expect(await asking(probe)).toMatchObject({
    status: 'ok',
    data: { topic: 'heat2mqtt/constituencies/dail/all', total: null, complete: null },
  });
  expect(probe.json(SUMMARY)?.note).toBe('The service does not tell whether these are all.');
});
