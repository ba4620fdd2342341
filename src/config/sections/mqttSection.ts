// The section of the MQTT broker: where it is, how to log in, and under which topics to publish.
import * as z from 'zod';
import {
  filePath,
  flag,
  parseUrl,
  secretKeys,
  section,
  text,
  textWhere,
  whenMapping,
  wholeNumber,
} from './values.ts';

/** Checked after user name and password were taken out; those that are still there could not be read. */
const brokerAddress = textWhere((value) => {
  const url = parseUrl(value, ['mqtt:', 'mqtts:', 'ws:', 'wss:']);
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  // An @ further right is a password with an unescaped / ? or #: the host would be a piece of the password.
  return !`${url.pathname}${url.search}${url.hash}`.includes('@');
}, 'an address starting with mqtt://, mqtts://, ws:// or wss://; odd characters of a password in it as %XX');

const TOPIC_WORDS =
  'a topic of at most 128 characters without + and #, not starting with $, no slash at either end';

// Not written as a regular expression literal: the linter forbids NUL there.
const TOPIC = new RegExp(`^(?![$/])[^+#${String.fromCharCode(0)}]+(?<!/)$`);

const topic = text(TOPIC_WORDS).max(128, TOPIC_WORDS).regex(TOPIC, TOPIC_WORDS);

const embeddedBroker = section({
  port: wholeNumber(0, 65_535).default(1883).describe('The port of the own broker; 0 for any free one.'),
  host: text('an address of this machine')
    .default('127.0.0.1')
    .describe(
      'The address the own broker listens on. 0.0.0.0 lets other machines in: only with username and password, else it stays 127.0.0.1.',
    ),
  username: text('a text; required when there is a password')
    .optional()
    .meta({
      description: 'The name with which everybody logs in at the own broker. Default: mqtt.username.',
      examples: ['home'],
      private: true,
    }),
  ...secretKeys('password', 'The password of that user', '/run/secrets/mqtt_embedded_password'),
});

const embedded = z
  .union([z.boolean(), embeddedBroker], 'true, false, or port, host, username and password_file')
  .transform((given) => (given === true ? embeddedBroker.parse({}) : given));

const protocol = z
  .literal(['auto', '5', 5, '3.1.1'], 'auto, 5 or 3.1.1')
  .transform((given) => (given === 5 ? '5' : given));

const tlsFile = (description: string, file: string) =>
  filePath().meta({ description, examples: [`/etc/heat2mqtt/${file}`], readable: true });

export const mqttSection = section({
  url: brokerAddress.default('mqtt://localhost:1883').meta({
    description: 'The address of the broker. With embedded set and no url, the own broker.',
    essential: true,
  }),
  username: text('a text; required when there is a password')
    .optional()
    .meta({
      description: 'The name we log in with at the broker.',
      examples: ['heat2mqtt'],
      private: true,
    }),
  ...secretKeys('password', 'The password at the broker', '/run/secrets/mqtt_password'),
  ca_file: tlsFile("Certificates (PEM) of the authority that signed the broker's certificate.", 'ca.pem'),
  cert_file: tlsFile('Our own certificate (PEM), when the broker asks for one. With key_file.', 'client.pem'),
  key_file: tlsFile('The private key (PEM) of our own certificate. With cert_file.', 'client.key'),
  ...secretKeys('key_password', 'The password of key_file', '/run/secrets/mqtt_key_password'),
  reject_unauthorized: flag(true).describe(
    'false: accept a certificate of the broker that cannot be verified. Anyone may then pose as it.',
  ),
  protocol: protocol
    .prefault('auto')
    .describe('The version of MQTT. auto: 5, and 3.1.1 with a broker that does not know 5.'),
  base_topic: topic
    .default('heat2mqtt')
    .describe('The beginning of every topic. Two installations at one broker need two of them.'),
  discovery_prefix: z
    .union([z.literal(false), topic], `false, or ${TOPIC_WORDS}`)
    .default('homeassistant')
    .describe('Where Home Assistant looks for new devices. false: tell it nothing.'),
  embedded: embedded
    .prefault(false)
    .describe(
      'A broker brought along, for homes without one. false: none; true: with these defaults; or with port, host and a user.',
    ),
})
  .superRefine(({ cert_file, key_file }, { addIssue }) => {
    if ((cert_file === undefined) === (key_file === undefined)) return;
    const path = [cert_file === undefined ? 'cert_file' : 'key_file'];
    addIssue({ code: 'custom', path, message: 'cert_file and key_file together, or neither' });
  }, whenMapping)
  .describe('The MQTT broker.');
