// GET /healthz, /readyz and /metrics for machines that watch the daemon.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EXIT, Failure, safeWords } from '../../foundation/failure.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Account } from '../accounts/account.ts';
import type { Context } from '../context.ts';
import type { Heartbeat } from '../polling/heartbeat.ts';
import type { Snapshot } from '../publishing/snapshot.ts';
import { renderMetrics } from './metrics.ts';

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
}

export interface Monitor {
  readonly port: number;
  stop(): Promise<void>;
}

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;

/** Resolves to `null` when HTTP is off, or cannot be served: that is a reason on bridge/health, and nothing stops. */
export async function startMonitor(
  accounts: readonly Account[],
  { snapshot, link, heartbeat }: { snapshot: Snapshot; link: Link; heartbeat: Heartbeat },
  { config, clock, counters, log }: Context,
): Promise<Monitor | null> {
  if (config.http === false) return null;
  const startedAt = clock.now();
  const expiryOf = ({ id, upstream }: Account) => [id, upstream.session.status().accessExpiresAt] as const;
  try {
    return await serve(config.http.listen, {
      healthy: () => link.status().offlineMs < BROKER_GRACE_MS && heartbeat.ageMs() < LOOP_GRACE_MS,
      ready: () => link.status().drained,
      metrics: () =>
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
        }),
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
  const server = createServer((request, response) => {
    const send = (status: number, contentType: string, text: string) => {
      response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' });
      response.end(request.method === 'HEAD' ? undefined : text);
    };
    const tell = (yes: boolean, word: string) =>
      send(yes ? 200 : 503, 'text/plain; charset=utf-8', yes ? `${word}\n` : `not ${word}\n`);
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') send(405, 'text/plain', 'GET only\n');
    else if (path === '/healthz') tell(answers.healthy(), 'healthy');
    else if (path === '/readyz') tell(answers.ready(), 'ready');
    else if (path === '/metrics') {
      try {
        const { contentType, text } = answers.metrics();
        send(200, contentType, text);
      } catch {
        send(500, 'text/plain', 'metrics failed\n');
      }
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
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
