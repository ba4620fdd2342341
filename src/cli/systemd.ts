// Tells systemd how the program is: by the program of systemd, since Node has no Unix datagram sockets.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import type { Io } from './command.ts';

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
    /** systemd considers the program started from now on, and its watchdog is fed. */
    ready: () => send('READY=1').then(() => void feedWatchdog()),
    stopping() {
      stopped.abort();
      return send('STOPPING=1');
    },
  };
}

const NOTIFY_TIMEOUT_MS = 5_000;

/** Sends a state such as READY=1. */
const systemdNotify =
  ({ NOTIFY_SOCKET, PATH }: Io['env']) =>
  (state: string): Promise<unknown> =>
    promisify(execFile)('systemd-notify', [state], {
      env: { NOTIFY_SOCKET, PATH },
      timeout: NOTIFY_TIMEOUT_MS,
    });
