// GET /healthz, /readyz and /metrics for machines that watch the daemon, and the way to the page.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { splitHostAndPort } from '../../config/sections/values.ts';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import { ThrottledLog } from '../../foundation/limits.ts';
import type { Account } from '../accounts/account.ts';
import type { Context } from '../context.ts';
import type { Heartbeat } from '../polling/heartbeat.ts';
import { renderMetrics } from './metrics.ts';
import type { PageParts } from './page.ts';
import { isLoopback } from './pageAddress.ts';

/** The address of the HTTP server is taken, or not one of this machine. */
export class ListenFailed extends Failure {
  readonly code = 'listen_failed';
  readonly exitCode = EXIT.unexpected;

  constructor(listen: string, cause: unknown) {
    super(`Cannot listen on ${listen} (${(cause as NodeJS.ErrnoException).code ?? 'unknown error'}).`, {
      retry: 'never',
      hint: 'Choose another address in http.listen, or switch it off with http: false.',
      cause,
    });
  }
}

export interface MonitorAnswers {
  /** The event loop is alive and the broker was connected lately. Trouble at the provider is not unhealthy. */
  healthy(): boolean;
  /** The first publication is done. */
  ready(): boolean;
  /** Prometheus text. */
  metrics(): { readonly contentType: string; readonly text: string };
  /** The page, which answers everything else; loaded with the first request. `null`: it is not served. */
  readonly page: (() => Promise<Page>) | null;
  /** Whether this request may have the metrics without the page's leave. */
  mayReadMetrics(request: IncomingMessage): boolean;
  /** Somebody was refused the metrics. */
  metricsRefused(): void;
}

interface Page {
  readonly listener: RequestListener;
  stop(): void;
}

export interface Monitor {
  readonly port: number;
  stop(): Promise<void>;
}

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;
const METRICS_HINT =
  'They are for whoever may see the page; http.metrics: open is for everybody who reaches http.listen.';
/** Any other name may have been pointed here by somebody's page. */
const OWN_NAME = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/;

/** Resolves to `null` when HTTP is off, or cannot be served: that is a reason on bridge/health, and nothing stops. */
export async function startMonitor(
  { heartbeat, ...parts }: PageParts & { readonly heartbeat: Heartbeat },
  context: Context,
): Promise<Monitor | null> {
  const { config, clock, counters, log } = context;
  const { snapshot, link, accounts } = parts;
  if (config.http === false) return null;
  const { listen, metrics: metricsFor } = config.http;
  const isPrivate = isLoopback(splitHostAndPort(listen)?.host ?? '');
  const needsPassword = config.web !== false && config.web.password !== undefined;
  const isOpen = config.web !== false && (isPrivate || needsPassword);
  const isFree = isPrivate && !needsPassword;
  const throttledLog = new ThrottledLog(clock);
  const metricsRefused = () =>
    throttledLog.write('metrics', (more) =>
      log.warn({ ...more, hint: METRICS_HINT }, 'metrics were asked for and refused'),
    );
  if (config.web !== false && !isOpen)
    log.warn(
      { listen, hint: 'Set web.password or web.password_file, or switch the page off with web: false.' },
      'no page: beyond this machine it is served with a password only',
    );
  const startedAt = clock.now();
  const expiryOf = ({ id, upstream }: Account) => [id, upstream.session.status().accessExpiresAt] as const;
  const metrics = () =>
    renderMetrics({
      ...counters,
      ...link.status(),
      startedAt,
      accessExpiresAt: Object.fromEntries(accounts.map(expiryOf)),
      meters: snapshot.meters().map(({ meter, ledger, readingAt }) => ({
        meter,
        days: ledger.days.size,
        revisions: [...ledger.days.values()].reduce((sum, { revision }) => sum + revision, 0),
        readingAt,
      })),
      now: clock.now(),
    });
  try {
    return await serve(listen, {
      healthy: () => link.status().offlineMs < BROKER_GRACE_MS && heartbeat.ageMs() < LOOP_GRACE_MS,
      ready: () => link.status().drained,
      metrics,
      mayReadMetrics: ({ headers }) => metricsFor === 'open' || (isFree && OWN_NAME.test(headers.host ?? '')),
      metricsRefused,
      page: isOpen
        ? async () => (await import('./page.ts')).openPage(parts, { metrics, metricsRefused }, context)
        : null,
    });
  } catch (err) {
    log.error({ err }, 'no HTTP: health and metrics are not served');
    snapshot.ownReasons.push(safeWords(err));
    return null;
  }
}

/** `listen` is `host:port`. Rejects with ListenFailed. */
export async function serve(listen: string, answers: MonitorAnswers): Promise<Monitor> {
  const colon = listen.lastIndexOf(':');
  const host = listen.slice(0, colon).replace(/^\[|\]$/g, '');
  let page: Promise<Page> | undefined;
  const server = createServer((request, response) => {
    const send = (status: number, contentType: string, text: string) => {
      response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' });
      response.end(request.method === 'HEAD' ? undefined : text);
    };
    const tell = (yes: boolean, word: string) =>
      send(yes ? 200 : 503, 'text/plain; charset=utf-8', yes ? `${word}\n` : `not ${word}\n`);
    const path = request.url?.split('?')[0];
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (path === '/healthz' && isRead) tell(answers.healthy(), 'healthy');
    else if (path === '/readyz' && isRead) tell(answers.ready(), 'ready');
    else if (path === '/metrics' && isRead && answers.mayReadMetrics(request)) {
      try {
        const { contentType, text } = answers.metrics();
        send(200, contentType, text);
      } catch {
        send(500, 'text/plain', 'metrics failed\n');
      }
    } else if (answers.page !== null) {
      page ??= answers.page();
      page.then(
        ({ listener }) => listener(request, response),
        () => send(500, 'text/plain', 'the page cannot be loaded\n'),
      );
    } else if (!isRead) send(405, 'text/plain', 'GET only\n');
    else if (path === '/metrics') {
      answers.metricsRefused();
      send(401, 'text/plain', 'set http.metrics: open to let everybody read them\n');
    } else send(404, 'text/plain', 'not found: try /healthz, /readyz or /metrics\n');
  });
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (err) => reject(new ListenFailed(listen, err)));
    server.listen(Number(listen.slice(colon + 1)), host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        void page?.then((opened) => opened.stop()).catch(() => undefined);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
