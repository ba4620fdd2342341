// The first minutes: what the bridge is doing before its first poll has ended, which nothing else on the page shows.
import type { PayloadByTopic } from '../../publication/payloads/payloads.ts';

type Health = PayloadByTopic['bridge/health'];

export interface Beginning {
  readonly step: 'signingIn' | 'looking' | 'reading';
  /** Days of the history. */
  readonly done: number;
  readonly all: number;
}

/** `null`: a poll has ended well, something is wrong and told elsewhere, or nothing is polled. */
export function beginningOf(
  health: Pick<Health, 'state' | 'reasons' | 'auth' | 'progress' | 'last_success_at'>,
): Beginning | null {
  const { state, reasons, auth, progress, last_success_at } = health;
  const sessions = Object.values(auth);
  if (state !== 'ok' || reasons.length > 0 || last_success_at !== null || sessions.length === 0) return null;
  const sum = (of: 'days_read' | 'days_total') => progress.reduce((all, one) => all + one[of], 0);
  const days = { done: sum('days_read'), all: sum('days_total') };
  if (progress.length > 0) return { step: 'reading', ...days };
  const isSignedIn = sessions.some((one) => one.state === 'ok' && one.access_expires_at !== null);
  return { step: isSignedIn ? 'looking' : 'signingIn', ...days };
}
