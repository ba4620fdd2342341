// A configuration file on its way into a backup: no secret goes along, and everything else does.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { filesIn, stateDirOf, withoutSecrets } from '../../src/config/transfer.ts';
import { createScrubber } from '../../src/foundation/log.ts';

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

test('secrets leave a comment behind, and all else stays', () => {
  const scrubber = createScrubber();
  scrubber.register('hunter2-of-the-heat');
  const { text, taken } = withoutSecrets(TEXT, 'config.yaml', scrubber);
  const left = (key: string) => `# ${key}: left out of the backup; write it here, or its file as ${key}_file`;
  expect(text).toBe(`# Ours. The old password was [secret].
version: 1
accounts:
  - username: me@example.org # the landlord's
    # never tell
    # not hunter1
    ${left('password')}
    ${left('totp_secret')}
  - { id: flat, username: you@example.org } ${left('password')}

mqtt:
  url: mqtts://me@broker.example.org:8883 # the cellar
  key_password_file: ./key-password
  ca_file: /etc/ca.pem
web:
  {}
  ${left('password')}
state_dir: /var/lib/heat
`);
  expect(taken).toEqual(['password', 'totp_secret', 'password', 'the password in an address', 'password']);
});

test('a text without secrets stays as it is, however it is written', () => {
  const text = 'mqtt:   {url: "mqtt://broker",  username: me}   # ours\n\n\n';
  expect(withoutSecrets(text, 'config.yaml', createScrubber())).toEqual({ text, taken: [] });
});

test('a line that is put out of use keeps its secret to itself', () => {
  const text = `# password: hunter1
mqtt:
  # url: mqtt://me:hunter2@broker.example.org
  username: me # key_password : "hunter3"
  #- token: hunter4   # of the tablet
  # token_file: ./token
  # password: left out of the backup; write it here
`;
  expect(withoutSecrets(text, 'config.yaml', createScrubber()).text).toBe(`# password: [secret]
mqtt:
  # url: mqtt://me:[secret]@broker.example.org
  username: me # key_password : [secret]
  #- token: [secret]
  # token_file: ./token
  # password: left out of the backup; write it here
`);
});

test('files and state directory are found although secrets are missing', () => {
  expect(filesIn(TEXT, 'config.yaml')).toEqual(['./key-password', '/etc/ca.pem']);
  expect(stateDirOf(TEXT, 'config.yaml', {})).toBe('/var/lib/heat');
  expect(stateDirOf(TEXT, 'config.yaml', { HEAT2MQTT_STATE_DIR: '/srv' })).toBe('/srv');
  expect(stateDirOf(null, '', { STATE_DIRECTORY: '/var/lib/a:/b' })).toBe('/var/lib/a');
  expect(stateDirOf('mqtt: {}', 'config.yaml', {})).toBe('./state');
  expect(() => stateDirOf('a: [', 'config.yaml', {})).toThrow(/config.yaml, line 1/);
});

test('whatever a secret is and however it is written: it is gone, and the rest says the same', () => {
  const secret = fc.string({ unit: 'binary' }).map((text) => `S3cret ${text.replaceAll('\0', '')}`);
  const account = fc.record(
    { username: fc.string(), password: secret, totp_secret: secret },
    { requiredKeys: ['username'] },
  );
  const config = fc.record({
    accounts: fc.array(account, { maxLength: 3 }),
    mqtt: fc.record({ url: fc.constant('mqtt://h'), password: secret }),
  });
  const style = fc.record({
    collectionStyle: fc.constantFrom('any', 'block', 'flow'),
    defaultStringType: fc.constantFrom('PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL'),
    lineWidth: fc.constantFrom(0, 40),
  } as const);
  fc.assert(
    fc.property(config, style, ({ accounts, mqtt }, options) => {
      const { text } = withoutSecrets(
        stringify({ accounts, mqtt }, options),
        'config.yaml',
        createScrubber(),
      );
      expect(text).not.toContain('S3cret');
      const rest = { accounts: accounts.map(({ username }) => ({ username })), mqtt: { url: mqtt.url } };
      expect(parse(text)).toEqual(rest);
    }),
    { numRuns: 25 },
  );
});
