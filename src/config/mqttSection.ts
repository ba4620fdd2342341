// The keys of the broker: where it is, how to prove who we are, and under which topics we speak.
import * as z from 'zod';
import { brokerAddress, key, text, topic, wholeNumber } from './fields.ts';
import { secretKeys } from './secretKeys.ts';

const TOPIC_WORDS =
  'a topic of at most 128 characters without + and #, not starting with $, no slash at either end';

const embeddedBroker = z.strictObject({
  port: key(wholeNumber(0, 65_535).default(1883), {
    description: 'The port of the own broker; 0 for any free one.',
    example: 1883,
  }),
  host: key(text.default('127.0.0.1'), {
    description: 'The address the own broker listens on; 0.0.0.0 lets other machines in, without a password.',
    example: '127.0.0.1',
    allowed: 'an address of this machine',
  }),
});

const embedded = z
  .union([z.boolean(), embeddedBroker])
  .transform((given) => (given === true ? embeddedBroker.parse({}) : given));

export const mqttSection = z
  .strictObject({
    url: key(brokerAddress.default('mqtt://localhost:1883'), {
      description: 'The address of the broker. With embedded set and no url, the own broker.',
      example: 'mqtt://localhost:1883',
      allowed:
        'an address starting with mqtt://, mqtts://, ws:// or wss://; odd characters of a password in it as %XX',
      everyday: true,
    }),
    username: key(text.optional(), {
      description: 'The name we log in with at the broker.',
      example: 'heat2mqtt',
      allowed: 'a text; required when there is a password',
      private: true,
    }),
    ...secretKeys('password', 'The password at the broker', '/run/secrets/mqtt_password'),
    ca_file: tlsFile("Certificates (PEM) of the authority that signed the broker's certificate.", 'ca.pem'),
    cert_file: tlsFile(
      'Our own certificate (PEM), when the broker asks for one. With key_file.',
      'client.pem',
    ),
    key_file: tlsFile('The private key (PEM) of our own certificate. With cert_file.', 'client.key'),
    ...secretKeys('key_password', 'The password of key_file', '/run/secrets/mqtt_key_password'),
    reject_unauthorized: key(z.boolean().default(true), {
      description:
        'false: accept a certificate of the broker that cannot be verified. Anyone may then pose as it.',
      example: true,
    }),
    protocol: key(
      z
        .literal(['auto', '5', 5, '3.1.1'])
        .transform((given) => (given === 5 ? '5' : given))
        .prefault('auto'),
      {
        description: 'The version of MQTT. auto: 5, and 3.1.1 with a broker that does not know 5.',
        example: 'auto',
        allowed: 'auto, 5 or 3.1.1',
      },
    ),
    base_topic: key(topic.default('heat2mqtt'), {
      description: 'The beginning of every topic. Two installations at one broker need two of them.',
      example: 'heat2mqtt',
      allowed: TOPIC_WORDS,
    }),
    discovery_prefix: key(z.union([z.literal(false), topic]).default('homeassistant'), {
      description: 'Where Home Assistant looks for new devices. false: tell it nothing.',
      example: 'homeassistant',
      allowed: `false, or ${TOPIC_WORDS}`,
    }),
    embedded: key(embedded.prefault(false), {
      description:
        'A broker brought along, for homes without one. false: none; true: with these defaults; or with port and host.',
      example: false,
      allowed: 'true, false, or port and host',
    }),
  })
  .meta({ description: 'The MQTT broker.' });

function tlsFile(description: string, file: string) {
  return key(text.optional(), {
    description,
    example: `/etc/heat2mqtt/${file}`,
    allowed: 'the path of a readable file',
    readable: true,
  });
}
