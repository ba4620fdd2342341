// One request and its answer: routes, what a handler gets and gives, how bodies are read, and the files of the page.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Visitor } from './visitor.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly visitor: Visitor;
  /** The part of the path that the route calls `:name` or `:account`. */
  readonly named: string;
  readonly query: URLSearchParams;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

/** Gives `null` where it writes the answer itself. What it throws as a Failure is told, anything else is logged. */
export type Handler = (exchange: Exchange) => Reply | null | Promise<Reply | null>;

export type Route = readonly [
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  who: 'everyone' | 'signed in',
  handler: Handler,
];

/** The route of a request: `/request/:name` stands for any name. */
export function findRoute(routes: readonly Route[], method: string | undefined, path: string) {
  const parts = path.split('/');
  for (const [routeMethod, pattern, who, handler] of routes) {
    if (routeMethod !== (method === 'HEAD' ? 'GET' : method)) continue;
    const wanted = pattern.split('/');
    if (wanted.length !== parts.length) continue;
    if (!wanted.every((part, index) => part.startsWith(':') || part === parts[index])) continue;
    return { pattern, who, handler, named: parts[wanted.findIndex((part) => part.startsWith(':'))] ?? '' };
  }
  return null;
}

export const json = (value: unknown, status = 200, headers: OutgoingHttpHeaders = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});
export const refuse = (status: number, code: string, message: string, headers?: OutgoingHttpHeaders): Reply =>
  json({ error: { code, message } }, status, headers);
export const text = (body: string, type = 'text/plain', headers: OutgoingHttpHeaders = {}): Reply => ({
  headers: { 'content-type': `${type}; charset=utf-8`, ...headers },
  body,
});
export const download = (name: string, body: string, type: string): Reply =>
  text(body, type, { 'content-disposition': `attachment; filename="${name}"` });

const LARGEST_BODY_BYTES = 16_384;
export const TOO_LARGE = 'too_large';

/** Rejects with too_large, after the whole body has been taken: a visitor who still sends hears no answer. */
export async function bodyOf({ request }: Exchange): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= LARGEST_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes <= LARGEST_BODY_BYTES) return Buffer.concat(chunks);
  throw failure(TOO_LARGE, `At most ${LARGEST_BODY_BYTES} bytes are allowed.`, {
    exit: EXIT.usage,
    retry: 'never',
  });
}

/** The texts of a JSON object; nothing of anything else. */
export async function fieldsOf(exchange: Exchange): Promise<Readonly<Record<string, string | undefined>>> {
  const body = await bodyOf(exchange);
  try {
    const given: unknown = JSON.parse(body.toString('utf8'));
    const fields = typeof given === 'object' && given !== null ? Object.entries(given) : [];
    return Object.fromEntries(fields.filter(([, value]) => typeof value === 'string'));
  } catch {
    return {};
  }
}

/** Of the bundle, whose chunks lie in a folder beside it. */
const BUNDLED = new URL('../page/', import.meta.url);

/** A file of the page, read when it is first asked for. */
export const fileOf = (name: string, type: string, folder = BUNDLED): Handler =>
  unchanging(type, () => readFile(new URL(name, folder)));

/** What stays the same while the program runs: read once, compressed, and not sent to a browser that has it. */
export function unchanging(type: string, content: () => Promise<Uint8Array>, varies = ''): Handler {
  const read = async () => {
    const bytes = await content();
    const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    return { bytes, zipped: await promisify(gzip)(bytes), tag };
  };
  let known: Awaited<ReturnType<typeof read>> | undefined;
  return async ({ request }) => {
    known ??= await read();
    const headers = { etag: known.tag, 'cache-control': 'no-cache', vary: `accept-encoding${varies}` };
    if (request.headers['if-none-match'] === known.tag) return { status: 304, headers };
    const takesGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
    return {
      headers: {
        ...headers,
        'content-type': `${type}; charset=utf-8`,
        ...(takesGzip && { 'content-encoding': 'gzip' }),
      },
      body: takesGzip ? known.zipped : known.bytes,
    };
  };
}
