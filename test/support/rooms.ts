// The rooms of the house: what each may import, and through which door each package comes in.

/** What a room may import beside itself: a room, one file of it, or its types only. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  foundation: ['../package.json'],
  domain: [],
  config: ['foundation'],
  store: ['domain', 'foundation'],
  auth: ['type domain/health.ts', 'foundation'],
  provider: ['domain', 'foundation'],
  mqtt: ['foundation'],
  statistics: ['domain', 'foundation'],
  monitor: ['domain', 'foundation'],
  simulator: ['type foundation/clock.ts'],
  publication: ['domain', 'type mqtt/message.ts', 'foundation/about.ts'],
  daemon: 'auth config domain foundation monitor mqtt provider publication statistics store'.split(' '),
  cli: ['config', 'daemon', 'domain', 'foundation', 'mqtt/connection.ts', 'type provider', 'store'],
  'main.ts': ['cli/begin.ts'],
};
/** Each package of others has one door. */
export const DOORS: Readonly<Record<string, RegExp>> = {
  pino: /^foundation\/log\.ts$/,
  'pino-pretty': /^cli\/settings\.ts$/,
  'openid-client': /^auth\/oidc\.ts$/,
  mqtt: /^mqtt\/connection\.ts$/,
  aedes: /^mqtt\/embedded\.ts$/,
  ws: /^statistics\/socket\.ts$/,
  'home-assistant-js-websocket': /^statistics\/connection\.ts$/,
  'node-cron': /^daemon\/schedule\.ts$/,
  'write-file-atomic': /^store\/wholeFile\.ts$/,
  yaml: /^config\//,
  zod: /^(config|store|provider|publication\/payloads)\/|^(statistics\/recorder|mqtt\/requests)\.ts$/,
};
