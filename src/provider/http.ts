// One HTTP exchange, over Node's own client: redirects followed, the body unpacked, whole, and never too large.
// Not `fetch`: with thousands of requests it costs three times as much, and keeps its garbage for minutes.
import { request as askPlain, type IncomingMessage } from 'node:http';
import { request as askSecure } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { EXIT, Failure } from '../foundation/failure.ts';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal?: AbortSignal | undefined;
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

const LARGEST_REPLY_BYTES = 16 * 1024 * 1024;
const MOST_REDIRECTS = 5;
const UNPACK: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Rejects with ReplyTooLarge, the reason of the signal, or the network's own error. */
export async function send(url: URL, request: HttpRequest): Promise<HttpResponse> {
  return follow(url, request).catch((err) => {
    throw request.signal?.aborted ? request.signal.reason : err;
  });
}

async function follow(url: URL, request: HttpRequest): Promise<HttpResponse> {
  let asked = request;
  let at = url;
  for (let hops = 0; ; hops += 1) {
    const response = await begin(at, asked);
    const next = hops < MOST_REDIRECTS ? redirection(response, at, asked) : null;
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
      headers: { 'accept-encoding': 'gzip, deflate, br', ...headers },
      ...(signal ? { signal } : {}),
    });
    outgoing.on('response', resolve);
    outgoing.on('error', reject);
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
  const unpack = UNPACK[response.headers['content-encoding'] ?? ''];
  const stream: Readable = unpack
    ? (pipeline(response, unpack(), () => undefined) as unknown as Readable)
    : response;
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    stream.on('data', (part: Buffer) => {
      size += part.length;
      if (size > LARGEST_REPLY_BYTES) stream.destroy(new ReplyTooLarge());
      else parts.push(part);
    });
    stream.on('end', () => resolve(Buffer.concat(parts, size)));
    stream.on('error', reject);
  });
}
