// The first minutes: what the bridge is doing before its first poll has ended, which nothing else on the page shows.
import type { PayloadByTopic } from '../../publication/payloads/payloads.ts';

type Health = PayloadByTopic['bridge/health'];

interface Beginning {
  readonly step: 'signingIn' | 'looking' | 'reading';
  /** Days of the history. */
  readonly done: number;
  readonly all: number;
}

/** Days of the history of all meters that are read for the first time. */
export const daysOfHistory = (progress: Health['progress']) => ({
  done: progress.reduce((sum, { days_read }) => sum + days_read, 0),
  all: progress.reduce((sum, { days_total }) => sum + days_total, 0),
});

/** `null`: a poll has ended well, something is wrong and told elsewhere, or nothing is polled. */
export function beginningOf(
  health: Pick<Health, 'state' | 'reasons' | 'auth' | 'progress' | 'last_success_at'>,
): Beginning | null {
  const { state, reasons, auth, progress, last_success_at } = health;
  const sessions = Object.values(auth);
  if (state !== 'ok' || reasons.length > 0 || last_success_at !== null || sessions.length === 0) return null;
  const days = daysOfHistory(progress);
  if (progress.length > 0) return { step: 'reading', ...days };
  const isSignedIn = sessions.some((session) => session.state === 'ok' && session.access_expires_at !== null);
  return { step: isSignedIn ? 'looking' : 'signingIn', ...days };
}
