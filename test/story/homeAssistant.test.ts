// What Home Assistant makes of it: every document by its rules, ids of each installation, and everything again when it restarts.

import { expect, test } from 'vitest';
import { discoveryComplaints } from '../support/homeAssistantRules.ts';
import { HEALTH, METER, STATE } from '../support/homes.ts';
import type { Probe } from '../support/probe.ts';
import { firstPoll } from '../support/story.ts';

type Body = Readonly<Record<string, unknown>>;

interface Device {
  readonly topic: string;
  readonly document: Body;
  readonly components: readonly (readonly [string, Body])[];
}

async function announced(base = 'heat2mqtt'): Promise<{ devices: Device[]; probe: Probe }> {
  const { probe } = await firstPoll({ config: { mqtt: { base_topic: base } } });
  const topics = new Set(probe.heard.map(({ topic }) => topic).filter((topic) => topic.endsWith('/config')));
  const devices = [...topics].map((topic) => {
    const document = probe.json(topic) ?? {};
    return { topic, document, components: Object.entries(document.components as Record<string, Body>) };
  });
  return { devices, probe };
}

test('no document that Home Assistant would refuse or strip, and no template that reads what is not told', async () => {
  const { devices, probe } = await announced();
  expect(devices).toHaveLength(3);
  expect(discoveryComplaints(devices.flatMap(({ topic }) => probe.last(topic) ?? []))).toEqual([]);
  const missing = devices.flatMap(({ document, components }) =>
    components.flatMap(([key, body]) => {
      const state = probe.json(String(body.state_topic ?? document.state_topic));
      const attributes = probe.json(String(body.json_attributes_topic));
      const reads = (template: unknown) =>
        [...String(template ?? '').matchAll(/value_json\.(\w+)/g)].map((m) => m[1]);
      return [
        ...reads(body.value_template).filter((name) => !(String(name) in (state ?? {}))),
        ...reads(body.json_attributes_template).filter((name) => !(String(name) in (attributes ?? {}))),
      ].map((name) => `${key} reads ${name}`);
    }),
  );
  expect(missing).toEqual([]);
});

test('another base topic is another installation, down to the ids', async () => {
  const { devices } = await announced('flats/heat 2');
  expect(devices.map(({ topic }) => topic).sort()).toEqual([
    'homeassistant/device/flats_heat_2_account_home/config',
    'homeassistant/device/flats_heat_2_bridge/config',
    `homeassistant/device/flats_heat_2_meter_${METER}/config`,
  ]);
  const ids = devices.flatMap(({ components }) =>
    components.flatMap(([, body]) => [body.unique_id, body.default_entity_id].map(String)),
  );
  expect(ids.filter((id) => !/^(\w+\.)?flats_heat_2_/.test(id))).toEqual([]);
});

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

  // A new connection brings everything again, after a Home Assistant that has started too.
  await story.restartBroker();
  await story.pass(5_000, 100);
  const late = await story.listen();
  for (const topic of [STATE, `heat2mqtt/meter/${METER}/history`, `heat2mqtt/meter/${METER}/usage/month`])
    expect(await late.until(topic)).toMatchObject({ schema: 1 });

  // A retained word is old: everything is published on connect anyway.
  await late.publish(STATUS, 'online', { retain: true });
  late.forget();
  await restart();
  await story.pass(3_000, 100);
  const online = late.on('heat2mqtt/bridge/state').filter(({ payload }) => payload === 'online');
  expect(online).toHaveLength(1);
});

test('without discovery nothing is said below its prefix', async () => {
  const { story, probe } = await firstPoll({ config: { mqtt: { discovery_prefix: false } } });
  await probe.publish(STATUS, 'online');
  await story.pass(3_000, 100);
  expect(probe.heard.filter(({ topic }) => topic.startsWith('homeassistant/'))).toHaveLength(1);
});
