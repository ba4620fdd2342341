// A server of a test on a free port of this machine.
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { Stack } from './stack.ts';

/** Resolves to its port. */
export async function listening(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** One for WebSockets, which ends with the test; resolves to its port. */
export async function webSockets(
  stack: Stack,
  options: ServerOptions,
  serve: (socket: WebSocket) => void,
): Promise<number> {
  const server = new WebSocketServer({ ...options, port: 0, host: '127.0.0.1' });
  server.on('connection', serve);
  await once(server, 'listening');
  stack.defer(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
