// The daemon's pulse: retries that are due, secrets that have changed, and states that change with the time of day.
import { needsAPerson } from '../../domain/health.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';
import type { AccountRuntime } from '../accounts/account.ts';
import type { Poller } from './poll.ts';

export interface HeartbeatParts {
  readonly accounts: readonly AccountRuntime[];
  readonly poller: Poller;
  readonly state: StateDirectory;
  readonly clock: Clock;
  readonly log: Log;
  readonly publishNews: () => void;
}

export interface Heartbeat {
  /** Epoch milliseconds of the last beat: proof that the loop is alive. */
  readonly lastBeatAt: number;
  stop(): Promise<void>;
}

const BEAT_MS = 5_000;
// Midnight, a reading growing late, requests_today: all may change without a poll.
const NEWS_EVERY_MS = 5 * 60_000;

export function startHeartbeat(parts: HeartbeatParts): Heartbeat {
  const { accounts, poller, state, clock, log, publishNews } = parts;
  const stopping = new AbortController();
  let lastBeatAt = clock.now();
  let lastNewsAt = clock.monotonic();
  let wasWritable = true;

  /** A login that was held back and would be tried now: the secret has changed. */
  async function someSecretChanged(): Promise<boolean> {
    for (const { upstream } of accounts) {
      const { state, nextAttemptAt } = upstream.session.status();
      if (!needsAPerson(state) || (nextAttemptAt !== null && nextAttemptAt <= clock.now())) continue;
      if ((await upstream.login.suspendedBy()) === null) return true;
    }
    return false;
  }

  /** A disk that was full may have space again. */
  async function tendState(): Promise<void> {
    await state.retry();
    const isWritable = state.fault === null;
    if (isWritable === wasWritable) return;
    wasWritable = isWritable;
    if (isWritable) log.info('the state directory can be written again');
    publishNews();
  }

  async function beat(): Promise<void> {
    await tendState();
    if (poller.retryIsDue()) {
      await poller.poll('failed');
    } else if (await someSecretChanged()) {
      log.info('a refused login may be tried again: the secret has changed');
      await poller.poll('all');
    }
    if (clock.monotonic() - lastNewsAt >= NEWS_EVERY_MS) {
      lastNewsAt = clock.monotonic();
      publishNews();
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(BEAT_MS, stopping.signal);
      lastBeatAt = clock.now();
      if (!stopping.signal.aborted) await beat().catch((err) => log.error({ err }, 'heartbeat fault'));
    }
  }

  const running = run();
  return {
    get lastBeatAt() {
      return lastBeatAt;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
