// How every request leaves the house: named, counted, and with a reply that cannot flood the memory.
import { about } from '../foundation/about.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';

export interface OutboundObserver {
  /** `ok`: an answer came, whatever its status. */
  onRequest(seen: { readonly ms: number; readonly ok: boolean }): void;
}

/** A body larger than any honest reply. */
export class ReplyTooLarge extends Failure {
  readonly code = 'reply_too_large';
  readonly exitCode = EXIT.provider;

  constructor() {
    super(`The reply is larger than ${LARGEST_REPLY_BYTES / 1024 / 1024} MiB and was refused.`, {
      retry: 'later',
      hint: 'Check the address in the configuration: this does not look like what should answer there.',
    });
  }
}

const LARGEST_REPLY_BYTES = 16 * 1024 * 1024;

/** A fetch whose response has arrived whole, at most 16 MiB after decompression. */
export function openOutbound(clock: Clock, observer: OutboundObserver): typeof fetch {
  return async (input, init) => {
    const start = clock.monotonic();
    let ok = false;
    try {
      const headers = new Headers(init?.headers);
      headers.set('user-agent', about.userAgent);
      const response = await fetch(input, { ...init, headers });
      const body = await readBounded(response);
      ok = true;
      const { status, statusText } = response;
      const mayHaveBody = status !== 204 && status !== 205 && status !== 304;
      return new Response(mayHaveBody ? body : null, { status, statusText, headers: response.headers });
    } finally {
      observer.onRequest({ ms: clock.monotonic() - start, ok });
    }
  };
}

async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.byteLength;
    // Leaving the loop cancels the body, and with it the connection.
    if (size > LARGEST_REPLY_BYTES) throw new ReplyTooLarge();
    parts.push(part);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
