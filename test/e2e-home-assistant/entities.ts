// What Home Assistant has to show for the discovery documents on the broker, and what it shows.
import { WORDS } from '../../src/publication/language.ts';
import { type Fields, isFields } from '../support/fields.ts';
import type { Probe } from '../support/probe.ts';
import { waitFor } from '../support/waitFor.ts';
import type { Api } from './api.ts';

/** One entity, with only what matters of it. */
export interface Entity {
  readonly id: string;
  readonly state: string;
  readonly name: string;
  readonly deviceClass: string | null;
  readonly stateClass: string | null;
  readonly unit: string | null;
}

/** The components of all documents on the broker, whole ones only. */
export function announced(probe: Probe, prefix = 'homeassistant') {
  const topics = new Set(probe.heard.map(({ topic }) => topic));
  return [...topics].flatMap((topic) => {
    const document = topic.startsWith(`${prefix}/device/`) ? probe.json(topic) : undefined;
    const { components, device } = document ?? {};
    if (!document || !isFields(components) || !isFields(device)) return [];
    return Object.entries(components).flatMap(([key, body]) =>
      isFields(body) ? [{ topic, key, body, device, document }] : [],
    );
  });
}

export type Announced = ReturnType<typeof announced>[number];

/** What Home Assistant should show for a component, by the state that stands on its topic. */
export function expected(probe: Probe, { key, body, device, document }: Announced): Entity {
  const text = (field: unknown) => (field === undefined ? null : String(field));
  const topic = body.state_topic ?? document.state_topic;
  const payload = probe.json(String(topic)) ?? {};
  return {
    id: String(body.default_entity_id),
    state: shown(meaning(key, payload), body),
    name: `${device.name} ${body.name}`,
    deviceClass: text(body.device_class),
    stateClass: text(body.state_class),
    unit: text(body.unit_of_measurement),
  };
}

function meaning(key: string, payload: Fields): unknown {
  if (key === 'health') return payload.state !== 'ok';
  if (key === 'last_error') return payload.last_error ?? 'none';
  const words: Fields = WORDS.en.entities;
  return words[`account.${key}.${payload[key]}`] ?? payload[key];
}

function shown(value: unknown, { platform, device_class }: Fields): string {
  // A button's state is when it was pressed last, an event's when it came last.
  if (platform === 'button' || platform === 'event') return 'unknown';
  if (value === null || value === undefined) return 'unknown';
  if (platform === 'binary_sensor') return value ? 'on' : 'off';
  if (device_class === 'timestamp') return new Date(String(value)).toISOString().replace(/\.\d+Z$/, '+00:00');
  return String(value);
}

/** The state of an entity, or `undefined`. */
export async function stateOf(api: Api, id: string): Promise<string | undefined> {
  return (await entities(api)).find((entity) => entity.id === id)?.state;
}

export const isEnabled = ({ body }: Announced): boolean => body.enabled_by_default !== false;

/** Waits until Home Assistant shows every enabled entity as its document and its topic say, and tells what they say. */
export async function untilShown(probe: Probe, api: Api): Promise<Entity[]> {
  const wanted = () =>
    announced(probe)
      .filter(isEnabled)
      .map((component) => expected(probe, component));
  async function missing(): Promise<Entity[]> {
    const shown = (await entities(api)).map((entity) => JSON.stringify(entity));
    return wanted().filter((entity) => !shown.includes(JSON.stringify(entity)));
  }
  await waitFor('every entity', async () => wanted().length > 0 && (await missing()).length === 0, {
    timeoutMs: 60_000,
    diagnose: missing,
  });
  return wanted();
}

/** All entities that Home Assistant has a state for. */
export async function entities(api: Api): Promise<Entity[]> {
  const states = await api.get('/api/states');
  return (Array.isArray(states) ? states : []).map(({ entity_id, state, attributes }) => ({
    id: entity_id,
    state,
    name: attributes.friendly_name,
    deviceClass: attributes.device_class ?? null,
    stateClass: attributes.state_class ?? null,
    unit: attributes.unit_of_measurement ?? null,
  }));
}

/** What Home Assistant has of that kind, of all integrations. */
async function registry(api: Api, kind: 'entity' | 'device') {
  const entries = await api.ask(`config/${kind}_registry/list`);
  return Array.isArray(entries) ? entries : [];
}

const ofMqtt = async (api: Api) =>
  (await registry(api, 'entity')).filter(({ platform }) => platform === 'mqtt');

/** One line for each entity of the MQTT integration in the registry: platform, unique id, entity id. */
export async function registered(api: Api): Promise<string[]> {
  return (await ofMqtt(api))
    .map(({ unique_id, entity_id }) => `${entity_id.split('.')[0]} ${unique_id} ${entity_id}`)
    .sort();
}

/** How the registry has each entity of the MQTT integration, by its unique id. */
export async function looks(api: Api): Promise<Record<string, Fields>> {
  return Object.fromEntries(
    (await ofMqtt(api)).map(({ unique_id, disabled_by, entity_category, original_name }) => [
      unique_id,
      { disabledBy: disabled_by, category: entity_category, name: original_name },
    ]),
  );
}

/** The same as the documents say it. */
export const announcedLooks = (probe: Probe): Record<string, Fields> =>
  Object.fromEntries(
    announced(probe).map((component) => [
      component.body.unique_id,
      {
        disabledBy: isEnabled(component) ? null : 'integration',
        category: component.body.entity_category ?? null,
        name: component.body.name,
      },
    ]),
  );

/** The identifier of a device of the MQTT integration. */
const identifierOf = (device: Fields | undefined): string | null => {
  const pairs: readonly string[][] = Array.isArray(device?.identifiers) ? device.identifiers : [];
  return pairs.find(([domain]) => domain === 'mqtt')?.[1] ?? null;
};

/** A device of the MQTT integration as the registry has it. */
export const deviceOf = async (api: Api, identifier: string): Promise<Fields | undefined> =>
  (await registry(api, 'device')).find((device) => identifierOf(device) === identifier);

/** The devices of the MQTT integration: its identifier, and the identifier of the one that it hangs on. */
export async function devices(api: Api): Promise<Record<string, string | null>> {
  const all = await registry(api, 'device');
  return Object.fromEntries(
    all.flatMap((device) => {
      const own = identifierOf(device);
      return own === null ? [] : [[own, identifierOf(all.find(({ id }) => id === device.via_device_id))]];
    }),
  );
}

/** The first lines of warnings and worse that have to do with MQTT, with statistics or with us. */
export function complaints(records: readonly string[]): string[] {
  return records
    .map((record) => record.split('\n')[0] ?? '')
    .filter((line) => /^\S+ \S+ (WARNING|ERROR|CRITICAL) .*(mqtt|recorder|statistic|energy)/i.test(line));
}
