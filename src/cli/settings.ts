// What commands share: the configuration, its secrets, the log it asks for, and waiting for a signal.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { findConfigFile, type Loaded, loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { Secret } from '../config/secret.ts';
import { isCronExpression } from '../daemon/polling/schedule.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { createLog, createScrubber, type Log, type LogTail, type Scrubber } from '../foundation/log.ts';
import type { Arguments, Io } from './command.ts';

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

/** For a command of a household. Throws not_in_fleet. */
export function refuseInFleet(fleet: unknown, command: string, instead: string): void {
  if (fleet === undefined) return;
  const message = `${command} is for a household, and the configuration has a fleet: ${instead}.`;
  throw failure('not_in_fleet', message, { exit: EXIT.usage, retry: 'never' });
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
