// heat2mqtt run: loads the configuration, starts the daemon, and waits for a signal. Under systemd it reports its state.
import { execFile } from 'node:child_process';
import { lchown, mkdir } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ConfigInvalid } from '../config/faults.ts';
import type { Fleet } from '../config/schema.ts';
import { type Daemon, startDaemon } from '../daemon/daemon.ts';
import { cronTimes, ticksOf } from '../engine/schedule.ts';
import type { FleetProcess } from '../fleet/fleet.ts';
import { about } from '../foundation/about.ts';
import { type Clock, systemClock } from '../foundation/clock.ts';
import { EXIT, Failure, safeWords } from '../foundation/failure.ts';
import { type Log, LogTail } from '../foundation/log.ts';
import { claimDirectory } from '../store/locks.ts';
import { pathsBelow } from '../store/privateFiles.ts';
import { healthWords, listenIn, processSocket } from '../store/socket.ts';
import { type Ingress, openServer, SUPERVISORS_INGRESS, serveIngress } from '../web/server.ts';
import type { Io } from './command.ts';
import type { Command } from './commands.ts';
import { WAITS_FOR_OPTIONS } from './healthcheck.ts';
import { loadSettings, openLog, type Settings, untilInterrupted } from './settings.ts';

export const run: Command<'run'> = async (given, io) => {
  // The Supervisor of Home Assistant sets it for an app.
  const isApp = Boolean(io.env.SUPERVISOR_TOKEN);
  try {
    const settings = await loadSettings(given, io);
    if (isApp) await dropRoot(settings.config.state_dir);
    await runDaemon(settings, io, isApp ? SUPERVISORS_INGRESS : null);
  } catch (err) {
    if (!isApp || !(err instanceof ConfigInvalid)) throw err;
    await waitForOptions(err, io);
  }
  return EXIT.fine;
};

async function runDaemon(settings: Settings, io: Io, ingress: Ingress | null): Promise<void> {
  const { config, path, warnings, notices } = settings;
  const logTail = new LogTail();
  const log = await openLog(settings, io, logTail);
  exitOnUnexpectedFaults(log);
  log.info({ version: about.version, config: path ?? 'environment only' }, 'heat2mqtt starts');
  for (const warning of warnings) log.warn(warning);
  for (const { message, ...notice } of notices) log.warn(notice, message);
  const daemon = await (config.fleet
    ? startFleetProcess(config.fleet, settings, log, io)
    : startHousehold(settings, { log, logTail, ingress }, io));
  const systemd = systemdNotifier(io.env, systemClock, log);
  await systemd.ready();
  await untilInterrupted(io);
  log.info('heat2mqtt stops');
  await Promise.all([systemd.stopping(), daemon.stop()]);
  log.info('heat2mqtt has stopped');
}

/** With the clock, the timers and the chance of this machine, and alone on its state directory. Rejects with already_running. */
export async function startHousehold(
  settings: Settings,
  outside: { readonly log: Log; readonly logTail: LogTail; readonly ingress: Ingress | null },
  io: Io,
): Promise<Daemon> {
  const { config, notices, scrubber } = settings;
  const { answer, giveUp } = await claimDirectory(config.state_dir, systemClock, outside.log);
  const daemon = await startDaemon({
    ...outside,
    config,
    notices,
    scrubber,
    clock: systemClock,
    random: Math.random,
    nextTick: ticksOf(cronTimes(config.usage.schedule, config.usage.timezone)),
    // The report is seldom wanted, and loaded then.
    async report() {
      const { reportText } = await import('./report.ts');
      return reportText(settings, io, 'This report comes from the running daemon.');
    },
  }).catch((err) => giveUp().then(() => Promise.reject(err)));
  answer(() => healthWords(daemon.isHealthy()));
  return { ...daemon, stop: () => daemon.stop().finally(giveUp) };
}

const WAIT_FOR_DATABASE_MS = 60_000;
const TRY_DATABASE_EVERY_MS = 3_000;

/** One process of several. Only a fleet loads what it needs of PostgreSQL. */
async function startFleetProcess(
  fleet: Fleet,
  { config, scrubber }: Settings,
  log: Log,
  { interrupted }: Io,
): Promise<Pick<Daemon, 'stop'>> {
  if (config.accounts.length > 0)
    log.warn('the accounts in the configuration are not used: those of a fleet are in its database');
  const { startFleet } = await import('../fleet/fleet.ts');
  const cron = cronTimes(config.usage.schedule, config.usage.timezone);
  const began = systemClock.monotonic();
  for (let reason = ''; ; ) {
    try {
      const machine = { clock: systemClock, random: Math.random, cron };
      const started = await startFleet({ ...machine, config, log, scrubber, fleet });
      const end = config.http === false ? await answerHealth(config.state_dir, started, log) : null;
      return { stop: () => started.stop().finally(end) };
    } catch (err) {
      // PostgreSQL may start later than its workers; whatever supervises this process tries again later still.
      const isOver = systemClock.monotonic() - began >= WAIT_FOR_DATABASE_MS;
      if (!(err instanceof Failure) || err.retry !== 'soon' || isOver) throw err;
      if (reason !== err.message) log.warn(safeWords(err), 'waits for the database of the fleet');
      reason = err.message;
      await systemClock.sleep(TRY_DATABASE_EVERY_MS, interrupted);
      if (interrupted.aborted) throw err;
    }
  }
}

/** `healthcheck` asks on a socket where HTTP is off. Resolves to the function that ends that. */
async function answerHealth(stateDir: string, { number, isHealthy }: FleetProcess, log: Log) {
  const words = () => healthWords(isHealthy());
  return listenIn(stateDir, processSocket(number), words).catch((err) => {
    log.debug({ err }, 'healthcheck cannot ask: no socket');
    return null;
  });
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

/** Within a Home Assistant app: a page that names the mistakes, instead of a restart in a loop. */
async function waitForOptions(invalid: ConfigInvalid, io: Io): Promise<void> {
  const { HEAT2MQTT_HTTP_LISTEN: listen = '0.0.0.0:8099', STATE_DIRECTORY: stateDirectory } = io.env;
  if (stateDirectory) await dropRoot(stateDirectory);
  const opened = await serveMistakes(invalid, listen, SUPERVISORS_INGRESS);
  io.err(`${invalid.message}\n${NEXT}\n`);
  // It ends with the app; the Supervisor starts it again with other options.
  await untilInterrupted(io);
  await Promise.all(opened.map((one) => one.stop()));
}

const NEXT = 'Correct them on the Configuration tab of this app, save, and press Restart.';

const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** `/healthz` on `listen` is fine, so that the Supervisor does not restart the app; the page is for Home Assistant only. */
export async function serveMistakes({ message }: ConfigInvalid, listen: string, ingress: Ingress) {
  const lines = message.split('\n');
  const items = lines.map((line) => `<li>${line.replace(/[&<>"]/g, (odd) => ESCAPED[odd] ?? odd)}</li>`);
  const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>heat2mqtt</title><h1>${WAITS_FOR_OPTIONS}</h1>
<p>${lines.length === 1 ? 'One of them is' : 'These are'} missing or wrong:</p><ul>${items.join('')}</ul><p>${NEXT}</p></html>
`;
  const health: RequestListener = ({ url }, response) => {
    response.writeHead(url === '/healthz' ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(`${WAITS_FOR_OPTIONS}\n`);
  };
  const mistakes: RequestListener = (_request, response) => {
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'self'",
      'cache-control': 'no-store',
    });
    response.end(page);
  };
  return Promise.all([
    openServer(listen, health, { clock: systemClock }),
    serveIngress(ingress, mistakes, systemClock),
  ]);
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
  const send = async (state: string) => {
    const failed = (err: unknown) =>
      log.error({ err, state }, 'systemd cannot be told; is systemd-notify installed?');
    if (env.NOTIFY_SOCKET) await notify(state).catch(failed);
  };
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
    ready: () => send('READY=1').then(() => void feedWatchdog()),
    stopping() {
      stopped.abort();
      return send('STOPPING=1');
    },
  };
}

const NOTIFY_TIMEOUT_MS = 5_000;

/** Sends a state such as READY=1. Node has no Unix datagram sockets, so the program of systemd has to do it. */
const systemdNotify =
  ({ NOTIFY_SOCKET, PATH }: Io['env']) =>
  (state: string): Promise<unknown> =>
    promisify(execFile)('systemd-notify', [state], {
      env: { NOTIFY_SOCKET, PATH },
      timeout: NOTIFY_TIMEOUT_MS,
    });
