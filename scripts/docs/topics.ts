// docs/topics.md: every topic, every key of its payload and every entity, rendered from the schemas and the tables of entities.
import { ACCOUNT_ROWS } from '../../src/publication/entities/accountEntities.ts';
import {
  BRIDGE_ROWS,
  type BridgeRow,
  CONSTITUENCY_ROWS,
  EVENT_KEY,
  EVENT_ROWS,
} from '../../src/publication/entities/bridgeEntities.ts';
import {
  type EntityRow,
  keysOf as keysOfState,
  type StateKey,
} from '../../src/publication/entities/entityRow.ts';
import { METER_ROWS } from '../../src/publication/entities/meterEntities.ts';
import { WORDS } from '../../src/publication/language.ts';
import type { TopicName } from '../../src/publication/payloads/payloads.ts';
import { isRetained } from '../../src/publication/topics.ts';
import { keysOf } from './keys.ts';
import { SAMPLES } from './samples.ts';
import { type JsonSchema, SCHEMAS, schemaFile } from './schemas.ts';

const HEAD = `<!-- Generated from src/publication; a test compares. Do not edit. -->
# Topics and entities

\`<base>\` is \`mqtt.base_topic\`. \`<meter>\` is the identifier of the heat meter, with anything but letters, digits, \`_\` and \`-\`
replaced by \`_\`. Payloads are JSON objects with \`"schema": 1\` unless said otherwise. Numbers are numbers, instants are
ISO 8601 with offset, days are \`YYYY-MM-DD\`. What is not known is \`null\`, never 0. EUR below stands for the provider's currency,
also in names of keys. Everything goes out with QoS 1.

The samples are of an invented home. A \`…\` stands where a list goes on.`;

const DISCOVERY = `## Discovery

Home Assistant learns of the entities below from retained documents on \`<prefix>/device/<id>/config\`, where \`<prefix>\` is
\`mqtt.discovery_prefix\` and \`<id>\` is \`<base>_meter_<meter>\`, \`<base>_account_<account>\` or \`<base>_bridge\`. Each entity's
unique id is \`<id>_<key>\`. Other tools can ignore these documents: all values are on the topics above.

*Disabled* entities are what few people look at every day. Home Assistant lists them on the page of their device, under *disabled
entities*, where each can be enabled. Their values are on the topics all the same.`;

const EVENTS = `## Event entities

Each device has one entity for the events on its topic, with the key \`${EVENT_KEY}\`. Its state is when an event came last. The keys of
the payload are its attributes. An event that comes while Home Assistant is not running is not seen there afterwards.`;

export function topicReference(): string {
  const sections = [
    HEAD,
    table(['topic', 'retained', 'payload'], [...SCHEMAS].map(topicLine)),
    DISCOVERY,
    ...[...SCHEMAS].flatMap(keySection),
    `## Entities of the bridge\n\n${bridgeTable([...BRIDGE_ROWS, ...CONSTITUENCY_ROWS])}`,
    `${EVENTS}\n\n${eventTable()}`,
  ];
  return `${sections.join('\n\n')}\n`;
}

/** English names and words, by device and key. */
const NAMES: Readonly<Record<string, string>> = WORDS.en.entities;

const ENTITIES: Readonly<Record<string, () => string>> = {
  'meter/<meter>/state': () => entityTable('meter', METER_ROWS),
  'account/<account>/state': () => entityTable('account', ACCOUNT_ROWS),
};

const topicLine = ([topic, schema]: [string, JsonSchema]): string[] => [
  `\`<base>/${topic}\``,
  isRetained(topic as TopicName) ? 'yes' : 'no',
  `${schema.description} [Schema](schemas/${schemaFile(topic)})`,
];

function keySection([topic, schema]: [string, JsonSchema]): string[] {
  const samples = SAMPLES[topic as TopicName].map(sampleText).join('\n');
  const block = `\`\`\`json\n${samples}\n\`\`\``;
  const keys = keysOf(schema);
  if (keys.length === 0) return [`## \`<base>/${topic}\`\n\n${samples.replace(/.+/, '`$&`, plain text.')}`];
  const rows = keys.map(({ path, type, meaning }) => [`\`${path}\``, type, meaning]);
  const text = ENTITIES[topic]?.() ?? table(['key', 'type', 'meaning'], rows);
  return [`## Keys of \`<base>/${topic}\`\n\n${text}\n\n${block}`];
}

const WIDTH = 130;
const SHOWN = 2;

/** JSON with short values on one line, and long lists cut. Text as it is. */
function sampleText(sample: unknown): string {
  return typeof sample === 'string' ? sample : written(sample, '', '');
}

/** `before`: what stands before it on its line. */
function written(value: unknown, indent: string, before: string): string {
  const isList = Array.isArray(value);
  const isCut = isList && value.length > SHOWN && typeof value[0] === 'object';
  const oneLine = JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
  if (typeof value !== 'object' || value === null) return oneLine;
  if (!isCut && indent.length + before.length + oneLine.length < WIDTH) return oneLine;
  const inner = `${indent}  `;
  const lines = isList
    ? value.slice(0, isCut ? SHOWN : undefined).map((entry) => written(entry, inner, ''))
    : Object.entries(value).map(([key, entry]) => `"${key}": ${written(entry, inner, `"${key}": `)}`);
  const [open, close] = isList ? '[]' : '{}';
  const body = [...lines, ...(isCut ? ['…'] : [])].map((line) => `${inner}${line}`).join(',\n');
  return `${open}\n${body}\n${indent}${close}`;
}

function shownAs({ key, attribute, entity }: StateKey<never>): string {
  if (attribute === null) {
    const { platform = 'sensor', category, enabled } = entity;
    const notes = [...(category ? [category] : []), ...(enabled === false ? ['disabled'] : [])];
    return [platform.replace('_', ' '), ...notes].join(', ');
  }
  return `attribute ${attribute === key ? '' : `\`${attribute}\` `}of \`${entity.key}\``;
}

function optionWords(entity: string, options: readonly string[]): string {
  const each = options.map((code) => `\`${code}\` (${NAMES[`${entity}.${code}`]})`);
  return `One of ${each.join(', ')}; Home Assistant shows the words, and the attribute \`code\` has the value.`;
}

function entityTable<View>(device: string, rows: readonly EntityRow<View>[]): string {
  return table(
    ['key', 'name', 'unit', 'device class', 'state class', 'in Home Assistant', 'meaning'],
    keysOfState(rows).map((row) => {
      const { stateClass, derived, options } = row.attribute === null ? row.entity : NO_ENTITY;
      return [
        `\`${row.key}\``,
        row.attribute === null ? (NAMES[`${device}.${row.key}`] ?? '') : '',
        row.unit?.replace('{currency}', 'EUR') ?? '',
        row.deviceClass ?? '',
        stateClass ?? '',
        shownAs(row),
        [
          row.help,
          ...(derived ? ['The attribute `derived` is true.'] : []),
          ...(options ? [optionWords(`${device}.${row.key}`, options)] : []),
        ].join(' '),
      ];
    }),
  );
}

const NO_ENTITY: Partial<EntityRow<never>> = {};

function bridgeTable(rows: readonly BridgeRow[]): string {
  return table(
    ['key', 'name', 'kind', 'device class', 'topic', 'meaning'],
    rows.map(({ key, help, reads, asks, body }) => [
      `\`${key}\``,
      NAMES[`bridge.${key}`] ?? '',
      [
        String(body.platform ?? 'sensor').replace('_', ' '),
        ...(body.entity_category ? [String(body.entity_category)] : []),
        ...(body.enabled_by_default === false ? ['disabled'] : []),
      ].join(', '),
      body.device_class === undefined ? '' : String(body.device_class),
      `\`<base>/${asks ? `bridge/request/${asks}` : (reads ?? 'bridge/health')}\``,
      help,
    ]),
  );
}

const eventTable = (): string =>
  table(
    ['topic', 'name', 'event types', 'meaning'],
    Object.entries(EVENT_ROWS).map(([topic, { types, help }]) => [
      `\`<base>/${topic}\``,
      NAMES[`${topic.split('/')[0]}.${EVENT_KEY}`] ?? '',
      types.map((type) => `\`${type}\``).join(', '),
      help,
    ]),
  );

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/\|/g, '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
