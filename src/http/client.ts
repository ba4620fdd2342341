// The HTTP client for the issuer and the provider: follows redirects, unpacks the body, limits its size and its values, counts requests.
// Not the global `fetch`: measured at three times the cost of `node:http` per request, and with a thousand accounts it
// leaves 40 MB at each poll for the slow garbage collection.
import { request as askPlain, type IncomingMessage } from 'node:http';
import { type Agent, request as askSecure } from 'node:https';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { about } from '../foundation/about.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { excessIn, LARGEST_JSON_BYTES } from '../foundation/json.ts';
import { beforeTls } from '../foundation/tlsTrouble.ts';
import type { Trust } from './trust.ts';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal?: AbortSignal | undefined;
  /** Default: true. False: return redirects instead of following them. */
  readonly followRedirects?: boolean;
  /** It changes nothing: it is sent again where a connection that was kept alive turns out to be closed. */
  readonly onlyReads?: boolean;
}

/** A complete response; the body is unpacked. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export type Send = (url: URL, request: HttpRequest) => Promise<HttpResponse>;

/** A request hook: it may hold a request back, and is told what is answered. */
export interface Gate {
  /** Resolves once the request may be sent, to a signal that ends it early. */
  enter(): Promise<AbortSignal>;
  answered(response: HttpResponse): void;
}

/** The reply has more of something than any honest one. */
export class ReplyTooLarge extends Failure {
  /** Its content, in words. */
  readonly excess: string;

  constructor(excess: string, reply = 'reply') {
    super('reply_too_large', `The ${reply} has ${excess} and was refused.`, {
      exit: EXIT.provider,
      retry: 'later',
      hint: 'Check the address in the configuration: this does not look like what should answer there.',
    });
    this.excess = excess;
  }
}

const TOO_MANY_BYTES = `more than ${LARGEST_JSON_BYTES / 1024 / 1024} MiB`;
const FIRST_ROOM_BYTES = 64 * 1024;
const MOST_REDIRECTS = 5;
const CLOSED_BEFORE: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE']);
const UNPACK = new Map<string, () => Transform & { readonly bytesWritten: number }>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * `onRequest` is called after each request; `ok` means that a response came, whatever its status. `trust`: in place of what Node
 * trusts.
 */
export function createHttpClient(
  clock: Clock,
  onRequest: (request: { readonly ms: number; readonly ok: boolean }) => void = () => undefined,
  gate?: Gate,
  trust?: Trust,
) {
  /** Rejects with reply_too_large, ca_file_unusable, the reason of the signal, or the network's own error. */
  async function send(url: URL, request: HttpRequest): Promise<HttpResponse> {
    const signals = [request.signal, await gate?.enter()].filter((end) => end !== undefined);
    const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
    const start = clock.monotonic();
    let ok = false;
    try {
      const headers = { ...request.headers, 'user-agent': about.userAgent };
      // It is aborted after a success, too: an aborted response without a Content-Length looks complete.
      const response = await exchange(url, { ...request, headers, signal }, trust).finally(() =>
        signal?.throwIfAborted(),
      );
      ok = true;
      gate?.answered(response);
      return response;
    } finally {
      onRequest({ ms: clock.monotonic() - start, ok });
    }
  }

  /** The same as a `fetch`, for packages that need one: understands method, headers, a text body, signal and redirect. */
  const fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const { method = 'GET', headers, body, signal, redirect } = init;
    const response = await send(new URL(String(input)), {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      body: body == null ? null : String(body),
      signal: signal ?? undefined,
      followRedirects: redirect !== 'manual',
    });
    const { status } = response;
    const received = new Headers();
    // The body is unpacked already.
    for (const [name, value] of Object.entries(response.headers))
      if (name !== 'content-encoding') for (const each of [value ?? []].flat()) received.append(name, each);
    const mayHaveBody = status !== 204 && status !== 205 && status !== 304;
    return new Response(mayHaveBody ? new Uint8Array(response.body) : null, {
      // It refuses any beyond, which are trouble of the server as well.
      status: Math.min(status, 599),
      headers: received,
    });
  };
  return { send, fetch };
}

async function exchange(url: URL, request: HttpRequest, trust?: Trust): Promise<HttpResponse> {
  let at = url;
  for (let hops = 0; ; hops += 1) {
    const agent = at.protocol === 'https:' ? await trust?.() : undefined;
    const response = await begin(at, request, agent);
    const mayMove = request.followRedirects !== false && hops < MOST_REDIRECTS;
    const next = mayMove ? redirection(response, at, request) : null;
    if (next === null) {
      const body = await readWhole(response);
      return { status: response.statusCode ?? 0, headers: response.headers, body };
    }
    response.destroy();
    at = next;
  }
}

function begin(url: URL, request: HttpRequest, agent: Agent | undefined): Promise<IncomingMessage> {
  const { method, headers, body, signal, onlyReads } = request;
  const ask = url.protocol === 'https:' ? askSecure : askPlain;
  return new Promise((resolve, reject) => {
    const outgoing = ask(url, {
      method,
      headers: { 'accept-encoding': 'gzip, br', ...headers },
      ...(signal ? { signal } : {}),
      ...(agent ? { agent } : {}),
    });
    let isEncrypted = url.protocol !== 'https:';
    outgoing.on('socket', (socket) => {
      const encrypted = () => {
        isEncrypted = true;
      };
      if (outgoing.reusedSocket) encrypted();
      else socket.once('secureConnect', encrypted);
    });
    let hasAnswer = false;
    outgoing.on('response', (response) => {
      hasAnswer = true;
      resolve(response);
    });
    outgoing.on('error', (err: NodeJS.ErrnoException) => {
      // A process that was suspended hears of the other side's goodbye only with its next request. A new connection is never stale.
      const isStale = outgoing.reusedSocket && !hasAnswer && CLOSED_BEFORE.has(err.code);
      if (isStale && onlyReads) resolve(begin(url, request, agent));
      else reject(isEncrypted ? err : beforeTls(err));
    });
    // After a 101 Switching Protocols there is no other event, not even when the signal aborts.
    outgoing.on('close', () =>
      reject(Object.assign(new Error('closed without an answer'), { code: 'ECONNRESET' })),
    );
    outgoing.end(body);
  });
}

/**
 * The address to send the request to instead, or `null`. A POST is repeated for 307 and 308 only. A request with a body
 * or credentials stays at its origin.
 */
function redirection(
  { statusCode, headers }: IncomingMessage,
  from: URL,
  { method, headers: asked, body }: HttpRequest,
): URL | null {
  const keepsMethod = statusCode === 307 || statusCode === 308;
  const isMovedGet = method === 'GET' && (statusCode === 301 || statusCode === 302 || statusCode === 303);
  const { location } = headers;
  if (!(keepsMethod || isMovedGet) || location === undefined || !URL.canParse(location, from.href))
    return null;
  const to = new URL(location, from);
  const isPublic = body === null && asked.authorization === undefined;
  if (!isPublic) return to.origin === from.origin ? to : null;
  return to.protocol === 'https:' || to.protocol === from.protocol ? to : null;
}

/** Rejects with reply_too_large before anything has parsed it. */
async function readWhole(response: IncomingMessage): Promise<Buffer> {
  const body = await readBytes(response);
  const excess = excessIn(body);
  if (excess !== null) throw new ReplyTooLarge(excess);
  return body;
}

function readBytes(response: IncomingMessage): Promise<Buffer> {
  const unpack = UNPACK.get((response.headers['content-encoding'] ?? '').trim().toLowerCase())?.();
  const stream: Readable = unpack ? pipeline(response, unpack, () => undefined) : response;
  // Packed bytes count too: some of them unpack to nothing, without an end.
  let received = 0;
  response.on('data', (part: Buffer) => {
    received += part.length;
    if (received > LARGEST_JSON_BYTES) stream.destroy(new ReplyTooLarge(TOO_MANY_BYTES));
  });
  return new Promise((resolve, reject) => {
    // Parts are copied: one of a single byte would keep what the socket has read with it.
    let room: Buffer = Buffer.alloc(0);
    let size = 0;
    stream.on('data', (part: Buffer) => {
      if (size + part.length > LARGEST_JSON_BYTES) {
        stream.destroy(new ReplyTooLarge(TOO_MANY_BYTES));
        return;
      }
      room = withRoomFor(room, size, part.length);
      size += part.copy(room, size);
    });
    stream.on('end', () => resolve(room.subarray(0, size)));
    stream.on('error', (err: NodeJS.ErrnoException) => {
      // Some servers send an empty body with a Content-Encoding header.
      if (err.code === 'Z_BUF_ERROR' && unpack?.bytesWritten === 0) resolve(Buffer.alloc(0));
      else reject(err);
    });
  });
}

/** The same buffer, or one of at least twice the size that begins with the same bytes. */
function withRoomFor(room: Buffer, size: number, more: number): Buffer {
  if (size + more <= room.length) return room;
  const larger = Buffer.alloc(Math.max(size + more, 2 * room.length, FIRST_ROOM_BYTES));
  room.copy(larger, 0, 0, size);
  return larger;
}
