// A server of HTTP that listens, and stops without waiting for anybody.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { splitHostAndPort } from '../../config/sections/values.ts';
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

export interface Listening {
  readonly port: number;
  stop(): Promise<void>;
}

/** `address` is `host:port`. Rejects with ListenFailed. */
export async function listening(server: Server, address: string): Promise<Listening> {
  const { host, port } = splitHostAndPort(address) ?? { host: '', port: 0 };
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (err) => reject(new ListenFailed(address, err)));
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
