// GET /healthz, /readyz and /metrics for machines that watch the program, and the way to the page.
import type { IncomingMessage, RequestListener } from 'node:http';
import { type Listening, openServer, type ServerOptions } from './server.ts';

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

/** Any other name may have been pointed here by somebody's page. */
export const OWN_NAME = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/;

/** `listen` is `host:port`. Rejects with listen_failed. */
export const serve = (listen: string, answers: MonitorAnswers, options: ServerOptions): Promise<Listening> =>
  openServer(
    listen,
    (request, response) => {
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
    },
    options,
  );
