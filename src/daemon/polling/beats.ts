// Periodic work beside the turns of the accounts: a disk that was full, sessions that a command has brought, logins that
// may be tried again, and what changes with the time of day.
import { needsAPerson } from '../../domain/health.ts';
import type { Context } from '../context.ts';
import type { Beat, Household } from './household.ts';

const WATCH_EVERY_MS = 5_000;
const TAKE_SESSIONS_EVERY_MS = 20_000;
// Midnight, a reading growing late, requests_today: all may change without a poll.
const REPUBLISH_EVERY_MS = 5 * 60_000;
// A time service corrects a running clock by less.
const CLOCK_STEP_MS = 60_000;

/** None of them waits for a poll: a first history takes minutes. */
export function beatsOf(
  household: Household,
  { accounts, clock, log, state, signals }: Context,
): readonly Beat[] {
  let wasWritable = true;
  let offsetBefore = clock.now() - clock.monotonic();

  /** A disk that was full may have space again. */
  async function retryState(): Promise<void> {
    await state.retry();
    const isWritable = state.fault === null;
    if (isWritable === wasWritable) return;
    wasWritable = isWritable;
    if (isWritable) log.info('the state directory can be written again');
    await publishAll();
  }

  /** The next poll and late days are told by the clock as it is now. */
  async function watchClock(): Promise<void> {
    const offset = clock.now() - clock.monotonic();
    if (Math.abs(offset - offsetBefore) < CLOCK_STEP_MS) return;
    offsetBefore = offset;
    await publishAll();
  }

  async function tryLoginsAgain(): Promise<void> {
    for (const { id, upstream } of accounts) {
      // The poll under way tries it.
      if (household.isPolling(id) || !upstream.session.isSuspended) continue;
      if ((await upstream.login.suspendedBy()) !== null) continue;
      if (household.pollSoon(id, true)) log.info({ account: id }, 'trying a suspended login again');
    }
  }

  /** `heat2mqtt login` may have been run. */
  async function takeSessions(): Promise<void> {
    for (const { id, upstream } of accounts) {
      const wasNeeded = needsAPerson(upstream.session.status().state);
      if (!(await upstream.session.reload())) continue;
      log.info({ account: id }, 'took the session that another heat2mqtt has signed in for');
      household.pollSoon(id, wasNeeded);
    }
  }

  async function publishAll(): Promise<void> {
    signals.emit('bridgeChanged');
    for (const { id } of accounts) signals.emit('accountChanged', id);
  }

  return [
    { everyMs: WATCH_EVERY_MS, run: retryState },
    { everyMs: WATCH_EVERY_MS, run: watchClock },
    { everyMs: TAKE_SESSIONS_EVERY_MS, run: takeSessions },
    { everyMs: WATCH_EVERY_MS, run: tryLoginsAgain },
    { everyMs: REPUBLISH_EVERY_MS, run: publishAll },
  ];
}
