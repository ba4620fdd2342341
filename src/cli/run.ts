// heat2mqtt run: loads the configuration, starts the daemon, and waits for a signal.
import { startDaemon } from '../daemon/daemon.ts';
import { startCron } from '../daemon/polling/schedule.ts';
import { about } from '../foundation/about.ts';
import { systemClock } from '../foundation/clock.ts';
import { EXIT } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Command } from './command.ts';
import { leaveRoot } from './leaveRoot.ts';
import { loadSettings, openLog } from './settings.ts';
import { openServiceManager } from './systemd.ts';

export const run: Command = async (given, io) => {
  const { config, scrubber, path } = await loadSettings(given, io);
  if (io.env.SUPERVISOR_TOKEN) await leaveRoot(config.state_dir);
  const log = await openLog(config.log, scrubber, io);
  dieLoudly(log);
  log.info({ version: about.version, config: path ?? 'environment only' }, 'heat2mqtt starts');
  const daemon = await startDaemon({
    config,
    clock: systemClock,
    log,
    scrubber,
    random: Math.random,
    startTicker: startCron,
  });
  const systemd = openServiceManager({ env: io.env, clock: systemClock, log });
  await systemd.ready();
  await new Promise<void>((resolve) => {
    if (io.interrupted.aborted) resolve();
    io.interrupted.addEventListener('abort', () => resolve());
  });
  log.info('heat2mqtt stops');
  await Promise.all([systemd.stopping(), daemon.stop()]);
  log.info('heat2mqtt has stopped');
  return EXIT.fine;
};

/** A fault that nobody expected must not leave a daemon that only seems to live. */
function dieLoudly(log: Log): void {
  for (const kind of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(kind, (err) => {
      log.fatal({ err }, 'unexpected fault: leaving, so that a supervisor can start anew');
      process.exit(EXIT.unexpected);
    });
  }
}
