// How every request leaves the house: named, counted, and answered whole.
import { about } from '../foundation/about.ts';
import type { Clock } from '../foundation/clock.ts';
import { type HttpRequest, type HttpResponse, send as sendHttp } from './exchange.ts';

export interface OutboundObserver {
  /** `ok`: an answer came, whatever its status. */
  onRequest(seen: { readonly ms: number; readonly ok: boolean }): void;
}

export interface Outbound {
  send(url: URL, request: HttpRequest): Promise<HttpResponse>;
  /** For packages that want it. */
  readonly fetch: typeof fetch;
}

export function openOutbound(clock: Clock, observer: OutboundObserver): Outbound {
  async function send(url: URL, request: HttpRequest): Promise<HttpResponse> {
    const start = clock.monotonic();
    let ok = false;
    try {
      const headers = { ...request.headers, 'user-agent': about.userAgent };
      const arrived = await sendHttp(url, { ...request, headers });
      ok = true;
      return arrived;
    } finally {
      observer.onRequest({ ms: clock.monotonic() - start, ok });
    }
  }

  return {
    send,
    async fetch(input, init = {}) {
      const { method = 'GET', headers, body, signal, redirect } = init;
      const { status, ...arrived } = await send(new URL(String(input)), {
        method,
        headers: Object.fromEntries(new Headers(headers)),
        body: body == null ? null : String(body),
        signal: signal ?? undefined,
        staysHere: redirect === 'manual',
      });
      const given = Object.entries(arrived.headers).flatMap(([name, value]): [string, string][] =>
        // It has been unpacked, and may be shorter or longer now.
        value === undefined || name === 'content-encoding' ? [] : [[name, [value].flat().join(', ')]],
      );
      const mayHaveBody = status !== 204 && status !== 205 && status !== 304;
      return new Response(mayHaveBody ? new Uint8Array(arrived.body) : null, { status, headers: given });
    },
  };
}
