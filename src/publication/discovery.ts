// Home Assistant's device discovery: one retained document for each meter, each account and the bridge.
import { topicSafe } from '../domain/reading.ts';
import { about } from '../foundation/about.ts';
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
import { filled, type Language, WORDS } from './language.ts';
import type { Topics } from './topics.ts';
import type { AccountView, MeterView } from './views.ts';

export interface DiscoveryOptions {
  readonly prefix: string;
  readonly topics: Topics;
  /** The address of the page, where others can open it. */
  readonly page?: string | null;
  /** Whether the configuration has accounts (default: yes), and constituencies (default: no). */
  readonly accounts?: boolean;
  readonly constituencies?: boolean;
  /** The language of names and options; default: English. Ids and topics are the same in every language. */
  readonly language?: Language;
}

type Body = Readonly<Record<string, unknown>>;

/** Names of entities and words of their options, by device and key. A test sees to it that each key has some. */
type Names = Readonly<Record<string, string>>;
const namesIn = ({ language = 'en' }: DiscoveryOptions) => WORDS[language].entities;

/** A discovery document and where it goes. */
export interface DiscoveryDocument {
  readonly topic: string;
  /** The same text for the same document: it is compared before the document is written, which takes far longer. */
  readonly stamp: string;
  readonly components: Readonly<Record<string, Body>>;
  readonly frame: Body;
}

export const meterDocument = (options: DiscoveryOptions, view: MeterView): DiscoveryDocument =>
  documentOf(options, METER_ROWS, view, 'meter', view.meter, true, {
    ...(view.friendlyName === null ? {} : { name: view.friendlyName }),
    ...(view.identifiers.length > 0 ? { serial_number: view.identifiers.join(', ') } : {}),
  });

export const accountDocument = (options: DiscoveryOptions, view: AccountView): DiscoveryDocument =>
  documentOf(options, ACCOUNT_ROWS, view, 'account', view.account, view.invoices !== null);

/** The unique ids of a meter's entities, by the key of each. */
export const meterUniqueIds = (baseTopic: string, meter: string): ReadonlyMap<string, string> =>
  new Map(METER_ROWS.map(({ key }) => [key, uniqueId(baseTopic, `meter_${meter}`, key)]));

export function bridgeDocument(options: DiscoveryOptions): DiscoveryDocument {
  const id = bridgeId(options);
  const { topics } = options;
  const device = {
    // Several installations at one broker differ in their base topic.
    name: topics.base === about.name ? about.name : `${about.name} (${topics.base})`,
    manufacturer: about.name,
    model: namesIn(options)['model.bridge'],
    sw_version: about.version,
    configuration_url: options.page ?? about.url,
  };
  const own = BRIDGE_ROWS.filter(({ polls }) => options.accounts !== false || !polls);
  const rows = [...own, ...(options.constituencies ? CONSTITUENCY_ROWS : [])];
  const names: Names = namesIn(options);
  const components = rows.map(({ key, reads, asks, body }) => [
    key,
    {
      name: names[`bridge.${key}`],
      unique_id: `${id}_${key}`,
      default_entity_id: entityId(String(body.platform), `${options.topics.base}_${key}`),
      ...(asks
        ? { command_topic: topics.of(`bridge/request/${asks}`) }
        : { value_template: `{{ value_json.${key} }}` }),
      ...(reads ? { state_topic: topics.of(reads) } : {}),
      ...(body.json_attributes_template
        ? { json_attributes_topic: topics.of(reads ?? 'bridge/health') }
        : {}),
      ...body,
    },
  ]);
  return document(
    options,
    id,
    device,
    topics.of('bridge/health'),
    rows.map(({ key }) => key),
    () => ({
      [EVENT_KEY]: eventComponent('bridge/event', topics.of('bridge/event'), id, topics.base, names),
      ...Object.fromEntries(components),
    }),
  );
}

/**
 * The messages that bring a document to Home Assistant. `before` (component key to platform) is what the topic
 * announced last: a component that is gone is first reduced to its platform, because leaving it out keeps it alive.
 */
export function announce(doc: DiscoveryDocument, before: Readonly<Record<string, string>> = {}): Message[] {
  const gone = Object.entries(before).filter(([key, platform]) => doc.components[key]?.platform !== platform);
  const write = (components: Body): Message => ({
    topic: doc.topic,
    payload: JSON.stringify({ ...doc.frame, components }),
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

const uniqueId = (baseTopic: string, idEnd: string, key: string): string =>
  `${topicSafe(baseTopic)}_${idEnd}_${key}`;

const bridgeId = (options: DiscoveryOptions): string => `${topicSafe(options.topics.base)}_bridge`;

const entityId = (platform: string, name: string): string =>
  `${platform}.${name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')}`;

function document(
  options: DiscoveryOptions,
  id: string,
  device: Body,
  stateTopic: string,
  /** Beside the device, the options and this version, all that the components are written from. */
  sources: unknown,
  write: () => Readonly<Record<string, Body>>,
): DiscoveryDocument {
  let components: Readonly<Record<string, Body>> | null = null;
  const frame = {
    device: { identifiers: [id], ...device },
    origin: { name: about.name, sw_version: about.version, support_url: about.url },
    // One availability for all: the bridge's own. Trouble at the provider never makes a meter unavailable.
    availability_topic: options.topics.of('bridge/state'),
    state_topic: stateTopic,
    qos: 1,
  };
  return {
    topic: `${options.prefix}/device/${id}/config`,
    stamp: JSON.stringify([frame, options.language, sources]),
    frame,
    get components() {
      components ??= write();
      return components;
    },
  };
}

const TOPICS_OF = {
  meter: ['meter/<meter>/state', 'meter/<meter>/event'],
  account: ['account/<account>/state', 'account/<account>/event'],
} as const;

/** `name`: of the meter or account, in ids. `own`: what its device has beside the name that the language gives it. */
function documentOf<View extends { readonly currency: string }>(
  options: DiscoveryOptions,
  rows: readonly EntityRow<View>[],
  view: View,
  kind: 'meter' | 'account',
  name: string,
  hasEvents: boolean,
  own: Body = {},
): DiscoveryDocument {
  const { topics, page } = options;
  const { base } = topics;
  const idEnd = `${kind}_${name}`;
  const id = `${topicSafe(base)}_${idEnd}`;
  const names: Names = namesIn(options);
  const [state, event] = TOPICS_OF[kind];
  const stateTopic = topics.of(state, name);
  const shown = rows.filter(({ given }) => given?.(view) ?? true);
  const componentOf = (row: EntityRow<View>): [string, Body] => {
    const options = row.options && optionWords(row.options, `${kind}.${row.key}`, names);
    const body = {
      platform: row.platform,
      name: names[`${kind}.${row.key}`],
      unique_id: uniqueId(base, idEnd, row.key),
      default_entity_id: entityId(row.platform, `${base}_${name}_${row.key}`),
      value_template: templateOf(row, options),
      ...looksOf(row, view.currency),
      ...(options ? { options: Object.values(options) } : {}),
      ...attributesBody(row, rows, stateTopic),
    };
    return [row.key, body];
  };
  const device = {
    name: filled(names[`device.${kind}`] ?? '', { [kind]: name }),
    manufacturer: about.name,
    model: names[`model.${kind}`],
    ...own,
    via_device: bridgeId(options),
    ...(page ? { configuration_url: page } : {}),
  };
  const sources = [view.currency, hasEvents, shown.map(({ key }) => key)];
  return document(options, id, device, stateTopic, sources, () => ({
    ...Object.fromEntries(shown.map(componentOf)),
    ...(hasEvents && {
      [EVENT_KEY]: eventComponent(event, topics.of(event, name), id, `${base}_${name}`, names),
    }),
  }));
}

/** Home Assistant takes the JSON itself: `event_type`, and every other key as an attribute. `entity`: in its id. */
function eventComponent(
  event: keyof typeof EVENT_ROWS,
  topic: string,
  id: string,
  entity: string,
  names: Names,
): Body {
  const { types, icon, ...more }: EventRow = EVENT_ROWS[event];
  return {
    platform: 'event',
    name: names[`${event.split('/')[0]}.event`],
    unique_id: `${id}_${EVENT_KEY}`,
    default_entity_id: entityId('event', `${entity}_${EVENT_KEY}`),
    state_topic: topic,
    event_types: types,
    icon,
    ...(more.category ? { entity_category: more.category } : {}),
  };
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
  return {
    ...(row.deviceClass ? { device_class: row.deviceClass } : {}),
    ...(row.stateClass ? { state_class: row.stateClass } : {}),
    ...(row.unit ? { unit_of_measurement: row.unit.replace('{currency}', currency) } : {}),
    ...(row.precision === undefined ? {} : { suggested_display_precision: row.precision }),
    ...(row.category ? { entity_category: row.category } : {}),
    ...(row.enabled === false ? { enabled_by_default: false } : {}),
    ...(row.icon ? { icon: row.icon } : {}),
    // JSON true and false as Home Assistant's templates print them.
    ...(row.platform === 'binary_sensor' ? { payload_on: 'True', payload_off: 'False' } : {}),
  };
}

/** `rows`: the table that the row is in. */
export function attributesBody(
  row: EntityRow<never>,
  rows: readonly EntityRow<never>[],
  stateTopic: string,
): Body {
  const { key, derived, options, alsoShows } = row;
  const shown = [row, ...rows.filter((other) => other.key === alsoShows)].flatMap(attributesOf);
  const pairs = [
    ...(derived ? ["'derived': true"] : []),
    // What an automation branches on, whatever the words are.
    ...(options ? [`'code': value_json.${key}`] : []),
    ...shown.map(({ key: its, attribute }) => `'${attribute}': value_json.${its}`),
  ];
  if (pairs.length === 0) return {};
  return {
    json_attributes_topic: stateTopic,
    json_attributes_template: `{{ {${pairs.join(', ')}} | tojson }}`,
  };
}
