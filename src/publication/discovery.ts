// Home Assistant's device discovery: one retained document for each meter, each account and the bridge.
import { topicSafe } from '../domain/reading.ts';
import { about } from '../foundation/about.ts';
import { jsonText } from '../foundation/json.ts';
import type { Message } from '../mqtt/message.ts';
import { ACCOUNT_ROWS } from './entities/accountEntities.ts';
import {
  BRIDGE_ROWS,
  CONSTITUENCY_ROWS,
  EVENT_KEY,
  EVENT_ROWS,
  type EventRow,
} from './entities/bridgeEntities.ts';
import { attributesOf, type EntityRow } from './entities/entityRow.ts';
import { METER_ROWS } from './entities/meterEntities.ts';
import { type Language, WORDS } from './language.ts';
import type { Topics } from './topics.ts';
import type { AccountView, MeterView } from './views.ts';

export interface DiscoveryOptions {
  readonly prefix: string;
  readonly topics: Topics;
  /** The address of the page, where others can open it. */
  readonly page?: string | null;
  /** The configuration has accounts (default: yes), and constituencies (default: no). */
  readonly accounts?: boolean;
  readonly constituencies?: boolean;
  /** The language of names and options; default: English. Ids and topics are the same in every language. */
  readonly language?: Language;
}

/** A part of a document. What is undefined does not come into its JSON. */
type Body = Readonly<Record<string, unknown>>;
type Kind = 'meter' | 'account' | 'bridge';

/** Names of entities and words of their options, by device and key. A test sees to it that each key has some. */
type Names = Readonly<Record<string, string>>;
const namesIn = ({ language = 'en' }: DiscoveryOptions) => WORDS[language].entities;

/** A discovery document and where it goes. */
export type DiscoveryDocument = Readonly<ReturnType<typeof documentOf>>;

export const meterDocument = (options: DiscoveryOptions, view: MeterView) =>
  stateDocument(options, METER_ROWS, view, 'meter', view.meter, true, {
    name: view.friendlyName ?? deviceName(options, 'meter', view.meter),
    serial_number: view.identifiers.join(', ') || undefined,
  });

export const accountDocument = (options: DiscoveryOptions, view: AccountView) =>
  stateDocument(options, ACCOUNT_ROWS, view, 'account', view.account, view.invoices !== null, {
    name: deviceName(options, 'account', view.account),
  });

const deviceName = (options: DiscoveryOptions, kind: 'meter' | 'account', name: string): string =>
  namesIn(options)[`device.${kind}`].replace(`{${kind}}`, () => name);

/** The unique ids of a meter's entities, by the key of each. */
export const meterUniqueIds = (baseTopic: string, meter: string): ReadonlyMap<string, string> =>
  new Map(METER_ROWS.map(({ key }) => [key, `${deviceId(baseTopic, 'meter', meter)}_${key}`]));

export function bridgeDocument(options: DiscoveryOptions) {
  const { topics, accounts = true, constituencies = false } = options;
  const rows = [...BRIDGE_ROWS, ...(constituencies ? CONSTITUENCY_ROWS : [])];
  return documentOf(options, 'bridge', [], {
    device: {
      // Several installations at one broker differ in their base topic.
      name: topics.base === about.name ? about.name : `${about.name} (${topics.base})`,
      sw_version: about.version,
      configuration_url: options.page ?? about.url,
    },
    stateTopic: topics.of('bridge/health'),
    event: ['bridge/event', topics.of('bridge/event')],
    rows: rows.filter(({ polls }) => accounts || !polls),
    bodyOf: ({ key, reads, asks, body }) => ({
      command_topic: asks && topics.of(`bridge/request/${asks}`),
      value_template: asks ? undefined : `{{ value_json.${key} }}`,
      state_topic: reads && topics.of(reads),
      json_attributes_topic: body.json_attributes_template && topics.of(reads ?? 'bridge/health'),
      ...body,
    }),
  });
}

/**
 * The messages that bring a document to Home Assistant. `before` (component key to platform) is what the topic
 * announced last: a component that is gone is first reduced to its platform, because leaving it out keeps it alive.
 */
export function announce(doc: DiscoveryDocument, before: Readonly<Record<string, string>> = {}): Message[] {
  const gone = Object.entries(before).filter(([key, platform]) => doc.components[key]?.platform !== platform);
  const write = (components: Body): Message => ({
    topic: doc.topic,
    payload: jsonText({ ...doc.frame, components }),
    retain: true,
  });
  const whole = write(doc.components);
  if (gone.length === 0) return [whole];
  const reduced = Object.fromEntries(gone.map(([key, platform]) => [key, { platform }]));
  return [{ ...write({ ...doc.components, ...reduced }), step: true }, whole];
}

/** Component key to platform: what `announce` wants to know next time. */
export const platformsOf = (doc: DiscoveryDocument): Record<string, string> =>
  Object.fromEntries(Object.entries(doc.components).map(([key, body]) => [key, String(body.platform)]));

/** The id of a device; those of its entities begin with it. `names`: of the meter or account. */
export const deviceId = (baseTopic: string, kind: Kind, ...names: readonly string[]): string =>
  [topicSafe(baseTopic), kind, ...names].join('_');

interface Device<Row> {
  /** It has everything beside id, maker and model. */
  readonly device: Body;
  readonly stateTopic: string;
  /** Its events, and where they are published. */
  readonly event: readonly [keyof typeof EVENT_ROWS, string] | null;
  readonly currency?: string;
  readonly rows: readonly Row[];
  /** An entity without its name and ids, written from the row, the currency, the options and this version alone. */
  readonly bodyOf: (row: Row) => Body;
}

/** `ofDevice`: the meter or account, in ids. */
function documentOf<Row extends { readonly key: string }>(
  options: DiscoveryOptions,
  kind: Kind,
  ofDevice: readonly string[],
  { device, stateTopic, event, currency, rows, bodyOf }: Device<Row>,
) {
  const { base } = options.topics;
  const id = deviceId(base, kind, ...ofDevice);
  const names: Names = namesIn(options);
  let components: Readonly<Record<string, Body>> | null = null;
  function write(): Readonly<Record<string, Body>> {
    const bodies = rows.map((row): [string, Body] => [row.key, bodyOf(row)]);
    if (event !== null) bodies.push([EVENT_KEY, eventBody(...event)]);
    const entities = bodies.map(([key, { platform = 'sensor', ...body }]): [string, Body] => {
      const entityId = `${platform}.${slug([base, ...ofDevice, key].join('_'))}`;
      const ids = { unique_id: `${id}_${key}`, default_entity_id: entityId };
      return [key, { platform, name: names[`${kind}.${key}`], ...ids, ...body }];
    });
    return Object.fromEntries(entities);
  }
  const frame: Body = {
    device: { identifiers: [id], manufacturer: about.name, model: names[`model.${kind}`], ...device },
    origin: { name: about.name, sw_version: about.version, support_url: about.url },
    // One availability for all: the bridge's own. Trouble at the provider never makes a meter unavailable.
    availability_topic: options.topics.of('bridge/state'),
    state_topic: stateTopic,
    qos: 1,
  };
  return {
    topic: `${options.prefix}/device/${id}/config`,
    /** The same text for the same document: it is compared before the document is written, which takes far longer. */
    stamp: JSON.stringify([frame, options.language, event, currency, rows.map(({ key }) => key)]),
    frame,
    get components() {
      components ??= write();
      return components;
    },
  };
}

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');

/** Home Assistant takes the JSON itself: `event_type`, and every other key as an attribute. */
function eventBody(event: keyof typeof EVENT_ROWS, topic: string): Body {
  const { types, icon, category }: EventRow = EVENT_ROWS[event];
  return { platform: 'event', state_topic: topic, event_types: types, icon, entity_category: category };
}

const TOPICS_OF = {
  meter: ['meter/<meter>/state', 'meter/<meter>/event'],
  account: ['account/<account>/state', 'account/<account>/event'],
} as const;

function stateDocument<View extends { readonly currency: string }>(
  options: DiscoveryOptions,
  rows: readonly EntityRow<View>[],
  view: View,
  kind: 'meter' | 'account',
  name: string,
  hasEvents: boolean,
  device: Body,
) {
  const { topics, page } = options;
  const { currency } = view;
  const [state, event] = TOPICS_OF[kind];
  const stateTopic = topics.of(state, name);
  return documentOf(options, kind, [name], {
    device: {
      ...device,
      via_device: deviceId(topics.base, 'bridge'),
      configuration_url: page ?? undefined,
    },
    stateTopic,
    event: hasEvents ? [event, topics.of(event, name)] : null,
    currency,
    rows: rows.filter(({ given }) => given?.(view) ?? true),
    bodyOf(row) {
      const words = row.options && optionWords(row.options, `${kind}.${row.key}`, namesIn(options));
      return {
        platform: row.platform,
        value_template: templateOf(row, words),
        ...looksOf(row, currency),
        options: words && Object.values(words),
        ...attributesBody(row, rows, stateTopic),
      };
    },
  });
}

/** The words of each value, `of` the entity with this key. */
const optionWords = (
  options: readonly string[],
  of: string,
  names: Names,
): Readonly<Record<string, string>> =>
  Object.fromEntries(options.map((code) => [code, names[`${of}.${code}`] ?? code]));

const templateOf = ({ key }: EntityRow<never>, words: object | undefined): string =>
  words ? `{{ ${JSON.stringify(words)}.get(value_json.${key}) }}` : `{{ value_json.${key} }}`;

function looksOf(row: EntityRow<never>, currency: string): Body {
  const isBinary = row.platform === 'binary_sensor';
  return {
    device_class: row.deviceClass,
    state_class: row.stateClass,
    unit_of_measurement: row.unit?.replace('{currency}', currency),
    suggested_display_precision: row.precision,
    entity_category: row.category,
    enabled_by_default: row.enabled,
    icon: row.icon,
    // JSON true and false as Home Assistant's templates print them.
    payload_on: isBinary ? 'True' : undefined,
    payload_off: isBinary ? 'False' : undefined,
  };
}

/** `rows`: the table that the row is in. */
function attributesBody(row: EntityRow<never>, rows: readonly EntityRow<never>[], stateTopic: string): Body {
  const { key, derived, options, alsoShows } = row;
  const shown = [row, ...rows.filter((other) => other.key === alsoShows)].flatMap(attributesOf);
  const pairs = [
    ...(derived ? ["'derived': true"] : []),
    // Automations branch on the code, whatever the words are.
    ...(options ? [`'code': value_json.${key}`] : []),
    ...shown.map(({ key: its, attribute }) => `'${attribute}': value_json.${its}`),
  ];
  if (pairs.length === 0) return {};
  return {
    json_attributes_topic: stateTopic,
    json_attributes_template: `{{ {${pairs.join(', ')}} | tojson }}`,
  };
}
