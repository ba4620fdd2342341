// Every five seconds: retries that are due, secrets that have changed, and what changes with the time of day.
import { needsAPerson } from '../../domain/health.ts';
import type { Account } from '../accounts/account.ts';
import type { Context } from '../context.ts';
import type { Poller } from './poller.ts';

export interface Heartbeat {
  /** Milliseconds since the last beat: proof that the event loop is alive. */
  ageMs(): number;
  stop(): Promise<void>;
}

const BEAT_MS = 5_000;
// Midnight, a reading growing late, requests_today: all may change without a poll.
const REPUBLISH_EVERY_MS = 5 * 60_000;

export function startHeartbeat(accounts: readonly Account[], poller: Poller, context: Context): Heartbeat {
  const { clock, log, state, signals } = context;
  const stopping = new AbortController();
  let lastBeatAt = clock.monotonic();
  let lastRepublishAt = lastBeatAt;
  let wasWritable = true;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(BEAT_MS, stopping.signal);
      lastBeatAt = clock.monotonic();
      // One that fails does not keep the others from their turn. None waits for a poll: a first history takes minutes.
      for (const step of [retryState, pollAgain, republish]) {
        if (stopping.signal.aborted) return;
        await step().catch((err) => log.error({ err }, 'heartbeat fault'));
      }
    }
  }

  /** A disk that was full may have space again. */
  async function retryState(): Promise<void> {
    await state.retry();
    const isWritable = state.fault === null;
    if (isWritable === wasWritable) return;
    wasWritable = isWritable;
    if (isWritable) log.info('the state directory can be written again');
    publishAll();
  }

  async function pollAgain(): Promise<void> {
    if (poller.isPolling) return;
    poller.retry();
    if (poller.isPolling || !(await someSecretChanged())) return;
    log.info('trying a suspended login again: the secret has changed');
    void poller.poll();
  }

  /** A login that was suspended and would be tried now. */
  async function someSecretChanged(): Promise<boolean> {
    for (const { upstream } of accounts) {
      const { state, nextAttemptAt, accessExpiresAt } = upstream.session.status();
      // With tokens it is a refresh that was refused, and it is tried again by itself.
      if (!needsAPerson(state) || accessExpiresAt !== null) continue;
      if (nextAttemptAt !== null && nextAttemptAt <= clock.now()) continue;
      if ((await upstream.login.suspendedBy()) === null) return true;
    }
    return false;
  }

  async function republish(): Promise<void> {
    const now = clock.monotonic();
    if (now - lastRepublishAt < REPUBLISH_EVERY_MS) return;
    lastRepublishAt = now;
    publishAll();
  }

  function publishAll(): void {
    signals.emit('bridgeChanged');
    for (const { id } of accounts) signals.emit('accountChanged', id);
  }

  const running = run();
  return {
    ageMs: () => clock.monotonic() - lastBeatAt,
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}
