// GET /healthz, /readyz and /metrics for machines that watch the daemon.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EXIT, Failure } from '../../foundation/failure.ts';

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

export class MonitorServer {
  readonly port: number;
  readonly #server: Server;

  /** `listen` is `host:port`. Rejects with ListenFailed. */
  static async start(listen: string, answers: MonitorAnswers): Promise<MonitorServer> {
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
    return new MonitorServer(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}
