// The table of the bridge's own device, whose entities read `bridge/health` by template.

/** What the bridge's own device shows, read from `bridge/health` by template. */
export interface BridgeRow {
  readonly key: string;
  readonly name: string;
  readonly help: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const diagnostic = { entity_category: 'diagnostic' };
export const BRIDGE_ROWS: readonly BridgeRow[] = [
  {
    key: 'health',
    name: 'Health',
    help: 'On while something keeps the bridge from doing its work; the reasons are attributes.',
    body: {
      ...diagnostic,
      platform: 'binary_sensor',
      device_class: 'problem',
      value_template: "{{ 'OFF' if value_json.state == 'ok' else 'ON' }}",
      json_attributes_template:
        "{{ {'state': value_json.state, 'reasons': value_json.reasons, 'auth': value_json.auth} | tojson }}",
    },
  },
  {
    key: 'last_success_at',
    name: 'Last successful poll',
    help: 'When the provider was last read without a fault.',
    body: { ...diagnostic, platform: 'sensor', device_class: 'timestamp' },
  },
  {
    key: 'next_poll_at',
    name: 'Next poll',
    help: 'When the provider is asked next.',
    body: { ...diagnostic, platform: 'sensor', device_class: 'timestamp' },
  },
  {
    key: 'last_error',
    name: 'Last error',
    help: 'What is wrong now, in one sentence; unknown while nothing is.',
    body: { ...diagnostic, platform: 'sensor', icon: 'mdi:alert-circle-outline' },
  },
];

export const POLL_NOW: BridgeRow = {
  key: 'poll_now',
  name: 'Poll now',
  help: 'Asks the provider at once, at most every five minutes.',
  // Valid JSON, so that the button says the same as a Node-RED flow would.
  body: { platform: 'button', payload_press: '{}', icon: 'mdi:refresh' },
};
