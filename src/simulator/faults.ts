// What can go wrong on the way: the kinds of faults, and how each spoils a reply on the wire.
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import type { Reply } from './exchange.ts';

export type Fault =
  /** This reply in place of the real one; a string goes out as it is. */
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Record<string, string>;
    }
  /** The real reply, its JSON changed. */
  | { readonly kind: 'change'; readonly change: (body: unknown) => unknown }
  /** Half of the real reply, as if that were all. */
  | { readonly kind: 'truncated' }
  /** Half of the real reply, then the connection breaks. */
  | { readonly kind: 'reset_mid_body' }
  /** The connection breaks before anything is done. */
  | { readonly kind: 'reset' }
  /** The request is carried out, its reply never arrives. */
  | { readonly kind: 'reply_lost' }
  /** Nothing ever comes. */
  | { readonly kind: 'hang' }
  /** The real reply, after that long on the simulator's clock. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** The request is carried out at once, also when the client leaves; the reply comes so much later. */
  | { readonly kind: 'late'; readonly ms: number }
  /** JSON of more than 16 MiB. */
  | { readonly kind: 'oversized'; readonly megabytes?: number }
  /** Half a megabyte on the wire, 512 MiB unpacked. */
  | { readonly kind: 'gzip_bomb' };

const MEGABYTE = 1024 * 1024;
const BOMB_MEMBERS = 32;
const JSON_TYPE = 'application/json;charset=UTF-8';

export async function send(response: ServerResponse, reply: Reply, fault: Fault | undefined): Promise<void> {
  const { status, headers = {} } = reply;
  const text = written(fault?.kind === 'change' ? fault.change(structuredClone(reply.body)) : reply.body);
  const bytes = Buffer.from(text, 'utf8');
  const head = { 'content-type': JSON_TYPE, 'cache-control': 'no-store', ...headers };
  const half = bytes.subarray(0, Math.floor(bytes.length / 2));
  switch (fault?.kind) {
    case 'reply_lost':
      response.destroy();
      return;
    case 'truncated':
      response.writeHead(status, head).end(half);
      return;
    case 'reset_mid_body':
      response.writeHead(status, { ...head, 'content-length': bytes.length });
      response.write(half, () => response.destroy());
      return;
    case 'oversized':
      await pipeline(oversized(fault.megabytes ?? 17), response.writeHead(status, head));
      return;
    case 'gzip_bomb':
      sendBomb(response.writeHead(status, { ...head, 'content-encoding': 'gzip' }));
      return;
    default:
      response.writeHead(status, { ...head, 'content-length': bytes.length }).end(bytes);
  }
}

function written(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function* oversized(megabytes: number): Generator<Buffer> {
  const padding = Buffer.alloc(MEGABYTE, 'x');
  yield Buffer.from('{"padding":"');
  for (let sent = 0; sent < megabytes; sent++) yield padding;
  yield Buffer.from('"}');
}

/** Many members one after the other are one valid stream. */
function sendBomb(response: ServerResponse): void {
  const member = gzipSync(Buffer.alloc(16 * MEGABYTE, ' '));
  response.end(Buffer.concat(Array.from({ length: BOMB_MEMBERS }, () => member)));
}
