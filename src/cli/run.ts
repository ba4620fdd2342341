// heat2mqtt run: loads the configuration, starts the daemon, and waits for a signal. Under systemd it reports its state.
import { ConfigInvalid } from '../config/faults.ts';
import type { Fleet } from '../config/schema.ts';
import { type Daemon, startDaemon } from '../daemon/daemon.ts';
import { cronTimes, ticksOf } from '../engine/schedule.ts';
import type { FleetProcess } from '../fleet/fleet.ts';
import { about } from '../foundation/about.ts';
import { systemClock } from '../foundation/clock.ts';
import { EXIT, Failure, safeWords } from '../foundation/failure.ts';
import { type Log, LogTail } from '../foundation/log.ts';
import { ClaimedDirectory } from '../store/locks.ts';
import { healthWords, listenIn, processSocket } from '../store/socket.ts';
import { type Ingress, SUPERVISORS_INGRESS } from '../web/server.ts';
import { dropRoot, waitForOptions } from './app.ts';
import type { Io } from './command.ts';
import type { Command } from './commands.ts';
import { loadSettings, openLog, type Settings, untilInterrupted } from './settings.ts';
import { systemdNotifier } from './systemd.ts';

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

/** It uses this machine's clock, timers and chance, and is alone on its state directory. Rejects with already_running. */
export async function startHousehold(
  settings: Settings,
  outside: { readonly log: Log; readonly logTail: LogTail; readonly ingress: Ingress | null },
  io: Io,
): Promise<Daemon> {
  const { config, notices, scrubber } = settings;
  const claimed = await ClaimedDirectory.claim(config.state_dir, systemClock, outside.log);
  const daemon = await startDaemon({
    ...outside,
    config,
    notices,
    scrubber,
    clock: systemClock,
    random: Math.random,
    nextTick: ticksOf(cronTimes(config.usage.schedule, config.usage.timezone)),
    // The report is seldom wanted, and loaded then.
    async report(health) {
      const { healthLines, reportText } = await import('./report.ts');
      return reportText(settings, io, healthLines(health));
    },
  }).catch((err) => claimed.giveUp().then(() => Promise.reject(err)));
  claimed.answer(() => healthWords(daemon.isHealthy()));
  const stopping = new AbortController();
  const guarding = guardClaim(claimed, stopping.signal, outside.log);
  async function stop(): Promise<void> {
    stopping.abort();
    await daemon.stop().finally(() => guarding.then(() => claimed.giveUp()));
  }
  return { ...daemon, stop };
}

const LOOK_AT_CLAIM_EVERY_MS = 20_000;

/** The state directory may be deleted, or moved away, under the running daemon. */
async function guardClaim(claimed: ClaimedDirectory, stopping: AbortSignal, log: Log): Promise<void> {
  while (!stopping.aborted) {
    await systemClock.sleep(LOOK_AT_CLAIM_EVERY_MS, stopping);
    if (stopping.aborted) return;
    await claimed.claimAgain().catch((err) => {
      if (stopping.aborted) return;
      if (!(err instanceof Failure) || err.code !== 'already_running')
        return log.warn({ err }, 'it cannot be told whether the state directory is still ours');
      log.fatal({ err }, 'another heat2mqtt has the state directory by now: exiting');
      // A graceful end would write into what is the other one's.
      process.exit(EXIT.usage);
    });
  }
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
      const end = await answerHealth(config.state_dir, started, log);
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

/** `healthcheck` asks on a socket where HTTP is off, or its port is another program's. Resolves to the function that ends that. */
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
