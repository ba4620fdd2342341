// How every request leaves the house: named, counted, and with a reply that cannot flood the memory.
import { about } from '../foundation/about.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Send } from '../provider/request.ts';

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
// Leaves out a byte order mark, before which JSON would not be understood.
const UTF8 = new TextDecoder();

/** Responses arrive whole, at most 16 MiB after decompression. */
export interface Outbound {
  readonly send: Send;
  /** For packages that want a Response of their own. */
  readonly fetch: typeof fetch;
}

export function openOutbound(clock: Clock, observer: OutboundObserver): Outbound {
  async function arrive(input: Parameters<typeof fetch>[0], init: RequestInit) {
    const start = clock.monotonic();
    let ok = false;
    try {
      const response = await fetch(input, init);
      const body = await readBounded(response);
      ok = true;
      return { response, body };
    } finally {
      observer.onRequest({ ms: clock.monotonic() - start, ok });
    }
  }

  return {
    async send(url, init) {
      const headers = { ...init.headers, 'user-agent': about.userAgent };
      const { response, body } = await arrive(url, { ...init, headers });
      const { ok, status } = response;
      return { ok, status, headers: response.headers, text: async () => UTF8.decode(body) };
    },
    async fetch(input, init) {
      const headers = new Headers(init?.headers);
      headers.set('user-agent', about.userAgent);
      const { response, body } = await arrive(input, { ...init, headers });
      const { status, statusText } = response;
      const mayHaveBody = status !== 204 && status !== 205 && status !== 304;
      return new Response(mayHaveBody ? body : null, { status, statusText, headers: response.headers });
    },
  };
}

async function readBounded({ body }: Response): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  // Step by step: `for await` costs twice as much, with each request of each account.
  const reader = body?.getReader();
  for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) {
    size += step.value.byteLength;
    if (size > LARGEST_REPLY_BYTES) {
      await reader?.cancel();
      throw new ReplyTooLarge();
    }
    parts.push(step.value);
  }
  return Buffer.concat(parts, size);
}
