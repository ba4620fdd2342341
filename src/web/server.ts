// An HTTP server that no visitor fills: each connection gets one answer at a time, and each address has so many connections.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { splitHostAndPort } from '../config/sections/values.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { networkOf, withoutPrefix } from './addresses.ts';

/** The address of the HTTP server is taken, or not one of this machine. */
const listenFailed = (listen: string, cause: unknown) =>
  failure(
    'listen_failed',
    `Cannot listen on ${listen} (${(cause as NodeJS.ErrnoException).code ?? 'unknown error'}).`,
    {
      exit: EXIT.unexpected,
      retry: 'never',
      hint: 'Choose another address in http.listen, or switch it off with http: false.',
      cause,
    },
  );

export interface Listening {
  readonly port: number;
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly clock: Clock;
  /** Whether anything from this address is answered. */
  readonly admits?: (address: string) => boolean;
  /** Whether many visitors share this address: only the bound of all connections holds for it. */
  readonly isShared?: (address: string) => boolean;
  readonly limits?: Partial<typeof LIMITS>;
}

const LIMITS = {
  /** Connections from one address, and all of them. */
  each: 32,
  all: 512,
  /** A request has arrived whole by then. */
  requestMs: 10_000,
  /** How often that is looked at. */
  checkMs: 1_000,
  /** A visitor who takes nothing of an answer for so long is cut off. */
  unreadMs: 20_000,
};
// A new connection has had no time to ask.
const FRESH_MS = 1_000;
// Few requests fit into that, so that few are read before the first one is answered.
const SLICE_BYTES = 256;
const TURNS_BETWEEN = 8;
/** What watches the program is answered when there are too many connections, too. */
const VITAL = /^\/(healthz|readyz)(\?|$)/;

/** `address` is `host:port`. Rejects with listen_failed. */
export async function openServer(
  address: string,
  answer: RequestListener,
  { clock, admits = () => true, isShared = () => false, limits }: ServerOptions,
): Promise<Listening> {
  const { each, all, requestMs, checkMs, unreadMs } = { ...LIMITS, ...limits };
  const inTurn = turns();
  // In the order in which they came.
  const open = new Map<Socket, Connection>();
  const server = createServer({
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
  });
  server.on('connection', (socket) => {
    const from = withoutPrefix(socket.remoteAddress ?? '');
    if (!admits(from)) return void socket.destroy();
    const connection = new Connection(socket, networkOf(from), clock.monotonic(), { answer, inTurn });
    open.set(socket, connection);
    socket.once('close', () => open.delete(socket));
    const others = [...open.values()];
    const same = isShared(from) ? [] : others.filter(({ network }) => network === connection.network);
    const crowd = same.length > each ? same : others.length > all ? others : [];
    if (crowd.length === 0) return;
    const settled = crowd.filter(({ since }) => clock.monotonic() - since >= FRESH_MS);
    const leaves = settled.find(({ isIdle }) => isIdle) ?? settled.find(({ isGreedy }) => isGreedy);
    if (leaves !== undefined) leaves.end();
    else if (others.length > all) connection.end();
    else connection.isExtra = true;
  });
  server.on('request', (request, response) => open.get(request.socket)?.add(request, response));
  server.timeout = unreadMs;
  server.on('timeout', (socket) => {
    const connection = open.get(socket);
    if (connection?.isIdle || connection?.isUnread) connection.end();
  });
  await listen(server, address);
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function listen(server: Server, address: string): Promise<void> {
  const { host, port } = splitHostAndPort(address) ?? { host: '', port: 0 };
  await new Promise<void>((resolve, reject) => {
    server.once('error', (err) => reject(listenFailed(address, err)));
    server.listen(port, host, resolve);
  });
}

/**
 * One step now and then. In each turn the event loop accepts one connection, and as long as the system takes the
 * answers, a few connections could go on and on.
 */
function turns(): (step: () => void) => void {
  const steps: (() => void)[] = [];
  let count = 0;
  const next = () => {
    count += 1;
    const step = count % TURNS_BETWEEN === 0 ? steps.shift() : undefined;
    if (steps.length > 0) setImmediate(next);
    step?.();
  };
  return (step) => {
    steps.push(step);
    if (steps.length === 1) setImmediate(next);
  };
}

/** Reads the next requests when the answer to the last one has left: what a visitor does not read is not computed. */
class Connection {
  readonly network: string;
  readonly since: number;
  /** There are too many from the same place: only health is answered. */
  isExtra = false;
  readonly #socket: Socket;
  readonly #answer: RequestListener;
  readonly #inTurn: (step: () => void) => void;
  readonly #waiting: (readonly [IncomingMessage, ServerResponse])[] = [];

  constructor(
    socket: Socket,
    network: string,
    since: number,
    { answer, inTurn }: { answer: RequestListener; inTurn: (step: () => void) => void },
  ) {
    this.network = network;
    this.since = since;
    this.#socket = socket;
    this.#answer = answer;
    this.#inTurn = inTurn;
    // Node then hands the parser only what is read here.
    socket.on('readable', () => this.#read());
    socket.on('drain', () => this.#read());
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  get isUnread(): boolean {
    return this.#socket.writableLength > 0;
  }

  /** No browser asks again before it has its answer. */
  get isGreedy(): boolean {
    return this.isUnread || this.#waiting.length > 1;
  }

  end(): void {
    this.#socket.destroy();
  }

  add(request: IncomingMessage, response: ServerResponse): void {
    this.#waiting.push([request, response]);
    response.once('close', () => {
      this.#inTurn(() => {
        this.#waiting.shift();
        if (this.#socket.destroyed) return;
        this.#answerFirst();
        this.#read();
      });
    });
    if (this.#waiting.length === 1) this.#answerFirst();
  }

  #answerFirst(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [request, response] = first;
    if (!this.isExtra || VITAL.test(request.url ?? '')) this.#answer(request, response);
    else response.writeHead(503, { connection: 'close' }).end('too many connections\n');
  }

  #read(): void {
    // A request that is on its way is read to its end.
    const mayRead = () => !this.#socket.writableNeedDrain && !this.#waiting.at(-1)?.[0].complete;
    while (mayRead()) {
      const slice = Math.min(SLICE_BYTES, this.#socket.readableLength);
      if (this.#socket.read(slice || undefined) === null) return;
    }
  }
}
