// Shared by all commands: the configuration, its secrets, the state directory, the log, and waiting for a signal.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { SeriesNames } from '../accounts/names.ts';
import { findConfigFile, type Loaded, type LoadOptions, loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { Secret } from '../config/secret.ts';
import { type Zone, zone as zoneOf } from '../domain/period.ts';
import { nextTimes } from '../engine/schedule.ts';
import { createLog, createScrubber, type Log, type LogTail, type Scrubber } from '../foundation/log.ts';
import { StateDirectory } from '../store/stateDirectory.ts';
import type { StateStore } from '../store/stateStore.ts';
import { type Io, refusal } from './command.ts';
import type { Given } from './commands.ts';

export interface Settings extends Loaded {
  readonly scrubber: Scrubber;
  /** Silent: the output of a command is not a log. `run` opens another one. */
  readonly log: Log;
  readonly state: StateStore;
  /** The zone of `usage.timezone`. */
  readonly zone: Zone;
  /** The names of the meters, if they are known beforehand. */
  readonly names?: SeriesNames;
}

/** One account with what is kept of it. */
export interface Household {
  readonly id: string;
  readonly open: () => Promise<Settings>;
}

/** The file is that of `--config`, else the one at the usual place. Rejects with ConfigInvalid. */
export async function loadSettings(
  { options }: Given<'run'>,
  io: Io,
  more: Pick<LoadOptions, 'assumeConstituencies'> = {},
): Promise<Settings> {
  const path = findConfigFile(options.config, io.env, existsSync);
  return openSettings({ path, nextTimes, ...more }, io);
}

/** The same, of a configuration that need not be a file. */
export async function openSettings(
  options: Omit<LoadOptions, 'env' | 'now' | 'scrubber'>,
  { env, clock }: Io,
): Promise<Settings> {
  const scrubber = createScrubber();
  const loaded = await loadConfig({ ...options, env, now: () => clock.now(), scrubber });
  const { state_dir, usage } = loaded.config;
  const log = silentLog();
  return {
    ...loaded,
    scrubber,
    log,
    state: new StateDirectory(state_dir, log),
    zone: zoneOf(usage.timezone),
  };
}

export const silentLog = (): Log =>
  createLog({ level: 'silent', scrubber: createScrubber(), write: () => undefined });

/** Throws not_in_fleet for a command of a household. */
export function refuseInFleet(fleet: unknown, command: string, instead: string): void {
  const message = `${command} is for a household, and the configuration has a fleet: ${instead}.`;
  if (fleet !== undefined) throw refusal('not_in_fleet', message);
}

/** Every secret of the configuration, each with what it is, for a person. */
export function secretsOf({ accounts, mqtt, web, home_assistant, fleet }: Config) {
  const ofAccounts = (fleet ? [] : accounts).map(({ id, password, totp_secret }) => ({
    [`password of ${id}`]: password,
    [`totp_secret of ${id}`]: totp_secret,
  }));
  const secrets: Readonly<Record<string, Secret | undefined>> = Object.assign({}, ...ofAccounts, {
    'password of the broker': mqtt.password,
    'password of the own broker': mqtt.embedded ? mqtt.embedded.password : undefined,
    'password of mqtt.key_file': mqtt.key_password,
    'password of the page': web ? web.password : undefined,
    'token of Home Assistant': home_assistant?.token,
    'fleet.database_url': fleet?.database_url,
    'fleet.key': fleet?.key,
  });
  return Object.entries(secrets).flatMap(([name, secret]) => (secret ? [[name, secret] as const] : []));
}

/** `auto` is pretty on a terminal and JSON elsewhere. `tail` gets every line, the terminal those that `isPrinted`. */
export async function openLog(
  { config: { log }, scrubber }: Settings,
  io: Io,
  tail: LogTail,
  isPrinted: (line: string) => boolean = () => true,
): Promise<Log> {
  const { isTerminal } = io;
  let print = io.log;
  if (log.format === 'pretty' || (log.format === 'auto' && isTerminal)) {
    const { default: pinoPretty } = await import('pino-pretty');
    // Output that goes elsewhere is looked at days later.
    const translateTime = isTerminal ? 'SYS:HH:MM:ss' : 'SYS:yyyy-mm-dd HH:MM:ss';
    const options = { colorize: isTerminal, translateTime, singleLine: true };
    const prettify = pinoPretty.prettyFactory(options);
    print = (line) => io.log(prettify(line) ?? '');
  }
  const write = (line: string) => {
    if (isPrinted(line)) print(line);
  };
  return createLog({ level: log.level, scrubber, write, tail });
}

/** Resolves at SIGINT or SIGTERM. */
export async function untilInterrupted({ interrupted }: Io): Promise<void> {
  if (!interrupted.aborted) await once(interrupted, 'abort');
}
