// The modules of the program: what each may import, and which one file imports each package.

/** What a room may import beside itself: a room, one file of it, or its types only. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  foundation: ['../package.json'],
  domain: [],
  http: ['foundation'],
  config: ['foundation'],
  store: ['domain', 'foundation'],
  auth: [
    'type config/schema.ts',
    'type domain/health.ts',
    'foundation',
    'http',
    'type store/documents.ts',
    'type store/stateStore.ts',
  ],
  provider: ['domain', 'foundation', 'http'],
  mqtt: ['foundation', 'type config/schema.ts'],
  homeassistant: ['domain', 'foundation'],
  simulator: ['type foundation/clock.ts'],
  publication: [
    'domain',
    'type config/schema.ts',
    'type mqtt/message.ts',
    'foundation/about.ts',
    'foundation/json.ts',
  ],
  web: [
    'auth',
    'config/listenAddress.ts',
    'domain/health.ts',
    'domain/invoicePayment.ts',
    'domain/period.ts',
    'foundation',
    'publication/language.ts',
    'type publication/payloads/payloads.ts',
    'publication/words.ts',
  ],
  accounts: 'auth config domain foundation http provider publication store'
    .split(' ')
    .concat('type mqtt/message.ts'),
  constituencies: 'config domain foundation http mqtt/requests.ts provider publication store'
    .split(' ')
    .concat('type mqtt/message.ts'),
  engine: ['accounts', 'domain', 'foundation', 'type mqtt/message.ts'],
  daemon:
    'accounts auth config constituencies domain engine foundation http mqtt publication homeassistant store web'.split(
      ' ',
    ),
  fleet: 'accounts auth config constituencies domain engine foundation http mqtt publication store web'.split(
    ' ',
  ),
  cli: 'accounts auth config constituencies daemon domain engine fleet foundation homeassistant/commands.ts homeassistant/recorder.ts http/proxy.ts mqtt/broker.ts mqtt/limits.ts mqtt/opening.ts mqtt/refusals.ts mqtt/requests.ts mqtt/silence.ts publication store web/server.ts'
    .split(' ')
    .concat('type mqtt/connection.ts', 'type mqtt/message.ts'),
  'main.ts': ['cli/command.ts', 'cli/commandLine.ts', 'foundation'],
};
/**
 * The folders of a room, and files beside them, from the bottom up: each imports only those before it. `*` stands for the files that
 * are not named.
 */
export const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  domain: ['*', 'tariff', 'insight'],
  store: ['*', 'database'],
  provider: ['*', 'monetization'],

  simulator: ['*', 'issuer', 'billing.ts', 'provider.ts'],
  web: ['page', '*'],
  publication: ['views.ts', 'entities', 'payloads', '*'],
  daemon: ['context.ts', 'polling', 'homeAssistant', 'publishing', 'requests', 'monitor', 'daemon.ts'],
};
/** The one file that imports each npm package. */
export const DOORS: Readonly<Record<string, RegExp>> = {
  pino: /^foundation\/log\.ts$/,
  'p-limit': /^foundation\/limits\.ts$/,
  'pino-pretty': /^cli\/settings\.ts$/,
  uqr: /^(cli\/login|web\/signIn)\.ts$/,
  'openid-client': /^auth\/issuerClient\.ts$/,
  otpauth: /^auth\/login\.ts$/,
  htmlparser2: /^auth\/loginPage\.ts$/,
  'tough-cookie': /^auth\/form\.ts$/,
  preact: /^web\/page\//,
  'preact/hooks': /^web\/page\//,
  mqtt: /^mqtt\/connection\.ts$/,
  aedes: /^mqtt\/broker\.ts$/,
  ws: /^(homeassistant\/connection|mqtt\/stream)\.ts$/,
  pg: /^store\/database\/database\.ts$/,
  'node-cron': /^engine\/schedule\.ts$/,
  yaml: /^config\//,
  leven: /^config\/faults\.ts$/,
  zod: /^(cli\/mcp|config|constituencies|store|provider|publication\/payloads)\/|^(simulator\/usage|domain\/(constituency|extras|invoice|listOf|reading|recovery|tariff\/tariff|witnessRecord)|homeassistant\/(commands|connection)|mqtt\/requests)\.ts$/,
};
