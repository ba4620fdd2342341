// The page follows what is retained on MQTT: the same documents, live, and without any broker too.
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { HEALTH, home, PROPERTY, person, STATE } from '../support/homes.ts';
import { firstPoll, openStory, type Story } from '../support/story.ts';
import { openStream } from './stream.ts';

async function look(story: Story, { httpPort }: { readonly httpPort: number | null }) {
  const address = `http://127.0.0.1:${httpPort}`;
  const stream = story.stack.use(await openStream(address, {}, () => story.pass(200, 100)));
  await stream.ready();
  return { address, stream };
}

test('sends each document as it stands on MQTT, then changes and events, when the stream is opened', async () => {
  const { story, probe, daemon } = await firstPoll({ config: { constituencies: { chamber: 'dail' } } });
  await story.rest();
  const { stream } = await look(story, daemon);
  const onMqtt = new Map(
    probe.heard
      .filter(({ topic }) => topic.startsWith('heat2mqtt/') && !topic.endsWith('/event'))
      .map(({ topic, payload }) => [topic.slice('heat2mqtt/'.length), payload]),
  );
  const before = stream.events.findIndex(({ event }) => event === 'ready');
  const first = stream.events.slice(0, before).filter(({ event }) => event === 'message');
  expect([first.length, stream.messages().length]).toEqual([onMqtt.size, onMqtt.size]);
  for (const { topic, payload } of stream.messages()) {
    const same = onMqtt.get(topic) ?? '';
    expect([topic, payload]).toEqual([topic, topic === 'bridge/state' ? same : JSON.parse(same)]);
  }
  expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream; charset=utf-8' });
  expect(stream.events).toContainEqual({ event: 'link', data: { broker: 'connected' } });
  const line = { time: expect.any(String), level: 'info', message: 'logged in · account=home' };
  expect(stream.events).toContainEqual({ event: 'log', data: line });

  await story.nextPoll(24 * 3_600_000);
  await stream.until('the new day', () => stream.messages().some(({ topic }) => topic.endsWith('/event')));
  const news = stream.messages().slice(onMqtt.size);
  expect(news.map(({ topic }) => topic)).toEqual(
    expect.arrayContaining(['meter/70418235/state', 'meter/70418235/usage/day', 'meter/70418235/event']),
  );
  expect(stream.last('meter/70418235/state')).toEqual(probe.json(STATE));
  expect(stream.last('bridge/health')).toEqual(probe.json(HEALTH));
});

test('answers as over MQTT when a request, the ledger or the report is asked for over HTTP', async () => {
  const constituencies = { chamber: 'dail', house_no: 34 };
  const { story, probe, daemon } = await firstPoll({ config: { constituencies } });
  const { address, stream } = await look(story, daemon);
  const ask = async (name: string, body = '') => {
    const response = await fetch(`${address}/request/${name}`, { method: 'POST', body });
    return { status: response.status, answer: await response.json() };
  };
  for (const [name, body] of [
    ['health', '{"transaction":"t-1"}'],
    ['backfill', '{"from":"never"}'],
    ['refresh', 'nonsense'],
  ] as const) {
    probe.forget();
    await probe.publish(`heat2mqtt/bridge/request/${name}`, body);
    const said = await probe.until(`heat2mqtt/bridge/response/${name}`);
    expect(await ask(name, body)).toEqual({ status: 200, answer: said });
  }
  expect(await ask('nothing')).toMatchObject({ status: 404, answer: { error: { code: 'unknown_request' } } });
  expect(await ask('constituencies')).toMatchObject({ status: 200, answer: { data: { count: 43 } } });
  await stream.until('the list', () => stream.last('constituencies/dail/34'));
  expect(stream.last('bridge/constituencies')).toMatchObject({ topic: 'heat2mqtt/constituencies/dail/34' });

  const csv = await fetch(`${address}/ledger.csv?meter=70418235`);
  const [head, first, ...rest] = (await csv.text()).trimEnd().split('\r\n');
  expect(csv.headers.get('content-disposition')).toBe('attachment; filename="heat2mqtt-70418235.csv"');
  expect(head).toBe('day,energy_kwh,cost,currency,revision,received_at');
  expect(first).toMatch(/^2025-01-01,\d+(\.\d+)?,\d+(\.\d+)?,EUR,0,2025-03-10T12:\S+$/);
  expect(rest).toHaveLength(68);
  expect((await fetch(`${address}/ledger.csv?meter=other`)).status).toBe(404);
  expect(await (await fetch(`${address}/report.txt`)).text()).toMatch(
    /^the report of a daemon whose health is (ok|degraded)\n$/,
  );
});

test('shows everything, and says how the broker is, when there is none, when it comes and when it is lost', async () => {
  const story = await openStory();
  await story.broker.stop();
  const daemon = await story.start();
  const { stream } = await look(story, daemon);
  const untilLink = (broker: string) =>
    stream.until(broker, () =>
      isDeepStrictEqual(stream.events.findLast(({ event }) => event === 'link')?.data, { broker }),
    );
  await story.polled(1);
  await stream.until('the meter', () => stream.last('meter/70418235/state'));
  await untilLink('none');
  await story.broker.restart();
  await untilLink('connected');
  await story.broker.stop();
  await untilLink('disconnected');
});

test('clears the topics of a property when it is gone', async () => {
  const { story, probe, daemon } = await firstPoll({ accounts: [person('me', [home(null)])] });
  const { stream } = await look(story, daemon);
  const own = (of: string) => `meter/${PROPERTY}/${of}`;
  expect(stream.last(own('state'))).toMatchObject({ schema: 1 });
  story.simulator.renumberProperty(PROPERTY, 600_002);
  await story.nextPoll();
  await probe.untilCleared([`heat2mqtt/${own('state')}`]);
  await stream.until('the clearing', () => stream.last(own('state')) === null);
  expect(stream.last(own('history'))).toBeNull();
  expect(stream.last('meter/600002/state')).toMatchObject({ schema: 1 });
});
