// A configuration that setup changes: only what is changed is written, and everything else stays as it was read.
import { expect, test } from 'vitest';
import { differences, editedText } from '../../src/config/edits.ts';
import type { RawConfig } from '../../src/config/source.ts';
import { readYaml } from '../../src/config/yamlText.ts';

function edited(text: string, change: (config: RawConfig) => void) {
  const before = readYaml(text, 'config.yaml');
  const after = structuredClone(before);
  change(after);
  return { after, ...editedText(text, 'config.yaml', differences(before, after)) };
}

test.each<[string, string, string]>([
  ['an empty file', '', 'mqtt:\n  url: mqtt://b\n'],
  ['a comment alone', '# mine\n', '# mine\n\nmqtt:\n  url: mqtt://b\n'],
  ['an empty section', 'mqtt:\nhttp: false # off\n', 'mqtt:\n  url: mqtt://b\nhttp: false # off\n'],
  ['a value with a comment', 'mqtt:\n  url: mqtt://a # old\n', 'mqtt:\n  url: mqtt://b # old\n'],
  ['a flow mapping', 'mqtt: { url: mqtt://a }\n', 'mqtt: { url: mqtt://b }\n'],
])('changes a value in %s, and nothing else', (_, text, expected) => {
  const put = (config: RawConfig) => {
    config.mqtt = { ...Object(config.mqtt), url: 'mqtt://b' };
  };
  expect(edited(text, put).text).toBe(expected);
});

test.each([
  [
    'accounts:\n  - username: 0123\n    password: 0x1F\nmeters:\n  0123: { name: 1_0 }\n  70418235: { name: a }\n',
  ],
  ['accounts:\n- username: 7\n  password: 00\n'],
])('keeps names, secrets and meters as they are written when something else changes: %j', (text) => {
  const { after, text: written } = edited(text, (config) => {
    config.mqtt = { url: 'mqtt://b' };
  });
  expect(readYaml(written, 'config.yaml')).toEqual(after);
});

test('finds the meter that is all digits, and writes it once', () => {
  const text = 'meters:\n  70418235: { name: a } # mine\n';
  const put = (config: RawConfig) => {
    Object(config.meters)['70418235'].witness = { topic: 't' };
  };
  expect(edited(text, put).text).toBe('meters:\n  70418235: { name: a, witness: { topic: t } } # mine\n');
});
