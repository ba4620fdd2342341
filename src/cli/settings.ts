// What commands share: the configuration, the log it asks for, and waiting for a signal.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { findConfigFile, type Loaded, loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { isCronExpression } from '../daemon/polling/schedule.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { createLog, createScrubber, type Log, type LogTail, type Scrubber } from '../foundation/log.ts';
import type { Arguments, Io } from './command.ts';

export interface Settings extends Loaded {
  readonly scrubber: Scrubber;
}

/** For a command of a household. Throws not_in_fleet. */
export function refuseInFleet(fleet: unknown, command: string, instead: string): void {
  if (fleet !== undefined) throw notInFleet(command, instead);
}

const notInFleet = (command: string, instead: string) =>
  failure('not_in_fleet', `${command} is for a household, and the configuration has a fleet: ${instead}.`, {
    exit: EXIT.usage,
    retry: 'never',
  });

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

/** `auto` is pretty on a terminal and JSON elsewhere. Of lines that are not `isPrinted` only the tail hears. */
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
  const prettify = pinoPretty.prettyFactory({
    colorize: io.isTerminal,
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
  });
  return (line) => io.out(prettify(line) ?? '');
}

/** Resolves at SIGINT or SIGTERM. */
export async function untilInterrupted({ interrupted }: Io): Promise<void> {
  if (!interrupted.aborted) await once(interrupted, 'abort');
}
