// The HTTP server of all three services, and the faults that a test orders: what can go wrong on the way, and how each spoils a reply.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../foundation/clock.ts';
import { type Counters, type Exchange, Refusal, type Reply, type Route, refusal } from './exchange.ts';
import type { Fault, Switches } from './switches.ts';

interface ServerOptions {
  readonly clock: Clock;
  readonly port: number;
  readonly routes: readonly Route[];
  readonly switches: Switches;
  readonly counters: Counters;
  readonly onReply?: OnReply | undefined;
}

/** Told of each reply that the provider itself gave, before it is sent. */
export type OnReply = (exchange: Exchange, reply: Reply) => void;

const LONGEST_BODY_BYTES = 4 * 1024 * 1024;

/** Rejects with the original error when the port is taken. */
export async function listen(options: ServerOptions): Promise<{ port: number; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch((err: unknown) => {
      // A client that left in the middle hears nothing; a mistake in here must not look like a broken network.
      if (response.headersSent || response.destroyed) response.destroy();
      else response.writeHead(500).end(`mistake in the simulator: ${String(err)}`);
    });
  });
  // Node's own deadlines would end what a test wants to hang.
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: ServerOptions,
): Promise<void> {
  const { clock, routes, switches, counters } = options;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const exchange = await read(request, clock.now());
  const route = find(routes, exchange);
  const left = counters.enter(exchange, `${exchange.method} ${route?.template ?? exchange.path}`);
  response.once('close', left);
  const fault = switches.take(exchange);
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'slow') await clock.sleep(fault.ms, gone.signal);
  if (gone.signal.aborted) return;
  if (fault?.kind === 'reset') return void request.socket.destroy();
  const reply = fault?.kind === 'reply' ? { body: '', ...fault } : replyTo(exchange, routes, route);
  if (fault?.kind !== 'reply') options.onReply?.(exchange, reply);
  if (fault?.kind === 'late') await clock.sleep(fault.ms, gone.signal);
  send(response, reply, fault);
}

function find(routes: readonly Route[], exchange: Exchange) {
  for (const { method, template, reply } of routes) {
    const values = method === exchange.method ? valuesIn(template, exchange.path) : undefined;
    if (values) return { template, reply: (): Reply => reply(exchange, values) };
  }
  return undefined;
}

function replyTo({ path }: Exchange, routes: readonly Route[], route: ReturnType<typeof find>): Reply {
  try {
    if (route) return route.reply();
    const methods = routes.filter(({ template }) => valuesIn(template, path)).map(({ method }) => method);
    if (methods.length === 0) return refusal(404, 'No such path').reply;
    return { ...refusal(405, 'Method not allowed').reply, headers: { allow: methods.join(', ') } };
  } catch (err) {
    if (err instanceof Refusal) return err.reply;
    throw err;
  }
}

/** The values of a template's placeholders, or undefined when the path is another one. */
function valuesIn(template: string, path: string): Record<string, string> | undefined {
  const match = new RegExp(`^${template.replace(/:(\w+)/g, '(?<$1>[^/]*)')}$`).exec(path);
  if (!match) return undefined;
  const values = Object.entries(match.groups ?? {});
  return Object.fromEntries(values.map(([name, value]) => [name, decodeURIComponent(value)]));
}

async function read(request: IncomingMessage, at: number): Promise<Exchange> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= LONGEST_BODY_BYTES) chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const { method = 'GET', url = '/' } = request;
  const { pathname: path, searchParams: query } = new URL(url, 'http://simulator.invalid');
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  );
  return { method, path, query, headers, text, body: parsed(text, headers['content-type']), at };
}

function parsed(text: string, contentType = ''): unknown {
  if (contentType.startsWith('application/x-www-form-urlencoded'))
    return Object.fromEntries(new URLSearchParams(text));
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const JSON_TYPE = 'application/json;charset=UTF-8';

function send(response: ServerResponse, reply: Reply, fault: Fault | undefined): void {
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
