// docs/topics.md: every topic and every entity, rendered from the tables that the payloads are written from.
import { ACCOUNT_ROWS } from '../../src/publication/accountEntities.ts';
import { BRIDGE_ROWS, type BridgeRow, CONSTITUENCY_ROWS } from '../../src/publication/bridgeEntities.ts';
import type { EntityRow } from '../../src/publication/entityRow.ts';
import { METER_ROWS } from '../../src/publication/meterEntities.ts';
import type { PayloadByTopic } from '../../src/publication/payloads/payloads.ts';
import { type STATE_TOPIC, topicsBelow } from '../../src/publication/topics.ts';

type Relative = keyof PayloadByTopic | typeof STATE_TOPIC | 'bridge/request/+' | 'bridge/response/+';

interface Note {
  /** What stands for each `+`. */
  readonly names?: readonly string[];
  readonly retained: boolean;
  readonly says: string;
}

/** A topic without a note does not compile. */
const NOTES: Readonly<Record<Relative, Note>> = {
  'bridge/state': {
    retained: true,
    says: '`online` or `offline`, plain text; also the last will. The availability of every entity.',
  },
  'bridge/info': {
    retained: true,
    says: '`version`, `started_at`, `schedule`, `timezone`, `base_topic`, `meters[]` (`meter`, `account`, `identifiers`, `topic`), `links`.',
  },
  'bridge/health': {
    retained: true,
    says:
      '`state` (`ok`, `degraded`, `failing`), `reasons[]` (`code`, `message`, perhaps `hint`, `account`, `meter`), `auth` by account ' +
      '(`state`, `next_attempt_at`, `access_expires_at`, `refresh_expires_at`), `progress[]` of a history that is being read ' +
      '(`account`, `meter`, `days_read`, `days_total`), `statistics` of Home Assistant (`state` `waiting`, `importing`, `ok`, `failing`; ' +
      '`series`, `rows_stored`, `rows_total` while importing; `last_success_at`, `next_attempt_at`; `null` when not configured), `last_poll_at`, `last_success_at`, `next_poll_at`, `failures_in_a_row`, ' +
      '`requests_today`, `logins_today`, `last_error`.',
  },
  'bridge/event': {
    retained: false,
    says: '`event_type` (`poll_failed`, `auth_needed`, `recovered`), `at`, `code`, `message`, perhaps `account`.',
  },
  'bridge/request/+': {
    names: ['what'],
    retained: false,
    says: 'To be written by others: `refresh`, `backfill` (`from`, `to`), `constituencies`, `health`. Empty, or JSON with parameters and `transaction`. Retained requests are ignored.',
  },
  'bridge/response/+': {
    names: ['what'],
    retained: false,
    says:
      '`status` (`ok`, `error`, `skipped`), perhaps `data`, `error` (`code`, `message`) and `transaction`; ' +
      'also to the MQTT 5 response topic, with its correlation data. A backfill that also writes to Home Assistant says before how far ' +
      'it is, on this topic only: `status` `progress`, `data` with `step` (`read`, `statistics`).',
  },
  'bridge/constituencies': {
    retained: true,
    says: 'The configured list in short: `count`, `topic`, `fetched_at`, `stale`, `names`; `names` is `null` when they are too many for Home Assistant.',
  },
  'meter/+/state': { names: ['meter'], retained: true, says: 'One object, see below.' },
  'meter/+/usage/+': {
    names: ['meter', 'interval'],
    retained: true,
    says:
      '`interval` (`day`, `week`, `month`), `timezone`, `currency`, `buckets[]`, oldest first, the newest 62, 26 or 36: `start`, `end`, ' +
      '`energy_kwh`, `cost_eur`, `revision` (one more for each correction), `received_at`.',
  },
  'meter/+/history': {
    names: ['meter'],
    retained: true,
    says:
      '`timezone`, `reading_closes`, `currency`, `origin`, `days[]`: `[day, kWh, EUR]` of every day since the origin, oldest first, ' +
      'unrounded. From it a lost state directory is recovered.',
  },
  'meter/+/event': {
    names: ['meter'],
    retained: false,
    says:
      '`event_type` (`new_day`, `corrected`, `late`, `tariff_changed`), `at`, `day`; a day with `energy_kwh`, `cost_eur`, a correction also with ' +
      '`old_energy_kwh`, `old_cost_eur`; lateness with `reading_at`; a tariff with `before` and `after` (`unit_rate`, `standing_charge`, ' +
      '`from`, `to`), its `day` being the first of the new one.',
  },
  'account/+/state': { names: ['account'], retained: true, says: 'One object, see below.' },
  'account/+/invoices': {
    names: ['account'],
    retained: true,
    says:
      "`fetched_at`, `currency`, `invoices[]`, newest first, the newest 24: `id`, `status` in the provider's words, `period_start` and " +
      '`period_end` (first and last day), `issued`, `due`, `amount`, `amount_due` (what is still to be paid of it).',
  },
  'account/+/event': {
    names: ['account'],
    retained: false,
    says: '`event_type` (`bill`), `at`, `currency`, `invoice` as above: a new one has come.',
  },
  'constituencies/+/+': {
    names: ['chamber', 'house_no'],
    retained: true,
    says:
      'Written on request: `fetched_at`, `stale`, `query`, `count`, `total`, `complete`, `constituencies[]` (`uri`, `name`, `code`, ' +
      '`type`, `house` with `chamber`, `house_no`, `name`, `uri`), `raw` for a reply of unknown shape. `all` stands for a missing part; ' +
      'other queries go to `query/<8 hex>`.',
  },
};

const HEAD = `<!-- Generated from src/publication; a test compares. Do not edit. -->
# Topics and entities

\`<base>\` is \`mqtt.base_topic\`. \`<meter>\` is the identifier of the heat meter, with anything but letters, digits, \`_\` and \`-\`
replaced by \`_\`. Payloads are JSON objects with \`"schema": 1\` unless said otherwise. Numbers are numbers, instants are
ISO 8601 with offset, days are \`YYYY-MM-DD\`. What is not known is \`null\`, never 0. Money is in the provider's currency, which
stands for EUR below, whatever a key is called. Everything goes out with QoS 1.`;

const DISCOVERY = `## Discovery

Home Assistant learns of the entities below from retained documents on \`<prefix>/device/<id>/config\`, where \`<prefix>\` is
\`mqtt.discovery_prefix\` and \`<id>\` is \`<base>_meter_<meter>\`, \`<base>_account_<account>\` or \`<base>_bridge\`. Each entity's
unique id is \`<id>_<key>\`. Other tools can ignore these documents: all values are on the topics above.`;

export function topicReference(): string {
  const sections = [
    HEAD,
    table(['topic', 'retained', 'payload'], Object.entries(NOTES).map(topicLine)),
    DISCOVERY,
    `## Keys of \`<base>/meter/<meter>/state\`\n\n${entityTable(METER_ROWS)}`,
    `## Keys of \`<base>/account/<account>/state\`\n\n${entityTable(ACCOUNT_ROWS)}`,
    `## Entities of the bridge\n\n${bridgeTable([...BRIDGE_ROWS, ...CONSTITUENCY_ROWS])}`,
  ];
  return `${sections.join('\n\n')}\n`;
}

function topicLine([relative, { names = [], retained, says }]: [string, Note]): string[] {
  const left = [...names];
  const topic = relative.replace(/\+/g, () => `<${left.shift() ?? '…'}>`);
  return [`\`<base>/${topic}\``, retained ? 'yes' : 'no', says];
}

const shownAs = ({ platform, of }: Pick<EntityRow<never>, 'platform' | 'of'>): string => {
  if (platform === 'attribute') return `attribute of \`${of}\``;
  return platform.replace('_', ' ');
};

function entityTable<View>(rows: readonly EntityRow<View>[]): string {
  return table(
    ['key', 'name', 'unit', 'device class', 'state class', 'in Home Assistant', 'meaning'],
    rows.map((row) => [
      `\`${row.key}\``,
      row.name,
      row.unit?.replace('{currency}', 'EUR') ?? '',
      row.deviceClass ?? '',
      row.stateClass ?? '',
      [shownAs(row), ...(row.category ? [row.category] : [])].join(', '),
      [
        row.help,
        ...(row.options ? [`One of ${row.options.map((option) => `\`${option}\``).join(', ')}.`] : []),
      ].join(' '),
    ]),
  );
}

function bridgeTable(rows: readonly BridgeRow[]): string {
  const topics = topicsBelow('<base>');
  return table(
    ['key', 'name', 'kind', 'device class', 'topic', 'meaning'],
    rows.map(({ key, name, help, reads, asks, body }) => [
      `\`${key}\``,
      name,
      [
        String(body.platform).replace('_', ' '),
        ...(body.entity_category ? [String(body.entity_category)] : []),
      ].join(', '),
      body.device_class === undefined ? '' : String(body.device_class),
      `\`${asks ? topics.request(asks) : topics[reads ?? 'health']}\``,
      help,
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/\|/g, '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
