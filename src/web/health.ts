// GET /healthz, /readyz and /metrics for machines that watch the program, and the way to the page.
import type { IncomingMessage, RequestListener } from 'node:http';
import { type Listening, openServer, type ServerOptions } from './server.ts';

export interface HealthAnswers {
  /** The event loop is alive and the broker was connected lately. Trouble at the provider is not unhealthy. */
  healthy(): boolean;
  /** The first publication is done. */
  ready(): boolean;
  /** Prometheus text. */
  metrics(): { readonly contentType: string; readonly text: string };
  /** Who may have the metrics without the page's leave. */
  readonly metricsFor: 'everyone' | 'this machine' | 'no one';
  readonly metricsRefused: () => void;
  /** Answers everything else. `null`: there is no page. */
  readonly page: RequestListener | null;
}

/** Any other name may have been pointed here by a page elsewhere. */
const OWN_NAME = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/;

/** `listen` is `host:port`. Rejects with listen_failed. */
export function serveHealth(
  listen: string,
  answers: HealthAnswers,
  options: ServerOptions,
): Promise<Listening> {
  const { metricsFor, page } = answers;
  const mayReadMetrics = ({ headers }: IncomingMessage) =>
    metricsFor === 'everyone' ||
    (metricsFor === 'this machine' &&
      OWN_NAME.test(headers.host ?? '') &&
      headers['x-forwarded-for'] === undefined);
  const answer: RequestListener = (request, response) => {
    const send = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
      response.end(text);
    };
    const tell = (yes: boolean, word: string) => send(yes ? 200 : 503, yes ? `${word}\n` : `not ${word}\n`);
    const path = request.url?.split('?')[0];
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (path === '/healthz' && isRead) tell(answers.healthy(), 'healthy');
    else if (path === '/readyz' && isRead) tell(answers.ready(), 'ready');
    else if (path === '/metrics' && isRead && mayReadMetrics(request)) {
      try {
        const { contentType, text } = answers.metrics();
        send(200, text, contentType);
      } catch {
        send(500, 'metrics failed\n');
      }
    } else if (page !== null) page(request, response);
    else if (!isRead) send(405, 'GET only\n');
    else if (path === '/metrics') {
      answers.metricsRefused();
      send(401, 'set http.metrics: open to let everyone read them\n');
    } else send(404, 'not found: try /healthz, /readyz or /metrics\n');
  };
  return openServer(listen, answer, options);
}
