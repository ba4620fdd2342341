// What commands share: the configuration, the log it asks for, one account's way to the provider, and waiting for a signal.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { currencyOf } from '../accounts/extras.ts';
import { openUpstream, type Upstream } from '../accounts/upstream.ts';
import { findConfigFile, type Loaded, loadConfig } from '../config/load.ts';
import type { Account, Config } from '../config/schema.ts';
import type { Secret } from '../config/secret.ts';
import { isCronExpression } from '../daemon/polling/schedule.ts';
import { zone as zoneOf } from '../domain/period.ts';
import { EXIT, Failure, failure } from '../foundation/failure.ts';
import { createLog, createScrubber, type Log, type LogTail, type Scrubber } from '../foundation/log.ts';
import { repliesCodec } from '../store/documents.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import { type Arguments, type Io, wrongUsage } from './command.ts';

export interface Settings extends Loaded {
  readonly scrubber: Scrubber;
}

/** Rejects with ConfigInvalid. */
export async function loadSettings(
  given: Arguments,
  io: Io,
  more: { readonly assumeConstituencies?: boolean } = {},
): Promise<Settings> {
  const scrubber = createScrubber();
  const explicit = given.options.config;
  const path = findConfigFile(typeof explicit === 'string' ? explicit : undefined, io.env, existsSync);
  const own = { path, env: io.env, now: Date.now, scrubber, validateCron: isCronExpression };
  return { ...(await loadConfig({ ...own, ...more })), scrubber };
}

/** For a command that works on one account of a household. Rejects with a Failure. */
export async function loadWithAccount(given: Arguments, io: Io): Promise<Settings> {
  const settings = await loadSettings(given, io);
  const instead = 'its views answer in SQL, and `heat2mqtt accounts` works on accounts';
  refuseInFleet(settings.config.fleet, 'This command', instead);
  return settings;
}

/** For a command of a household. Throws not_in_fleet. */
export function refuseInFleet(fleet: unknown, command: string, instead: string): void {
  if (fleet === undefined) return;
  const message = `${command} is for a household, and the configuration has a fleet: ${instead}.`;
  throw failure('not_in_fleet', message, { exit: EXIT.usage, retry: 'never' });
}

/** The account of `--account`, else the first. Throws wrong_usage. */
export function pickAccount({ config }: Settings, option: unknown): Account {
  const account = option === undefined ? config.accounts[0] : config.accounts.find(({ id }) => id === option);
  if (account) return account;
  const known = config.accounts.map(({ id }) => id).join(', ') || 'none is configured';
  throw wrongUsage(`--account: found ${String(option ?? 'nothing').slice(0, 40)}; allowed: ${known}.`);
}

/** Every secret of the configuration, each with what it is, for a person. */
export function secretsOf(config: Config): readonly (readonly [string, Secret])[] {
  const { mqtt, web, home_assistant, fleet } = config;
  const accounts = fleet ? [] : config.accounts;
  const all: (readonly [string, Secret | undefined])[] = [
    ...accounts.flatMap(({ id, password, totp_secret }) => [
      [`password of ${id}`, password] as const,
      [`totp_secret of ${id}`, totp_secret] as const,
    ]),
    ['password of the broker', mqtt.password],
    ['password of the own broker', mqtt.embedded ? mqtt.embedded.password : undefined],
    ['password of mqtt.key_file', mqtt.key_password],
    ['password of the page', web ? web.password : undefined],
    ['token of Home Assistant', home_assistant?.token],
    ['fleet.database_url', fleet?.database_url],
    ['fleet.key', fleet?.key],
  ];
  return all.flatMap(([name, secret]) => (secret === undefined ? [] : [[name, secret] as const]));
}

/** Where the accounts of these settings keep what they know. */
export const stateOf = async ({ config, scrubber }: Settings, io: Io): Promise<StateDirectory> =>
  new StateDirectory(config.state_dir, await openSilentLog(scrubber, io));

/** Shares the session with a running daemon. */
export async function openUpstreamBeside(
  settings: Settings,
  account: Account,
  io: Io,
  more: Omit<Parameters<typeof openUpstream>[2], 'isCommand' | 'gate'> = {},
): Promise<Upstream> {
  const { config, scrubber } = settings;
  const log = await openSilentLog(scrubber, io);
  const context = { config, state: await stateOf(settings, io), clock: io.clock, log, scrubber };
  return openUpstream(account, context, { isCommand: true, ...more });
}

/** As configured, else as the daemon has stored it, else as the provider says now, if it does. */
export async function findCurrency({ config }: Settings, upstream: Upstream): Promise<string> {
  const known = (await upstream.extras.read())?.site ?? null;
  if (config.provider?.currency || known || !config.extras.site)
    return currencyOf(config, known?.found ?? null);
  const site = await upstream.provider.site?.().catch((err) => {
    if (err instanceof Failure) return null;
    throw err;
  });
  return currencyOf(config, site ?? null);
}

/** How the fleet is, and documents that its processes share; `null`: there is no fleet. Rejects with a Failure. */
export async function lookAtFleet({ config, scrubber }: Settings, io: Io) {
  const { fleet, usage } = config;
  if (!fleet) return null;
  const { openFleet } = await import('../fleet/open.ts');
  const { readHealth } = await import('../fleet/status.ts');
  const { database, shared, close } = await openFleet(fleet, await openSilentLog(scrubber, io));
  try {
    const health = await readHealth(database, fleet.claim_seconds, zoneOf(usage.timezone));
    return { health, replies: await shared.document('replies', repliesCodec).read() };
  } finally {
    await close();
  }
}

/** `auto` is pretty on a terminal and JSON elsewhere. `tail` gets every line, the terminal those that `isPrinted`. */
export async function openLog(
  config: Config['log'],
  scrubber: Scrubber,
  io: Io,
  tail?: LogTail,
  isPrinted: (line: string) => boolean = () => true,
): Promise<Log> {
  const pretty = config.format === 'pretty' || (config.format === 'auto' && io.isTerminal);
  const print = pretty ? await prettyWriter(io) : io.out;
  const write = (line: string) => {
    if (isPrinted(line)) print(line);
  };
  return createLog({ level: config.level, scrubber, write, tail });
}

/** For a command whose output is not a log. */
export const openSilentLog = (scrubber: Scrubber, io: Io): Promise<Log> =>
  openLog({ level: 'silent', format: 'json' }, scrubber, io);

async function prettyWriter(io: Io): Promise<(line: string) => void> {
  const { default: pinoPretty } = await import('pino-pretty');
  const options = { colorize: io.isTerminal, translateTime: 'SYS:HH:MM:ss', singleLine: true };
  const prettify = pinoPretty.prettyFactory(options);
  return (line) => io.out(prettify(line) ?? '');
}

/** Resolves at SIGINT or SIGTERM. */
export async function untilInterrupted({ interrupted }: Io): Promise<void> {
  if (!interrupted.aborted) await once(interrupted, 'abort');
}
