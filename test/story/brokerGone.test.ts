// The broker away for a while, or back without its memory: nothing is lost, and the provider is not asked for it.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { booked, EVENT, HEALTH, METER, STATE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, openStory, outboxOf, served } from '../support/story.ts';

test('gone: polls go on, it is unhealthy after five minutes, and the newest state, and only that one, is there afterwards', async () => {
  const { story, daemon } = await firstPoll();
  const healthz = async () => (await served(daemon, 'healthz')).status;
  await story.stopBroker();
  await story.pass(4 * 60_000, 5_000);
  expect(await healthz()).toBe(200);
  await story.pass(2 * 60_000, 5_000);
  expect(await healthz()).toBe(503);
  const days = ['2025-03-11', '2025-03-12', '2025-03-13', '2025-03-14'];
  const waiting: number[] = [];
  const sleepers: number[] = [];
  for (const _ of days) {
    await story.nextPoll(24 * HOUR_MS);
    await story.pass(HOUR_MS / 2, 10 * 60_000);
    waiting.push(await outboxOf(daemon));
    sleepers.push(story.clock.sleepers);
  }
  expect(story.logged('poll failed')).toEqual([]);
  // Nothing grows but by one event a day.
  const [first = 0] = waiting;
  expect(first).toBeGreaterThan(0);
  for (const [at, count] of waiting.entries()) expect(count).toBeLessThanOrEqual(first + 2 * at);
  expect(Math.max(...sleepers)).toBeLessThanOrEqual(Math.min(...sleepers) + 2);

  await story.restartBroker();
  const probe = await story.listen();
  await story.pass(40_000);
  await untilTrue('health', async () => (await healthz()) === 200);
  const state = await probe.until(STATE);
  expect(state).toMatchObject({ day: days.at(-1) });
  expect(state.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(probe.on(STATE)).toHaveLength(1);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok' });
  expect(probe.all(EVENT).map(({ day }) => day)).toEqual(days);
  expect(probe.heard[0]).toMatchObject({ topic: 'heat2mqtt/bridge/state', payload: 'online' });
});

test('not there at the start: ready is said only when everything has been delivered', async () => {
  const story = await openStory();
  await story.stopBroker();
  const daemon = await story.start();
  await story.polled(1);
  const readyz = async () => (await served(daemon, 'readyz')).status;
  expect(await readyz()).toBe(503);
  await story.restartBroker();
  const probe = await story.listen();
  await story.pass(40_000);
  await probe.until(STATE);
  await untilTrue('readiness', async () => (await readyz()) === 200);
});

test('forgot: everything is told again, in order, without a question to the provider', async () => {
  const { story, state } = await firstPoll();
  const requests = story.simulator.requests.length;
  await story.restartBroker();
  const probe = await story.listen();
  await story.pass(5_000);
  expect(await probe.until(STATE)).toEqual(state);
  await probe.until(HEALTH, ({ state: verdict }) => verdict === 'ok');
  const topics = probe.heard.map(({ topic }) => topic);
  expect(topics[0]).toBe('heat2mqtt/bridge/state');
  expect(topics.slice(1, 4).every((topic) => topic.startsWith('homeassistant/device/'))).toBe(true);
  expect(topics.slice(4).every((topic) => topic.startsWith('heat2mqtt/'))).toBe(true);
  expect(story.simulator.requests.length).toBe(requests);
});

test('what an older version announced, by its tables of components, is still known and withdrawn', async () => {
  const { story, daemon } = await firstPoll();
  await story.stop(daemon);
  const config = `homeassistant/device/heat2mqtt_meter_${METER}/config`;
  const gone = 'heat2mqtt/meter/moved-out/state';
  const file = join(story.stateDir, 'announced.json');
  const older = {
    version: 1,
    topics: [config, gone],
    tables: [{ poll_now: 'button' }, { of_old: 'sensor', energy_total: 'sensor' }],
    components: { [config]: 1 },
  };
  await writeFile(file, JSON.stringify(older));
  const probe = await story.listen();
  await story.start();
  await untilTrue('the withdrawal', () => probe.last(gone)?.payload === '');
  const before = probe.on(config).filter(({ retained }) => !retained);
  const componentsOf = (payload = '{}') => Object(JSON.parse(payload).components);
  expect(componentsOf(before[0]?.payload).of_old).toEqual({ platform: 'sensor' });
  expect(Object.keys(componentsOf(before.at(-1)?.payload))).not.toContain('of_old');
  await story.pass(5_000);
  const stored = JSON.parse(await readFile(file, 'utf8'));
  expect(stored).toMatchObject({ version: 2, components: { [config]: { energy_total: 'sensor' } } });
  expect(Object.keys(stored.components[config])).not.toContain('of_old');
  expect(stored.topics).not.toContain(gone);
});
