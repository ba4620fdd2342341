// Tells when everything retained has come that a subscription brings: MQTT has no word for it.
import type { Clock } from '../foundation/clock.ts';
import type { Connection } from './connection.ts';

/** Without a byte of a retained message for so long there is none left; while such bytes come, more may be on its way. */
const SILENCE_MS = 700;
const LISTEN_EVERY_MS = 50;

interface Listening {
  readonly isDone?: () => boolean;
  readonly longestMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Resolves once nothing retained comes any more, since it follows a subscription at once, or it is done, or after the longest time, or
 * the signal aborts. Rejects with why the connection has ended.
 */
export async function untilSilent(
  connection: Connection,
  clock: Clock,
  { isDone = () => false, longestMs = Number.POSITIVE_INFINITY, signal }: Listening = {},
): Promise<void> {
  const began = clock.monotonic();
  let heardAt = began;
  let bytes = connection.retainedBytes;
  while (!isDone() && !signal?.aborted) {
    await connection.mustBeOpen();
    const now = clock.monotonic();
    if (bytes !== connection.retainedBytes) heardAt = now;
    bytes = connection.retainedBytes;
    if (now - heardAt >= SILENCE_MS || now - began >= longestMs) return;
    await clock.sleep(LISTEN_EVERY_MS, signal);
  }
}
