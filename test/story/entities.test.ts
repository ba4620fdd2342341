// What Home Assistant makes of it: every document by its rules, every template with a key, ids that never change.
import { expect, test } from 'vitest';
import { discoveryComplaints } from '../support/homeAssistantRules.ts';
import { METER } from '../support/homes.ts';
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
    components.map(([, body]) => String(body.default_entity_id)),
  );
  expect(ids.filter((id) => !/^\w+\.flats_heat_2_/.test(id))).toEqual([]);
});
