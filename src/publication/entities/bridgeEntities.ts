// The tables of the bridge's own device, whose entities read the bridge's topics by template, and of event entities.

/** The entities and buttons of the bridge's own device. */
export interface BridgeRow {
  readonly key: string;
  readonly help: string;
  /** The topic that its templates read; default: bridge/health. */
  readonly reads?: 'bridge/constituencies';
  /** The request that a button makes. */
  readonly asks?: 'refresh' | 'constituencies';
  /** It is about polling: of no use without an account. */
  readonly polls?: true;
  /** Without a platform it is a sensor. */
  readonly body: Readonly<Record<string, unknown>>;
}

const diagnostic = { entity_category: 'diagnostic' };
export const BRIDGE_ROWS: readonly BridgeRow[] = [
  {
    key: 'health',
    help: 'On while something keeps the bridge from doing its work; the reasons are attributes.',
    body: {
      ...diagnostic,
      platform: 'binary_sensor',
      device_class: 'problem',
      value_template: "{{ 'OFF' if value_json.state == 'ok' else 'ON' }}",
      // Home Assistant drops an attribute of the name `state`.
      json_attributes_template:
        "{{ {'verdict': value_json.state, 'reasons': value_json.reasons, 'auth': value_json.auth} | tojson }}",
    },
  },
  {
    key: 'last_success_at',
    help: 'When the provider was last read without a fault.',
    polls: true,
    body: { ...diagnostic, device_class: 'timestamp' },
  },
  {
    key: 'next_poll_at',
    help: 'When the provider is asked next.',
    polls: true,
    body: { ...diagnostic, device_class: 'timestamp', enabled_by_default: false },
  },
  {
    key: 'last_error',
    help: 'What is wrong now, in one sentence; none while nothing is.',
    body: {
      ...diagnostic,
      icon: 'mdi:alert-circle-outline',
      value_template: "{{ value_json.last_error or 'none' }}",
    },
  },
  {
    key: 'poll_now',
    help: 'Asks the provider at once, at most every five minutes; the attribute says from when on.',
    asks: 'refresh',
    // Valid JSON, so that the button sends the same as a Node-RED flow would.
    polls: true,
    body: {
      platform: 'button',
      payload_press: '{}',
      icon: 'mdi:refresh',
      json_attributes_template: "{{ {'next_possible_at': value_json.poll_now_at} | tojson }}",
    },
  },
];

/** There when the configuration has constituencies. */
export const CONSTITUENCY_ROWS: readonly BridgeRow[] = [
  {
    key: 'constituencies',
    help: 'How many constituencies the configured list has; unknown until it was asked for. Names are attributes.',
    reads: 'bridge/constituencies',
    body: {
      icon: 'mdi:map-marker-multiple-outline',
      // Makes it a number for Home Assistant, which then takes "None" for unknown.
      suggested_display_precision: 0,
      value_template: '{{ value_json.count }}',
      json_attributes_template:
        "{{ {'names': value_json.names, 'note': value_json.note, 'fetched_at': value_json.fetched_at, 'stale': value_json.stale, 'topic': value_json.topic} | tojson }}",
    },
  },
  {
    key: 'constituencies_fetched_at',
    help: 'When the configured list was last fetched.',
    reads: 'bridge/constituencies',
    body: {
      ...diagnostic,
      device_class: 'timestamp',
      enabled_by_default: false,
      value_template: '{{ value_json.fetched_at }}',
    },
  },
  {
    key: 'refresh_constituencies',
    help: 'Fetches the configured list of constituencies.',
    asks: 'constituencies',
    body: { platform: 'button', payload_press: '{}', icon: 'mdi:map-search-outline' },
  },
];

export interface EventRow {
  readonly help: string;
  readonly icon: string;
  readonly category?: 'diagnostic';
  /** Home Assistant takes no other than these. */
  readonly types: readonly string[];
}

/** Every event entity has this key. */
export const EVENT_KEY = 'event';

export const EVENT_ROWS = {
  'meter/<meter>/event': {
    help: 'A day is new or corrected, readings have become late, the tariff has changed, or the heat used is unusual.',
    icon: 'mdi:calendar-clock',
    types: ['new_day', 'corrected', 'late', 'tariff_changed', 'unusual_use'],
  },
  'account/<account>/event': {
    help: 'A new invoice has come.',
    icon: 'mdi:file-document-plus-outline',
    types: ['bill'],
  },
  'bridge/event': {
    help: 'A poll has failed, a sign-in needs a person, all is well again, or a request came too early.',
    icon: 'mdi:bell-outline',
    category: 'diagnostic',
    types: ['poll_failed', 'auth_needed', 'recovered', 'request_skipped'],
  },
} as const satisfies Readonly<Record<string, EventRow>>;
