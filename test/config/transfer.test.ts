// A configuration file on its way into a backup: no secret goes along, and everything else does.
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { outlineOf, withoutSecrets } from '../../src/config/transfer.ts';

const TEXT = `# Ours. The old password was hunter2-of-the-heat.
version: 1
accounts:
  - username: me@example.org   # the landlord's
    # never tell
    password: "hunter2-of-the-h\\u0065at" # not hunter1
    totp_secret: |
      JBSWY3DPEHPK3PXP
  - { id: flat, username: you@example.org, password: "other, words" }

mqtt:
  url: mqtts://me:p%20w@broker.example.org:8883  # the cellar
  key_password_file: ./key-password
  ca_file: /etc/ca.pem
web:
  password: 0123
state_dir: /var/lib/heat
`;

test('secrets and comments are left out, and all else stays', () => {
  const { text, taken } = withoutSecrets(TEXT, 'config.yaml');
  expect(text).toBe(`version: 1
accounts:
  - username: me@example.org
  - id: flat
    username: you@example.org
mqtt:
  url: mqtts://broker.example.org:8883
  key_password_file: ./key-password
  ca_file: /etc/ca.pem
  username: me
web: {}
state_dir: /var/lib/heat
`);
  expect(taken).toEqual([
    'accounts.0.password',
    'accounts.0.totp_secret',
    'accounts.1.password',
    'mqtt.password',
    'web.password',
  ]);
});

test('files and state directory are found although secrets are missing', () => {
  expect(outlineOf(TEXT, 'config.yaml').files).toEqual(['./key-password', '/etc/ca.pem']);
  expect(outlineOf(TEXT, 'config.yaml', {}).stateDir).toBe('/var/lib/heat');
  expect(outlineOf(TEXT, 'config.yaml', { HEAT2MQTT_STATE_DIR: '/srv' }).stateDir).toBe('/srv');
  expect(outlineOf(null, '', { STATE_DIRECTORY: '/var/lib/a:/b' }).stateDir).toBe('/var/lib/a');
  expect(outlineOf('mqtt: {}', 'config.yaml', {}).stateDir).toBe('./state');
  expect(() => outlineOf('a: [', 'config.yaml', {})).toThrow(/config.yaml, line 1/);
});

test('paths below the folder of the configuration become relative: it works in another folder', () => {
  const whole = `accounts:
  - { username: me, password_file: /home/old/heat/password }
mqtt: { ca_file: /etc/ca.pem, key_password_file: ../key }
state_dir: /home/old/heat/var/state
`;
  const moved = parse(withoutSecrets(whole, '/home/old/heat/config.yaml').text);
  expect(moved).toEqual({
    accounts: [{ username: 'me', password_file: './password' }],
    mqtt: { ca_file: '/etc/ca.pem', key_password_file: '../key' },
    state_dir: './var/state',
  });
  expect(outlineOf(stringify(moved), '/home/new/config.yaml', {}).stateDir).toBe('/home/new/var/state');
});
