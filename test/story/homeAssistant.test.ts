// A Home Assistant that restarts: everything is said again. What it makes of it is in test/e2e-home-assistant.

import { expect, test } from 'vitest';
import { HEALTH, METER, STATE } from '../support/homes.ts';
import { firstPoll } from '../support/story.ts';

const STATUS = 'homeassistant/status';

test('online: bridge state, discovery, states, over a forged one too; no long list, no question to the provider', async () => {
  const { story, probe, state, restart } = await firstPoll({ config: { constituencies: {} } });
  await probe.publish('heat2mqtt/bridge/request/constituencies', '');
  await probe.until('heat2mqtt/constituencies/dail/34');
  await probe.publish(STATE, '{"schema":1,"energy_total":0}', { retain: true });
  await story.rest();
  probe.forget();
  const requests = story.simulator.requests.length;
  await probe.publish(STATUS, 'online');
  await story.rest();
  expect(probe.heard.map(({ topic }) => topic)).toEqual([STATUS]);
  await story.pass(2_000, 100);
  expect(await probe.until(STATE)).toEqual(state);
  expect(probe.heard.slice(1).map(({ topic }) => topic)).toEqual([
    'heat2mqtt/bridge/state',
    'homeassistant/device/heat2mqtt_bridge/config',
    'homeassistant/device/heat2mqtt_account_home/config',
    `homeassistant/device/heat2mqtt_meter_${METER}/config`,
    'heat2mqtt/bridge/info',
    HEALTH,
    'heat2mqtt/bridge/constituencies',
    'heat2mqtt/account/home/state',
    STATE,
  ]);
  expect(story.simulator.requests.length).toBe(requests);

  probe.forget();
  for (const payload of ['offline', '', 'Online']) await probe.publish(STATUS, payload);
  await story.pass(3_000, 100);
  expect(probe.heard.map(({ topic }) => topic)).toEqual([STATUS, STATUS, STATUS]);

  // A retained word is old: everything is published on connect anyway.
  await probe.publish(STATUS, 'online', { retain: true });
  await restart();
  await story.pass(3_000, 100);
  const online = probe.on('heat2mqtt/bridge/state').filter(({ payload }) => payload === 'online');
  expect(online).toHaveLength(1);
});

test('a thousand births: one announcement, and one more for those that came after it', async () => {
  const { story, probe } = await firstPoll();
  const announced = () => probe.on(STATE).length;
  const flood = async (births: number) => {
    await Promise.all(Array.from({ length: births }, () => probe.publish(STATUS, 'online')));
    await story.rest();
  };
  probe.forget();
  await flood(1_000);
  await story.pass(2_000, 100);
  expect(announced()).toBe(1);
  for (let count = 0; count < 8; count += 1) {
    await flood(10);
    await story.pass(1_000);
  }
  expect(announced()).toBe(1);
  await story.pass(2_000);
  expect(announced()).toBe(2);
  await story.pass(60_000);
  expect(announced()).toBe(2);
});

test('without discovery nothing is said below its prefix; all else stands below another base topic', async () => {
  const mqtt = { discovery_prefix: false, base_topic: 'flats/heat 2' };
  const { story, probe } = await firstPoll({ config: { mqtt } });
  await probe.publish(STATUS, 'online');
  await story.pass(3_000, 100);
  const others = probe.heard.filter(({ topic }) => !topic.startsWith('flats/heat 2/'));
  expect(others.map(({ topic }) => topic)).toEqual([STATUS]);
  expect(probe.json(`flats/heat 2/meter/${METER}/state`)).toBeDefined();
});
