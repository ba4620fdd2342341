// An HTTP server that no visitor fills: each connection gets one answer at a time, and each address has so many connections.
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { splitHostAndPort } from '../config/listenAddress.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { networkOf, withoutPrefix } from './visitor.ts';

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

interface Connection {
  readonly socket: Socket;
  readonly network: string;
  readonly since: number;
  /** Answers that are not whole, the first of which is being given. */
  readonly waiting: ServerResponse[];
  /** There are too many from the same place: only health is answered. */
  isExtra: boolean;
}

const isIdle = ({ waiting }: Connection) => waiting.length === 0;
const isUnread = ({ socket }: Connection) => socket.writableLength > 0;
/** No browser asks again before it has its answer. */
const isGreedy = (connection: Connection) => isUnread(connection) || connection.waiting.length > 1;

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
  // Its headers have no more time than the whole request.
  const server = createServer({ requestTimeout: requestMs, connectionsCheckingInterval: checkMs });

  function makeRoom(connection: Connection, from: string): void {
    const others = [...open.values()];
    const same = isShared(from) ? [] : others.filter(({ network }) => network === connection.network);
    const crowd = same.length > each ? same : others.length > all ? others : [];
    if (crowd.length === 0) return;
    const settled = crowd.filter(({ since }) => clock.monotonic() - since >= FRESH_MS);
    const leaves = settled.find(isIdle) ?? settled.find(isGreedy);
    if (leaves !== undefined) leaves.socket.destroy();
    else if (others.length > all) connection.socket.destroy();
    else connection.isExtra = true;
  }

  function answerFirst({ waiting: [response], isExtra }: Connection): void {
    if (response === undefined) return;
    if (!isExtra || VITAL.test(response.req.url ?? '')) answer(response.req, response);
    else response.writeHead(503, { connection: 'close' }).end('too many connections\n');
  }

  server.on('connection', (socket) => {
    const from = withoutPrefix(socket.remoteAddress ?? '');
    if (!admits(from)) return void socket.destroy();
    const came = { socket, network: networkOf(from), since: clock.monotonic() };
    const connection: Connection = { ...came, waiting: [], isExtra: false };
    open.set(socket, connection);
    socket.once('close', () => open.delete(socket));
    // Node then hands the parser only what is read here.
    socket.on('readable', () => readOn(connection));
    socket.on('drain', () => readOn(connection));
    makeRoom(connection, from);
  });
  server.on('request', (request, response) => {
    const connection = open.get(request.socket);
    if (connection === undefined) return;
    connection.waiting.push(response);
    response.once('close', () =>
      inTurn(() => {
        connection.waiting.shift();
        if (connection.socket.destroyed) return;
        answerFirst(connection);
        readOn(connection);
      }),
    );
    if (connection.waiting.length === 1) answerFirst(connection);
  });
  server.timeout = unreadMs;
  server.on('timeout', (socket) => {
    const connection = open.get(socket);
    if (connection && (isIdle(connection) || isUnread(connection))) socket.destroy();
  });
  const { host = '', port = 0 } = splitHostAndPort(address) ?? {};
  await new Promise<void>((resolve, reject) => {
    server.once('error', (err) => reject(listenFailed(address, err)));
    server.listen(port, host, resolve);
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

/** Reads the next requests when the answer to the last one has left: what a visitor does not read is not computed. */
function readOn({ socket, waiting }: Connection): void {
  // A request that is on its way is read to its end.
  const mayRead = () => !socket.writableNeedDrain && !waiting.at(-1)?.req.complete;
  while (mayRead()) {
    const slice = Math.min(SLICE_BYTES, socket.readableLength);
    if (socket.read(slice || undefined) === null) return;
  }
}

/**
 * One step now and then. In each turn the event loop accepts one connection, and as long as the system takes the
 * answers, a few connections could go on and on: while 200 of them asked, health waited 0.5 s, and 2 s without this.
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

/** The address of the HTTP server is taken, or not one of this machine. */
const listenFailed = (listen: string, cause: NodeJS.ErrnoException) =>
  failure('listen_failed', `Cannot listen on ${listen} (${cause.code ?? 'unknown error'}).`, {
    exit: EXIT.unexpected,
    retry: 'never',
    hint: 'Choose another address in http.listen, or switch it off with http: false.',
    cause,
  });

/** The way in from Home Assistant's own pages: a port of its own, on which only the Supervisor is answered. */
export interface Ingress {
  /** `host:port`, as `ingress_port` of app/config.yaml. */
  readonly listen: string;
  /** The Supervisor, who has asked whom he lets in. */
  readonly from: string;
}

export const SUPERVISORS_INGRESS: Ingress = { listen: '0.0.0.0:8098', from: '172.30.32.2' };

/** Rejects with listen_failed. */
export const serveIngress = ({ listen, from }: Ingress, answer: RequestListener, clock: Clock) =>
  openServer(listen, answer, { clock, admits: (address) => address === from, isShared: () => true });
