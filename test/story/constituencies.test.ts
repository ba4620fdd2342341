// Constituencies on demand, as a home without any account sees them: on its topics, over a restart and a broker that forgets, and gone
// with the section. What is asked and kept is in test/constituencies.
import { expect, test } from 'vitest';
import type { Probe } from '../support/probe.ts';
import { firstPoll, openStory } from '../support/story.ts';

const LIST = 'heat2mqtt/constituencies/dail/34';
const REQUEST = 'heat2mqtt/bridge/request/constituencies';
const RESPONSE = 'heat2mqtt/bridge/response/constituencies';
const SUMMARY = 'heat2mqtt/bridge/constituencies';
const BRIDGE = 'homeassistant/device/heat2mqtt_bridge/config';

let transactions = 0;

/** Asks, and waits for the answer to this very request. */
async function asking(probe: Probe, parameters: Readonly<Record<string, unknown>> = {}) {
  transactions += 1;
  const transaction = `tx-${transactions}`;
  await probe.publish(REQUEST, JSON.stringify({ ...parameters, transaction }));
  return probe.until(RESPONSE, (answer) => answer.transaction === transaction);
}

test('nothing is fetched by itself; a request fetches, publishes retained, and answers; lists survive a restart and a broker that forgot', async () => {
  const story = await openStory({ accounts: [] });
  const probe = await story.listen();
  const start = () => story.start({ provider: undefined, constituencies: { chamber: 'dail', house_no: 34 } });
  const daemon = await start();
  const { counters } = story.simulator;
  const fetches = () => counters.requests['GET /v1/constituencies'] ?? 0;
  await story.pass(3_600_000, 60_000);
  expect(fetches()).toBe(0);
  expect(probe.on(LIST)).toEqual([]);
  expect(probe.json(SUMMARY)).toMatchObject({ count: null, names: null });
  // As the button of Home Assistant does.
  expect(probe.json(BRIDGE)).toMatchObject({
    components: { refresh_constituencies: { command_topic: REQUEST, payload_press: '{}' } },
  });
  await probe.publish(REQUEST, '{}');
  expect(await probe.until(RESPONSE)).toMatchObject({ status: 'ok', data: { topic: LIST, count: 43 } });
  const list = probe.json(LIST);
  expect(list).toMatchObject({ schema: 1, stale: false, count: 43, total: 43, complete: true });
  expect(probe.json(SUMMARY)).toMatchObject({ count: 43, stale: false, fetched_at: list?.fetched_at });
  // The list is there before the answer that names it.
  const order = probe.heard.map(({ topic }) => topic).filter((topic) => topic === LIST || topic === RESPONSE);
  expect(order).toEqual([LIST, RESPONSE]);
  const both = await asking(probe, { chamber: '' });
  expect(both).toMatchObject({ data: { topic: 'heat2mqtt/constituencies/all/all' } });
  expect((both.data as { count: number }).count).toBeGreaterThan(1_200);

  const asked = fetches();
  await story.stop(daemon);
  await story.broker.restart();
  await start();
  await story.broker.restart();
  await story.pass(40_000);
  const later = await story.listen();
  expect(await later.until(LIST)).toEqual(list);
  expect(later.last(LIST)?.retained).toBe(true);
  await later.until('heat2mqtt/constituencies/all/all');
  expect(fetches()).toBe(asked);
});

test('a request that has to wait is an event; taken out of the configuration, lists, sensors and button are withdrawn', async () => {
  const { probe, switches, restart } = await firstPoll({ config: { constituencies: { house_no: 34 } } });
  await asking(probe);
  switches.fault('/v1/', { kind: 'reply', status: 429, body: {}, headers: { 'retry-after': '120' } });
  await asking(probe, { force: true });
  expect(await asking(probe, { force: true })).toMatchObject({ status: 'skipped' });
  expect(await probe.until('heat2mqtt/bridge/event')).toMatchObject({
    event_type: 'request_skipped',
    code: 'retry_after',
    request: 'constituencies',
    message: expect.stringContaining('possible again at 12:0'),
  });
  await restart();
  await probe.untilCleared([LIST, SUMMARY]);
  const documents = probe.on(BRIDGE).map(({ payload }) => payload);
  expect(documents[0]).toContain('"refresh_constituencies":{"platform":"button"}');
  expect(documents.at(-1)).not.toContain('constituencies');
  expect(await asking(probe)).toMatchObject({ status: 'error', error: { code: 'not_configured' } });
});
