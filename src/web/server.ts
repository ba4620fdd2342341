// An HTTP server that no visitor fills: each connection gets one answer, and each address has so many connections. With it GET /healthz,
// /readyz and /metrics for machines that watch the program, and the ways to the page.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { isLoopback, partsOf } from '../config/listenAddress.ts';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import { nameOf, networkOf, withoutPrefix } from './visitor.ts';

export interface Listening {
  readonly port: number;
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly clock: Clock;
  /** A request from this address is answered. */
  readonly admits?: (address: string) => boolean;
  /** Many visitors share this address: only the bound of all connections holds for it. */
  readonly isShared?: (address: string) => boolean;
  readonly limits?: Partial<typeof LIMITS>;
}

const LIMITS = {
  /** Connections from one address, and all of them. */
  each: 32,
  all: 512,
  /** Connections beyond these, to which only health is answered. */
  extra: 64,
  /** A request has arrived whole by then. */
  requestMs: 10_000,
  /** Connections are looked at so often. */
  checkMs: 1_000,
  /** A visitor who takes nothing of an answer for so long is cut off. */
  unreadMs: 20_000,
};
// A new connection has had no time to ask.
const FRESH_MS = 1_000;
// Few requests fit into that: those after the first one are not answered.
const SLICE_BYTES = 256;
/** Monitors of the program are answered when there are too many connections, too. */
const VITAL = /^\/(healthz|readyz)(\?|$)/;

interface Connection {
  readonly socket: Socket;
  /** `null`: many visitors share the address. */
  readonly network: string | null;
  readonly since: number;
  /** `null`: nothing has been asked yet. */
  response: ServerResponse | null;
  /** There are too many beside it: only health is answered. */
  readonly isExtra: boolean;
}

const isIdle = ({ response }: Connection) => response === null;
const isUnfinished = ({ response }: Connection) => response?.req.complete === false;
const isUnread = ({ socket }: Connection) => socket.writableLength > 0;
/** Reasons to leave when there are too many, the best one first. A visitor who waits for an answer has none. */
const LEAVES = [isIdle, isUnfinished, isUnread];

type Most = Pick<typeof LIMITS, 'each' | 'all' | 'extra'>;

/** The connections of one server in the order in which they came, and which of them makes room for a new one. */
class Visitors {
  readonly #open = new Map<Socket, Connection>();
  readonly #limits: Most;

  constructor(limits: Most) {
    this.#limits = limits;
  }

  get(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  add(socket: Socket, network: string | null, now: number): Connection {
    const isExtra = !this.#makeRoom(network, now);
    const connection: Connection = { socket, network, since: now, response: null, isExtra };
    this.#open.set(socket, connection);
    socket.once('close', () => this.#open.delete(socket));
    const extras = [...this.#open.values()].filter(({ isExtra }) => isExtra);
    if (extras.length > this.#limits.extra) this.#sendAway(extras[0]);
    return connection;
  }

  /** False where a new connection from there has no place among those that may ask for anything. */
  #makeRoom(network: string | null, now: number): boolean {
    const others = [...this.#open.values()].filter(({ isExtra }) => !isExtra);
    const same = network === null ? [] : others.filter((other) => other.network === network);
    const isOneTooMany = same.length >= this.#limits.each;
    if (!isOneTooMany && others.length < this.#limits.all) return true;
    const leaves = isOneTooMany
      ? longestWaiting(same, now)
      : (ofGreediest(others, same.length) ?? longestWaiting(others, now));
    this.#sendAway(leaves);
    return leaves !== undefined;
  }

  #sendAway(connection: Connection | undefined): void {
    if (connection === undefined) return;
    // It is forgotten before its end is told: others may come meanwhile.
    this.#open.delete(connection.socket);
    connection.socket.destroy();
  }
}

function longestWaiting(crowd: readonly Connection[], now: number): Connection | undefined {
  const settled = crowd.filter(({ since }) => now - since >= FRESH_MS);
  return LEAVES.map((isWaiting) => settled.find(isWaiting)).find((connection) => connection !== undefined);
}

/**
 * However new they are, those of a network that has clearly more of them than the newcomer's make room: who comes again as soon as
 * it is sent away keeps nobody else out. `ofNewcomer`: how many the newcomer's network has already.
 */
function ofGreediest(crowd: readonly Connection[], ofNewcomer: number): Connection | undefined {
  const waiting = new Map<string, Connection[]>();
  for (const connection of crowd) {
    const { network } = connection;
    if (network === null || !LEAVES.some((isWaiting) => isWaiting(connection))) continue;
    waiting.set(network, [...(waiting.get(network) ?? []), connection]);
  }
  const [greediest = []] = [...waiting.values()].sort((a, b) => b.length - a.length);
  return greediest.length > ofNewcomer + 1 ? greediest[0] : undefined;
}

/** `address` is `host:port`. Rejects with listen_failed. */
export async function openServer(
  address: string,
  answer: RequestListener,
  { clock, admits = () => true, isShared = () => false, limits }: ServerOptions,
): Promise<Listening> {
  const { requestMs, checkMs, unreadMs, ...most } = { ...LIMITS, ...limits };
  const visitors = new Visitors(most);
  // Its headers have no more time than the whole request.
  const server = createServer({ requestTimeout: requestMs, connectionsCheckingInterval: checkMs });

  server.on('connection', (socket) => {
    const from = withoutPrefix(socket.remoteAddress ?? '');
    if (!admits(from)) return void socket.destroy();
    const connection = visitors.add(socket, isShared(from) ? null : networkOf(from), clock.monotonic());
    // Node then hands the parser only what is read here.
    socket.on('readable', () => readRequest(connection));
  });
  server.on('request', (request, response) => {
    const connection = visitors.get(request.socket);
    if (connection === undefined || !isIdle(connection)) return;
    connection.response = response;
    response.setHeader('connection', 'close');
    if (!connection.isExtra || VITAL.test(request.url ?? '')) answer(request, response);
    else response.writeHead(503).end('too many connections\n');
  });
  server.timeout = unreadMs;
  server.on('timeout', (socket) => {
    const connection = visitors.get(socket);
    if (connection && (isIdle(connection) || isUnread(connection))) socket.destroy();
  });
  const { host, port } = partsOf(address);
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

/** A request to its end, and nothing that is asked after it. */
function readRequest(connection: Connection): void {
  const { socket } = connection;
  while (!connection.response?.req.complete) {
    const slice = Math.min(SLICE_BYTES, socket.readableLength);
    // Without a size, as nothing has come, it has Node wait for more.
    if (socket.read(slice || undefined) === null) return;
  }
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
export const SUPERVISORS_INGRESS = {
  /** `host:port`, as `ingress_port` of app/config.yaml. */
  listen: '0.0.0.0:8098',
  /** The Supervisor, who has asked whom he lets in. */
  from: '172.30.32.2',
};
export type Ingress = Readonly<typeof SUPERVISORS_INGRESS>;

/** Rejects with listen_failed. */
export const serveIngress = ({ listen, from }: Ingress, answer: RequestListener, clock: Clock) =>
  openServer(listen, answer, { clock, admits: (address) => address === from, isShared: () => true });

export interface HealthAnswers {
  /** The event loop is alive and the broker was connected lately. Trouble at the provider is not unhealthy. */
  healthy(): boolean;
  /** The first publication is done. */
  ready(): boolean;
  /** Prometheus text. */
  metrics(): { readonly contentType: string; readonly text: string };
  /** The visitors who may have the metrics without the page's leave. */
  readonly metricsFor: 'everyone' | 'this machine' | 'no one';
  readonly metricsRefused: () => void;
  /** Answers everything else. `null`: there is no page. */
  readonly page: RequestListener | null;
  /** The sentence for a person who opens it in a browser then. Without it only the addresses for machines are named. */
  readonly whyNoPage?: string | null;
}

/** `listen` is `host:port`. Rejects with listen_failed. */
export function serveHealth(
  listen: string,
  { healthy, ready, metrics, metricsFor, metricsRefused, page, whyNoPage = null }: HealthAnswers,
  options: ServerOptions,
): Promise<Listening> {
  const mayReadMetrics = ({ headers }: IncomingMessage) =>
    metricsFor === 'everyone' ||
    (metricsFor === 'this machine' &&
      isLoopback(nameOf(`http://${headers.host}`) ?? '') &&
      headers['x-forwarded-for'] === undefined);
  function sendMetrics(send: (status: number, text: string, type?: string) => void): void {
    try {
      const { contentType, text } = metrics();
      send(200, text, contentType);
    } catch {
      send(500, 'metrics failed\n');
    }
  }
  const answer: RequestListener = (request, response) => {
    const send = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
      response.end(text);
    };
    const tell = (yes: boolean, word: string) => send(yes ? 200 : 503, yes ? `${word}\n` : `not ${word}\n`);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const path = isRead ? request.url?.split('?')[0] : null;
    if (path === '/healthz') return tell(healthy(), 'healthy');
    if (path === '/readyz') return tell(ready(), 'ready');
    if (path === '/metrics') {
      if (mayReadMetrics(request)) return sendMetrics(send);
      // The page refuses them as well, unless the visitor has signed in.
      response.once('finish', () => {
        if (response.statusCode === 401) metricsRefused();
      });
    }
    if (page !== null) return page(request, response);
    if (!isRead) return send(405, 'GET only\n');
    if (path === '/metrics') return send(401, 'set http.metrics: open to let everyone read them\n');
    if (path === '/' && whyNoPage !== null) return send(403, `${whyNoPage}\n`);
    return send(404, 'not found: try /healthz, /readyz or /metrics\n');
  };
  return openServer(listen, answer, options);
}
