// Tells when everything retained has come that a subscription brings: MQTT has no word for it.
import type { Clock } from '../foundation/clock.ts';
import type { Connection } from './connection.ts';

/** Without a byte of a retained message for so long there is none left; while such bytes come, more may be on its way. */
const SILENCE_MS = 700;
const LISTEN_EVERY_MS = 50;

/** Resolves once nothing retained comes any more, which follows a subscription at once, or the signal aborts. Rejects with why the connection has ended. */
export async function untilSilent(connection: Connection, clock: Clock, signal?: AbortSignal): Promise<void> {
  let heardAt = clock.monotonic();
  let bytes = connection.retainedBytes;
  while (!signal?.aborted) {
    await connection.mustBeOpen();
    if (bytes !== connection.retainedBytes) heardAt = clock.monotonic();
    bytes = connection.retainedBytes;
    if (clock.monotonic() - heardAt >= SILENCE_MS) return;
    await clock.sleep(LISTEN_EVERY_MS, signal);
  }
}
