// The TLS end of a server: it shows a certificate, and passes what comes in on to a plain one.
import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { createServer, type TlsOptions } from 'node:tls';
import { listening } from './listening.ts';
import type { Stack } from './stack.ts';

/** Without `toPort` every connection is closed once it is encrypted. Resolves to its port. */
export async function startTlsEnd(stack: Stack, options: TlsOptions, toPort?: number): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer(options, (near) => {
    near.on('error', () => undefined);
    if (toPort === undefined) near.end();
    else pipeline(near, connect(toPort, '127.0.0.1'), near, () => undefined);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // Clients that go away because of the certificate are what is looked for.
  server.on('tlsClientError', () => undefined);
  stack.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return listening(server);
}
