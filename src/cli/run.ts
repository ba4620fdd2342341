// heat2mqtt run: loads the configuration, starts the daemon, and waits for a signal. Under systemd it reports its state.
import { execFile } from 'node:child_process';
import { lchown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigInvalid } from '../config/load.ts';
import type { Fleet } from '../config/schema.ts';
import { type Daemon, type DaemonOptions, startDaemon } from '../daemon/daemon.ts';
import { cronTimes, startCron } from '../daemon/polling/schedule.ts';
import { about } from '../foundation/about.ts';
import { type Clock, systemClock } from '../foundation/clock.ts';
import { EXIT, Failure, failure, safeWords } from '../foundation/failure.ts';
import { type Log, LogTail } from '../foundation/log.ts';
import { claimDirectory } from '../store/locks.ts';
import { pathsBelow } from '../store/privateFiles.ts';
import { SUPERVISORS_INGRESS } from '../web/server.ts';
import type { Command, Io } from './command.ts';
import { loadSettings, openLog, type Settings, untilInterrupted } from './settings.ts';

/** A supervisor may start the program again: the port may be free then. */
const brokerNotStarted = (cause: NodeJS.ErrnoException) =>
  failure(
    'broker_not_started',
    `The broker of heat2mqtt itself (mqtt.embedded) cannot listen on its port (${cause.code}).`,
    {
      exit: EXIT.unexpected,
      retry: 'later',
      hint: 'If another broker runs there, write its address as mqtt.url and take mqtt.embedded away; else choose another port.',
      cause,
    },
  );

export const run: Command = async (given, io) => {
  const isApp = Boolean(io.env.SUPERVISOR_TOKEN);
  const settings = await loadSettings(given, io).catch(async (err: unknown) => {
    if (!isApp || !(err instanceof ConfigInvalid)) throw err;
    await waitForOptions(err, io);
    return null;
  });
  if (settings === null) return EXIT.fine;
  const { config, scrubber, path, warnings, notices } = settings;
  if (isApp) await dropRoot(config.state_dir);
  const logTail = new LogTail();
  const log = await openLog(config.log, scrubber, io, logTail);
  exitOnUnexpectedFaults(log);
  log.info({ version: about.version, config: path ?? 'environment only' }, 'heat2mqtt starts');
  for (const warning of warnings) log.warn(warning);
  for (const { message, ...notice } of notices) log.warn(notice, message);
  const fleet = config.fleet;
  const daemon = await (fleet
    ? startFleetProcess(fleet, settings, log, io)
    : startRealDaemon({
        config,
        notices,
        log,
        scrubber,
        logTail,
        report: reportOf(settings, io),
        ingress: isApp ? SUPERVISORS_INGRESS : null,
      })
  ).catch((err: NodeJS.ErrnoException) => {
    throw err.syscall === 'listen' ? brokerNotStarted(err) : err;
  });
  const systemd = systemdNotifier(io.env, systemClock, log);
  await systemd.ready();
  await untilInterrupted(io);
  log.info('heat2mqtt stops');
  await Promise.all([systemd.stopping(), daemon.stop()]);
  log.info('heat2mqtt has stopped');
  return EXIT.fine;
};

/** Ends with the app; the Supervisor starts it again with other options. */
async function waitForOptions(invalid: ConfigInvalid, io: Io): Promise<void> {
  const { HEAT2MQTT_HTTP_LISTEN: listen = '0.0.0.0:8099', STATE_DIRECTORY: stateDirectory } = io.env;
  if (stateDirectory) await dropRoot(stateDirectory);
  const { serveMistakes } = await import('./mistakes.ts');
  const { words, opened } = await serveMistakes(invalid, listen, SUPERVISORS_INGRESS);
  io.err(words);
  await untilInterrupted(io);
  await Promise.all(opened.map((one) => one.stop()));
}

const WAIT_FOR_DATABASE_MS = 60_000;
const TRY_DATABASE_EVERY_MS = 3_000;

/** One process of several. Only a fleet loads what it needs of PostgreSQL. */
async function startFleetProcess(
  fleet: Fleet,
  settings: Settings,
  log: Log,
  { interrupted }: Io,
): Promise<Pick<Daemon, 'stop'>> {
  const { config, scrubber } = settings;
  if (config.accounts.length > 0)
    log.warn('the accounts in the configuration are not used: those of a fleet are in its database');
  const { startFleet } = await import('../fleet/fleet.ts');
  const cron = cronTimes(config.usage.schedule, config.usage.timezone);
  const own = { clock: systemClock, random: Math.random, cron };
  const began = systemClock.monotonic();
  for (let told = ''; ; ) {
    try {
      return await startFleet({ ...own, config, log, scrubber, fleet });
    } catch (err) {
      // PostgreSQL may start later than its workers; whatever supervises this process tries again later still.
      const isOver = systemClock.monotonic() - began >= WAIT_FOR_DATABASE_MS;
      if (!(err instanceof Failure) || err.retry !== 'soon' || isOver) throw err;
      if (told !== err.message) log.warn(safeWords(err), 'waits for the database of the fleet');
      told = err.message;
      await systemClock.sleep(TRY_DATABASE_EVERY_MS, interrupted);
      if (interrupted.aborted) throw err;
    }
  }
}

/** What `heat2mqtt report` prints. Seldom wanted, and loaded then. */
export const reportOf = (settings: Settings, io: Io) => async (): Promise<string> =>
  (await import('./report.ts')).reportText(settings, io, 'This report comes from the running daemon.');

/** With the clock, the timers and the chance of this machine, and alone on its state directory. Rejects with already_running. */
export async function startRealDaemon(
  given: Omit<DaemonOptions, 'clock' | 'random' | 'startTicker'>,
): Promise<Daemon> {
  const giveUp = await claimDirectory(given.config.state_dir, systemClock, given.log);
  const options = { ...given, clock: systemClock, random: Math.random, startTicker: startCron };
  const daemon = await startDaemon(options).catch((err) => giveUp().then(() => Promise.reject(err)));
  return { ...daemon, stop: () => daemon.stop().finally(giveUp) };
}

/** A daemon that goes on after an unexpected fault may only seem to work. */
function exitOnUnexpectedFaults(log: Log): void {
  for (const kind of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(kind, (err) => {
      log.fatal({ err }, 'unexpected fault: exiting, so that a supervisor can restart the program');
      process.exit(EXIT.unexpected);
    });
  }
}

/** The user of the container image. */
const USER = 10_001;

/**
 * Home Assistant starts its app as root, because /data and the options in it belong to root.
 * To be called once the options have been read: only root can read them. Does nothing for any other user.
 */
async function dropRoot(stateDirectory: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  await mkdir(stateDirectory, { recursive: true });
  for (const path of ['', ...(await pathsBelow(stateDirectory))])
    await lchown(join(stateDirectory, path), USER, USER);
  process.setgroups?.([USER]);
  process.setgid?.(USER);
  process.setuid?.(USER);
}

/** Tells systemd that the program is ready, alive and stopping. Without systemd it does nothing. */
export function systemdNotifier(env: Io['env'], clock: Clock, log: Log, notify = systemdNotify(env)) {
  const stopped = new AbortController();

  async function send(state: string): Promise<void> {
    if (!env.NOTIFY_SOCKET) return;
    await notify(state).catch((err) =>
      log.error({ err, state }, 'systemd cannot be told; is systemd-notify installed?'),
    );
  }
  /** Driven by a timer, so that a blocked event loop stops it. */
  async function feedWatchdog(): Promise<void> {
    const timeoutMs = env.NOTIFY_SOCKET ? Number(env.WATCHDOG_USEC) / 1000 : 0;
    while (timeoutMs > 0 && !stopped.signal.aborted) {
      await clock.sleep(timeoutMs / 3, stopped.signal);
      if (!stopped.signal.aborted) await send('WATCHDOG=1');
    }
  }
  return {
    /** From now on systemd considers the program started, and its watchdog is fed. */
    async ready() {
      await send('READY=1');
      void feedWatchdog();
    },
    async stopping() {
      stopped.abort();
      await send('STOPPING=1');
    },
  };
}

const NOTIFY_TIMEOUT_MS = 5_000;

/** Sends a state such as READY=1. Node has no Unix datagram sockets, so the program of systemd has to do it. */
function systemdNotify({ NOTIFY_SOCKET, PATH }: Io['env']) {
  return (state: string) =>
    new Promise<void>((resolve, reject) => {
      const options = { env: { NOTIFY_SOCKET, PATH }, timeout: NOTIFY_TIMEOUT_MS };
      execFile('systemd-notify', [state], options, (err) => (err ? reject(err) : resolve()));
    });
}
