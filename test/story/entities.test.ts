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

// Home Assistant knows more keys; none of ours can make an entity unavailable while the provider is in trouble.
const COMMON = 'platform name unique_id default_entity_id icon entity_category enabled_by_default ';
const ATTRIBUTES = 'json_attributes_topic json_attributes_template value_template device_class state_topic ';
const OUR_KEYS: Readonly<Record<string, string>> = {
  document: 'availability_topic components device origin qos state_topic',
  device: 'configuration_url identifiers manufacturer model name serial_number sw_version via_device',
  origin: 'name support_url sw_version',
  sensor: `${COMMON}${ATTRIBUTES}state_class unit_of_measurement suggested_display_precision options`,
  binary_sensor: `${COMMON}${ATTRIBUTES}payload_on payload_off`,
  button: `${COMMON}command_topic payload_press json_attributes_topic json_attributes_template`,
  event: `${COMMON}state_topic event_types`,
};
const notOurs = (kind: string, body: unknown) =>
  Object.keys(Object(body)).filter((key) => !OUR_KEYS[kind]?.split(' ').includes(key));

async function announced(base = 'heat2mqtt'): Promise<{ devices: Device[]; probe: Probe }> {
  const { probe } = await firstPoll({ config: { mqtt: { base_topic: base } } });
  const topics = new Set(probe.heard.map(({ topic }) => topic).filter((topic) => topic.endsWith('/config')));
  const devices = [...topics].map((topic) => {
    const document = probe.json(topic) ?? {};
    return { topic, document, components: Object.entries(document.components as Record<string, Body>) };
  });
  return { devices, probe };
}

test('no document that Home Assistant would refuse, no key that it would strip; units, templates and ids', async () => {
  const { devices, probe } = await announced();
  expect(devices).toHaveLength(3);
  expect(discoveryComplaints(devices.flatMap(({ topic }) => probe.last(topic) ?? []))).toEqual([]);
  for (const { document, components } of devices) {
    const { device, origin } = document;
    const strange = [notOurs('document', document), notOurs('device', device), notOurs('origin', origin)];
    expect(strange.flat()).toEqual([]);
    for (const [key, body] of components) {
      expect(key).toMatch(/^[a-z0-9_]+$/);
      expect(notOurs(String(body.platform), body)).toEqual([]);
      expect(body.entity_category ?? 'diagnostic').toBe('diagnostic');
    }
  }

  const sensors = devices
    .flatMap(({ components }) => components)
    .filter(([, { platform }]) => platform === 'sensor');
  expect(sensors.length).toBeGreaterThan(20);
  // Prices of a kWh and of a day: no device class fits them.
  const units: Readonly<Record<string, readonly unknown[]>> = {
    energy: ['kWh'],
    monetary: ['EUR'],
    undefined: [undefined, 'EUR/kWh', 'EUR/d'],
  };
  for (const [key, { device_class: deviceClass, unit_of_measurement: unit }] of sensors) {
    expect([key, (units[String(deviceClass)] ?? [undefined]).includes(unit)]).toEqual([key, true]);
  }
  const accumulating = sensors.filter(([, { state_class }]) => state_class !== undefined).map(([key]) => key);
  expect(accumulating).toEqual(['energy_total', 'cost_total']);

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

  const all = new Map(devices.flatMap(({ components }) => components));
  for (const { platform, default_entity_id: id } of all.values()) {
    expect(String(id)).toMatch(new RegExp(`^${platform}\\.heat2mqtt_[a-z0-9_]+$`));
  }
  expect(JSON.parse(String(all.get('poll_now')?.payload_press))).toEqual({});
  expect(all.get('poll_now')).toMatchObject({
    platform: 'button',
    command_topic: 'heat2mqtt/bridge/request/refresh',
  });
  expect(all.get('energy_total')).toMatchObject({
    unique_id: `heat2mqtt_meter_${METER}_energy_total`,
    default_entity_id: `sensor.heat2mqtt_${METER}_energy_total`,
    device_class: 'energy',
    state_class: 'total',
  });
  const { identifiers } = Object(probe.json('homeassistant/device/heat2mqtt_bridge/config')?.device);
  for (const { document, topic } of devices) {
    const { via_device } = document.device as Body;
    expect(via_device).toBe(topic.includes('_bridge') ? undefined : identifiers[0]);
    expect(document.availability_topic).toBe('heat2mqtt/bridge/state');
  }
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
