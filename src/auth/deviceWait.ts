// The wait until a person has agreed on another device (RFC 8628 3.5): on our own clock, since openid-client waits on timers of its own.
import type { Clock } from '../foundation/clock.ts';

const SLOW_DOWN_SECONDS = 5;

/** Asks every `interval` seconds until the answer is another one than "not yet". Rejects when the signal aborts. */
export async function untilAgreed<T>(
  ask: () => Promise<T>,
  interval: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<T> {
  let seconds = interval;
  let askedToWait = 0;
  for (;;) {
    await clock.sleep(Math.max(seconds, askedToWait) * 1000, signal);
    signal.throwIfAborted();
    try {
      return await ask();
    } catch (err) {
      const { error, response, cause } = Object(err);
      const answer: unknown = response ?? cause;
      // The header was brought within reason when the answer came in.
      askedToWait = answer instanceof Response ? Number(answer.headers.get('retry-after')) : 0;
      const isBusy = answer instanceof Response && answer.status === 503 && askedToWait > 0;
      if (error === 'slow_down') seconds += SLOW_DOWN_SECONDS;
      else if (error !== 'authorization_pending' && !isBusy) throw err;
    }
  }
}
