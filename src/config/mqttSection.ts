// The section of the MQTT broker: where it is, how to log in, and under which topics to publish.
import * as z from 'zod';
import { isMapping } from './rawConfig.ts';
import { brokerAddress, filePath, flag, secretKeys, section, text, topic, wholeNumber } from './values.ts';

const TOPIC_WORDS =
  'a topic of at most 128 characters without + and #, not starting with $, no slash at either end';

const embeddedBroker = section({
  port: wholeNumber(0, 65_535).default(1883).describe('The port of the own broker; 0 for any free one.'),
  host: text('an address of this machine')
    .default('127.0.0.1')
    .describe('The address the own broker listens on; 0.0.0.0 lets other machines in, without a password.'),
});

const embedded = z
  .union([z.boolean(), embeddedBroker], 'true, false, or port and host')
  .transform((given) => (given === true ? embeddedBroker.parse({}) : given));

const protocol = z
  .literal(['auto', '5', 5, '3.1.1'], 'auto, 5 or 3.1.1')
  .transform((given) => (given === 5 ? '5' : given));

const tlsFile = (description: string, file: string) =>
  filePath().meta({ description, examples: [`/etc/heat2mqtt/${file}`], readable: true });

export const mqttSection = section({
  url: brokerAddress(
    'an address starting with mqtt://, mqtts://, ws:// or wss://; odd characters of a password in it as %XX',
  )
    .default('mqtt://localhost:1883')
    .meta({
      description: 'The address of the broker. With embedded set and no url, the own broker.',
      everyday: true,
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
  base_topic: topic(TOPIC_WORDS)
    .default('heat2mqtt')
    .describe('The beginning of every topic. Two installations at one broker need two of them.'),
  discovery_prefix: z
    .union([z.literal(false), topic(TOPIC_WORDS)], `false, or ${TOPIC_WORDS}`)
    .default('homeassistant')
    .describe('Where Home Assistant looks for new devices. false: tell it nothing.'),
  embedded: embedded
    .prefault(false)
    .describe(
      'A broker brought along, for homes without one. false: none; true: with these defaults; or with port and host.',
    ),
})
  .refine(({ cert_file, key_file }) => cert_file !== undefined || key_file === undefined, {
    path: ['cert_file'],
    error: 'cert_file and key_file together, or neither',
    when: ({ value }) => isMapping(value),
  })
  .refine(({ cert_file, key_file }) => key_file !== undefined || cert_file === undefined, {
    path: ['key_file'],
    error: 'cert_file and key_file together, or neither',
    when: ({ value }) => isMapping(value),
  })
  .describe('The MQTT broker.');
