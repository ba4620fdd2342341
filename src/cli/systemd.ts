// What systemd is told: that we are ready, alive, and stopping. Without systemd, nothing at all.
import { execFile } from 'node:child_process';
import type { Clock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';

export interface ServiceManager {
  /** From now on systemd takes the start for done, and hears of us often enough for its watchdog. */
  ready(): Promise<void>;
  /** Resolves when systemd has been told. */
  stopping(): Promise<void>;
}

export interface ServiceManagerParts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells systemd these words, such as READY=1. */
  readonly tell?: (words: string) => Promise<void>;
}

/** Node has no datagram sockets of Unix, so that systemd's own messenger has to go. */
export function openServiceManager({
  env,
  clock,
  log,
  tell = messenger(env),
}: ServiceManagerParts): ServiceManager {
  const over = new AbortController();
  if (!env.NOTIFY_SOCKET) return { ready: async () => undefined, stopping: async () => undefined };

  async function say(words: string): Promise<void> {
    await tell(words).catch((err) =>
      log.error({ err, words }, 'systemd cannot be told; is systemd-notify installed?'),
    );
  }
  /** Comes of a timer: when the event loop stands still, nothing is said. */
  async function keepAlive(): Promise<void> {
    const patienceMs = Number(env.WATCHDOG_USEC) / 1000;
    while (patienceMs > 0 && !over.signal.aborted) {
      await clock.sleep(patienceMs / 3, over.signal);
      if (!over.signal.aborted) await say('WATCHDOG=1');
    }
  }
  return {
    async ready() {
      await say('READY=1');
      void keepAlive();
    },
    async stopping() {
      over.abort();
      await say('STOPPING=1');
    },
  };
}

const LONGEST_WAY_MS = 5_000;

function messenger({ NOTIFY_SOCKET, PATH }: ServiceManagerParts['env']) {
  return (words: string) =>
    new Promise<void>((resolve, reject) => {
      const options = { env: { NOTIFY_SOCKET, PATH }, timeout: LONGEST_WAY_MS };
      execFile('systemd-notify', [words], options, (err) => (err ? reject(err) : resolve()));
    });
}
