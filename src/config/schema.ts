// The schema of the configuration file, and the type of the checked configuration.
import * as z from 'zod';
import { mqttSection } from './mqttSection.ts';
import type { Secret } from './secrets.ts';
import { accountsSection, constituenciesSection, providerSection, usageSection } from './upstreamSections.ts';
import { choice, flag, hostAndPort, secretKeys, section, socketAddress, text } from './values.ts';

const extra = (what: string) =>
  flag()
    .default(true)
    .meta({ description: `Ask for ${what}.`, examples: [true] });

const extrasSection = section({
  meter_reading: extra('the register of the meter'),
  balance: extra('what is due on the account'),
  invoices: extra('invoices'),
  site: extra("the site's time zone and currency"),
}).meta({ description: 'What else to ask for, at most once a day.' });

const homeAssistantSection = section({
  url: socketAddress('an address starting with ws:// or wss:// without user name or password in it').meta({
    description: "Home Assistant's WebSocket address.",
    examples: ['ws://homeassistant.local:8123/api/websocket'],
  }),
  ...secretKeys('token', 'The long-lived access token of one of its administrators', '/run/secrets/ha_token'),
});

const httpSection = section({
  listen: hostAndPort.default('127.0.0.1:8099').meta({
    description: 'Where /healthz, /readyz and /metrics are served.',
    examples: ['127.0.0.1:8099'],
  }),
});

const logSection = section({
  level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .meta({ description: 'How much the log tells.', examples: ['info'] }),
  format: choice(['auto', 'pretty', 'json'])
    .default('auto')
    .meta({ description: 'auto: pretty on a terminal, JSON elsewhere.', examples: ['auto'] }),
}).meta({ description: 'The log.' });

/** The file as people write it; the environment is applied to it before it is parsed. */
export const fileSchema = section({
  version: z
    .literal(1, '1, the only version this program understands')
    .default(1)
    .meta({
      description: 'The version of this format.',
      examples: [1],
      everyday: true,
    }),
  provider: providerSection.optional(),
  accounts: accountsSection,
  usage: usageSection.prefault({}),
  extras: extrasSection.prefault({}),
  constituencies: constituenciesSection.optional(),
  mqtt: mqttSection.prefault({}),
  home_assistant: z
    .union([z.literal(false), homeAssistantSection], 'false, or url and token_file')
    .optional()
    .meta({
      description:
        'Home Assistant, to write late readings into its statistics at their true day. Optional; within a Home Assistant app it is found by itself ($SUPERVISOR_TOKEN). false: off.',
      examples: [{ url: 'ws://homeassistant.local:8123/api/websocket', token_file: '/run/secrets/ha_token' }],
    }),
  http: z
    .union([z.boolean(), httpSection], 'false, or listen')
    .transform((given) => (given === true ? httpSection.parse({}) : given))
    .prefault({})
    .meta({
      description: 'Health and metrics for machines that watch. false: off.',
      examples: [{ listen: '127.0.0.1:8099' }],
    }),
  state_dir: text('the path of a directory')
    .default('./state')
    .meta({
      description:
        'Where tokens and readings are kept. Default: the first directory of $STATE_DIRECTORY (systemd), else ./state.',
      examples: ['./state'],
    }),
  log: logSection.prefault({}),
}).meta({ title: 'heat2mqtt configuration' });

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
