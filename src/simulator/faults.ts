// What can go wrong on the way: the kinds of faults, and how each spoils a reply on the wire.
import type { ServerResponse } from 'node:http';
import type { Reply } from './exchange.ts';

export type Fault =
  /** This reply in place of the real one. */
  | ({ readonly kind: 'reply' } & Omit<Reply, 'body'> & Partial<Reply>)
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
  | { readonly kind: 'late'; readonly ms: number };

const JSON_TYPE = 'application/json;charset=UTF-8';

export function send(response: ServerResponse, reply: Reply, fault: Fault | undefined): void {
  const body = fault?.kind === 'change' ? fault.change(structuredClone(reply.body)) : reply.body;
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const bytes = Buffer.from(isRaw ? body : JSON.stringify(body));
  const half = bytes.subarray(0, Math.floor(bytes.length / 2));
  const length = fault?.kind === 'truncated' ? half.length : bytes.length;
  const head = { 'content-type': JSON_TYPE, 'cache-control': 'no-store', 'content-length': length };
  if (fault?.kind === 'reply_lost') return void response.destroy();
  response.writeHead(reply.status, { ...head, ...reply.headers });
  if (fault?.kind === 'reset_mid_body') response.write(half, () => response.destroy());
  else response.end(fault?.kind === 'truncated' ? half : bytes);
}
