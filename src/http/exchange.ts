// One HTTP exchange, over Node's own client: redirects followed, the body unpacked, whole, and never too large.
// Not `fetch`: with thousands of requests it costs three times as much, and keeps its garbage for minutes.
import { request as askPlain, type IncomingMessage } from 'node:http';
import { request as askSecure } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  type Gunzip,
  type Inflate,
} from 'node:zlib';
import { EXIT, Failure } from '../foundation/failure.ts';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal?: AbortSignal | undefined;
  /** A redirect is the answer, and nobody else is asked. */
  readonly staysHere?: boolean;
}

/** As it has arrived: whole, and unpacked. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
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

/** The connection ended, and not as HTTP wants it. */
class NoReply extends Error {
  readonly code = 'ECONNRESET';
}

const LARGEST_REPLY_BYTES = 16 * 1024 * 1024;
const MOST_REDIRECTS = 5;
const UNPACK = new Map<string, () => Gunzip | Inflate | BrotliDecompress>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** Rejects with ReplyTooLarge, the reason of the signal, or the network's own error. */
export async function send(url: URL, request: HttpRequest): Promise<HttpResponse> {
  // Even if it went well: a body that has no length counts as whole when the signal ends the connection.
  return follow(url, request).finally(() => request.signal?.throwIfAborted());
}

async function follow(url: URL, request: HttpRequest): Promise<HttpResponse> {
  let asked = request;
  let at = url;
  for (let hops = 0; ; hops += 1) {
    const response = await begin(at, asked);
    const mayMove = !request.staysHere && hops < MOST_REDIRECTS;
    const next = mayMove ? redirection(response, at, asked) : null;
    if (next === null) {
      const body = await readWhole(response);
      return { status: response.statusCode ?? 0, headers: response.headers, body };
    }
    response.destroy();
    // Nobody else is given our key.
    const { authorization: _, ...others } = asked.headers;
    if (next.origin !== at.origin) asked = { ...asked, headers: others };
    at = next;
  }
}

function begin(url: URL, { method, headers, body, signal }: HttpRequest): Promise<IncomingMessage> {
  const ask = url.protocol === 'https:' ? askSecure : askPlain;
  return new Promise((resolve, reject) => {
    const outgoing = ask(url, {
      method,
      headers: { 'accept-encoding': 'gzip, br', ...headers },
      ...(signal ? { signal } : {}),
    });
    outgoing.on('response', resolve);
    outgoing.on('error', reject);
    // After an answer that changes the protocol nothing else would come, not even the signal's end.
    outgoing.on('close', () => reject(new NoReply('closed without an answer')));
    outgoing.end(body);
  });
}

/** Where to ask instead; a request with a body is repeated only where the answer says so. */
function redirection(
  { statusCode, headers }: IncomingMessage,
  from: URL,
  { method }: HttpRequest,
): URL | null {
  const isAsked = statusCode === 307 || statusCode === 308;
  const isMoved = method === 'GET' && (statusCode === 301 || statusCode === 302 || statusCode === 303);
  const { location } = headers;
  if (!(isAsked || isMoved) || location === undefined || !URL.canParse(location, from.href)) return null;
  const to = new URL(location, from);
  return to.protocol === 'https:' || to.protocol === from.protocol ? to : null;
}

function readWhole(response: IncomingMessage): Promise<Buffer> {
  const unpack = UNPACK.get((response.headers['content-encoding'] ?? '').trim().toLowerCase())?.();
  const stream: Readable = unpack ? pipeline(response, unpack, () => undefined) : response;
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    stream.on('data', (part: Buffer) => {
      size += part.length;
      if (size > LARGEST_REPLY_BYTES) stream.destroy(new ReplyTooLarge());
      else parts.push(part);
    });
    stream.on('end', () => resolve(Buffer.concat(parts, size)));
    stream.on('error', (err: NodeJS.ErrnoException) => {
      // Some pack nothing, and still say that it is packed.
      if (err.code === 'Z_BUF_ERROR' && unpack?.bytesWritten === 0) resolve(Buffer.alloc(0));
      else reject(err);
    });
  });
}
