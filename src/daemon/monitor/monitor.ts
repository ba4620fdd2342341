// GET /healthz, /readyz and /metrics for machines that watch the daemon, and the way to the page.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { Account } from '../../accounts/account.ts';
import { renderMetrics } from '../../accounts/metrics.ts';
import { isLoopback } from '../../config/pageAddress.ts';
import { splitHostAndPort } from '../../config/sections/values.ts';
import { safeWords } from '../../foundation/failure.ts';
import { ThrottledLog } from '../../foundation/limits.ts';
import type { Context } from '../context.ts';
import type { Heartbeat } from '../polling/heartbeat.ts';
import { type Ingress, serveIngress } from './ingress.ts';
import { type Listening, listening } from './listening.ts';
import type { PageParts } from './page.ts';

export interface MonitorAnswers {
  /** The event loop is alive and the broker was connected lately. Trouble at the provider is not unhealthy. */
  healthy(): boolean;
  /** The first publication is done. */
  ready(): boolean;
  /** Prometheus text. */
  metrics(): { readonly contentType: string; readonly text: string };
  /** The page, which answers everything else. `null`: it is not served. */
  readonly page: RequestListener | null;
  /** Whether this request may have the metrics without the page's leave. */
  mayReadMetrics(request: IncomingMessage): boolean;
  /** Somebody was refused the metrics. */
  metricsRefused(): void;
}

interface Page {
  readonly listener: RequestListener;
  /** For those whom Home Assistant has let in. */
  readonly ingress: RequestListener;
  stop(): void;
}

const BROKER_GRACE_MS = 5 * 60_000;
const LOOP_GRACE_MS = 2 * 60_000;
const METRICS_HINT =
  'They are for whoever may see the page; http.metrics: open is for everybody who reaches http.listen.';
/** Any other name may have been pointed here by somebody's page. */
export const OWN_NAME = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/;

/** Resolves to `null` when HTTP is off. What cannot be served is a reason on bridge/health, and nothing stops. */
export async function startMonitor(
  {
    heartbeat,
    ingress,
    ...parts
  }: PageParts & { readonly heartbeat: Heartbeat; readonly ingress: Ingress | null },
  context: Context,
): Promise<{ readonly port: number | null; stop(): Promise<void> } | null> {
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
  if (config.web !== false && !isOpen && ingress === null)
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
  let page: Promise<Page> | undefined;
  /** Loads the page with the first request. */
  const onPage =
    (which: 'listener' | 'ingress'): RequestListener =>
    async (request, response) => {
      try {
        page ??= import('./page.ts').then(({ openPage }) =>
          openPage(parts, { metrics, metricsRefused }, context),
        );
        (await page)[which](request, response);
      } catch (err) {
        page = undefined;
        log.error({ err }, 'the page cannot be loaded');
        response.destroy();
      }
    };
  const opened: Listening[] = [];
  const open = async (what: string, opening: Promise<Listening>) => {
    try {
      opened.push(await opening);
    } catch (err) {
      log.error({ err }, `no HTTP: ${what}`);
      snapshot.ownReasons.push(safeWords(err));
    }
  };
  const answers = {
    healthy: () => link.status().offlineMs < BROKER_GRACE_MS && heartbeat.ageMs() < LOOP_GRACE_MS,
    ready: () => link.status().drained,
    metrics,
    mayReadMetrics: ({ headers }: IncomingMessage) =>
      metricsFor === 'open' ||
      (isFree && OWN_NAME.test(headers.host ?? '') && headers['x-forwarded-for'] === undefined),
    metricsRefused,
    page: isOpen ? onPage('listener') : null,
  };
  await open('health and metrics are not served', serve(listen, answers));
  const port = opened[0]?.port ?? null;
  if (ingress !== null && config.web !== false)
    await open('Home Assistant cannot show the page', serveIngress(ingress, onPage('ingress')));
  return {
    port,
    async stop() {
      void page?.then((loaded) => loaded.stop()).catch(() => undefined);
      await Promise.all(opened.map((one) => one.stop()));
    },
  };
}

/** `listen` is `host:port`. Rejects with ListenFailed. */
export function serve(listen: string, answers: MonitorAnswers): Promise<Listening> {
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
    } else if (answers.page !== null) void answers.page(request, response);
    else if (!isRead) send(405, 'text/plain', 'GET only\n');
    else if (path === '/metrics') {
      answers.metricsRefused();
      send(401, 'text/plain', 'set http.metrics: open to let everybody read them\n');
    } else send(404, 'text/plain', 'not found: try /healthz, /readyz or /metrics\n');
  });
  return listening(server, listen);
}
