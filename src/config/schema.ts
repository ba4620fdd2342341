// The schema of the configuration file, and the type of the trusted configuration that comes of it.
import * as z from 'zod';
import { hostAndPort, key, socketAddress, text } from './fields.ts';
import { mqttSection } from './mqttSection.ts';
import { secretKeys } from './secretKeys.ts';
import type { Secret } from './secrets.ts';
import { account, constituenciesSection, providerSection } from './upstreamSections.ts';
import { usageSection } from './usageSection.ts';

const extrasSection = z
  .strictObject({
    meter_reading: extra('the register of the meter'),
    balance: extra('what is due on the account'),
    invoices: extra('invoices'),
    site: extra("the site's time zone and currency"),
  })
  .meta({ description: 'What else to ask for, at most once a day.' });

const homeAssistantSection = z.strictObject({
  url: key(socketAddress, {
    description: "Home Assistant's WebSocket address.",
    example: 'ws://homeassistant.local:8123/api/websocket',
    allowed: 'an address starting with ws:// or wss:// without user name or password in it',
  }),
  ...secretKeys('token', 'The long-lived access token of one of its administrators', '/run/secrets/ha_token'),
});

const httpSection = z.strictObject({
  listen: key(hostAndPort.default('127.0.0.1:8099'), {
    description: 'Where /healthz, /readyz and /metrics are served.',
    example: '127.0.0.1:8099',
    allowed: 'an address and a port, such as 127.0.0.1:8099 or [::1]:8099',
  }),
});

const logSection = z
  .strictObject({
    level: key(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'), {
      description: 'How much the log tells.',
      example: 'info',
    }),
    format: key(z.enum(['auto', 'pretty', 'json']).default('auto'), {
      description: 'auto: pretty on a terminal, JSON elsewhere.',
      example: 'auto',
    }),
  })
  .meta({ description: 'The log.' });

/** The file as people write it; the environment is laid over it before it is parsed. */
export const fileSchema = z
  .strictObject({
    version: key(z.literal(1).default(1), {
      description: 'The version of this format.',
      example: 1,
      allowed: '1, the only version this program understands',
      everyday: true,
    }),
    provider: providerSection.optional(),
    accounts: z.array(account).default([]).meta({
      description:
        'The logins at the provider, one or many. May be left out when only constituencies are wanted.',
    }),
    usage: usageSection.prefault({}),
    extras: extrasSection.prefault({}),
    constituencies: constituenciesSection.optional(),
    mqtt: mqttSection.prefault({}),
    home_assistant: key(z.union([z.literal(false), homeAssistantSection]).optional(), {
      description:
        'Home Assistant, to write late readings into its statistics at their true day. Optional; within a Home Assistant app it is found by itself ($SUPERVISOR_TOKEN). false: off.',
      example: { url: 'ws://homeassistant.local:8123/api/websocket', token_file: '/run/secrets/ha_token' },
      allowed: 'false, or url and token_file',
    }),
    http: key(
      z
        .union([z.boolean(), httpSection])
        .transform((given) => (given === true ? httpSection.parse({}) : given))
        .prefault({}),
      {
        description: 'Health and metrics for machines that watch. false: off.',
        example: { listen: '127.0.0.1:8099' },
        allowed: 'false, or listen',
      },
    ),
    state_dir: key(text.default('./state'), {
      description:
        'Where tokens and readings are kept. Default: the first directory of $STATE_DIRECTORY (systemd), else ./state.',
      example: './state',
      allowed: 'the path of a directory',
    }),
    log: logSection.prefault({}),
  })
  .meta({ title: 'heat2mqtt configuration' });

export type FileConfig = z.output<typeof fileSchema>;
type FileAccount = FileConfig['accounts'][number];
type FileHomeAssistant = Exclude<FileConfig['home_assistant'], false | undefined>;
type InFile<N extends string> = N | `${N}_file`;

export type Account = Omit<FileAccount, 'id' | InFile<'password'>> & { id: string; password: Secret };
export type Mqtt = Omit<FileConfig['mqtt'], InFile<'password' | 'key_password'>> & {
  password?: Secret;
  key_password?: Secret;
};
export type HomeAssistant = Omit<FileHomeAssistant, InFile<'token'>> & { token: Secret };

/** Checked, defaults filled in, each secret one field. `provider` is there whenever `accounts` has entries. */
export type Config = Omit<FileConfig, 'accounts' | 'mqtt' | 'home_assistant'> & {
  accounts: Account[];
  mqtt: Mqtt;
  home_assistant?: HomeAssistant;
};

function extra(what: string) {
  return key(z.boolean().default(true), { description: `Ask for ${what}.`, example: true });
}
