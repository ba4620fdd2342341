// Every five seconds: retries that are due, secrets that have changed, sessions that a command has brought, and what
// changes with the time of day.
import { needsAPerson } from '../../domain/health.ts';
import type { Context } from '../context.ts';
import type { Poller } from './poller.ts';

export type Heartbeat = ReturnType<typeof startHeartbeat>;

const BEAT_MS = 5_000;
const TAKE_SESSIONS_EVERY_MS = 20_000;
// Midnight, a reading growing late, requests_today: all may change without a poll.
const REPUBLISH_EVERY_MS = 5 * 60_000;

export function startHeartbeat(poller: Poller, { accounts, clock, log, state, signals }: Context) {
  const stopping = new AbortController();
  let lastBeatAt = clock.monotonic();
  let wasWritable = true;
  // One that fails does not keep the others from their turn. None waits for a poll: a first history takes minutes.
  const steps = [
    { run: retryState, everyMs: 0, doneAt: lastBeatAt },
    { run: takeSessions, everyMs: TAKE_SESSIONS_EVERY_MS, doneAt: lastBeatAt },
    { run: pollAgain, everyMs: 0, doneAt: lastBeatAt },
    { run: publishAll, everyMs: REPUBLISH_EVERY_MS, doneAt: lastBeatAt },
  ];

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(BEAT_MS, stopping.signal);
      lastBeatAt = clock.monotonic();
      for (const step of steps) {
        if (stopping.signal.aborted) return;
        if (clock.monotonic() - step.doneAt < step.everyMs) continue;
        step.doneAt = clock.monotonic();
        await step.run().catch((err) => log.error({ err }, 'heartbeat fault'));
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
    await publishAll();
  }

  async function pollAgain(): Promise<void> {
    if (poller.isPolling) return;
    poller.retry();
    for (const { id, upstream } of accounts) {
      if (!upstream.session.isSuspended || (await upstream.login.suspendedBy()) !== null) continue;
      poller.retryNow(id, true);
      if (poller.isPolling) log.info({ account: id }, 'trying a suspended login again');
    }
  }

  /** `heat2mqtt login` may have been run. */
  async function takeSessions(): Promise<void> {
    for (const { id, upstream } of accounts) {
      const wasNeeded = needsAPerson(upstream.session.status().state);
      if (!(await upstream.session.reload())) continue;
      log.info({ account: id }, 'took the session that another heat2mqtt has signed in for');
      poller.retryNow(id, wasNeeded);
    }
  }

  async function publishAll(): Promise<void> {
    signals.emit('bridgeChanged');
    for (const { id } of accounts) signals.emit('accountChanged', id);
  }

  const running = run();
  return {
    /** Milliseconds since the last beat: proof that the event loop is alive. */
    ageMs: () => clock.monotonic() - lastBeatAt,
    stop(): Promise<void> {
      stopping.abort();
      return running;
    },
  };
}
