// A TCP proxy between a client and a broker that a test can cut, or that closes every connection.
import { connect, createServer, type Server, type Socket } from 'node:net';

/** To the broker at `port`; without one every connection is closed as soon as it comes. */
export async function openWire(port?: number, onData?: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  let attempts = 0;
  let muted = false;
  const server: Server = createServer((client) => {
    attempts += 1;
    keep(client);
    if (onData) {
      client.on('data', () => onData(client));
      return;
    }
    if (port === undefined) {
      client.destroy();
      return;
    }
    const broker = connect(port, '127.0.0.1');
    keep(broker);
    client.pipe(broker);
    broker.on('data', (bytes) => {
      if (!muted) client.write(bytes);
    });
    client.on('close', () => broker.destroy());
    broker.on('close', () => client.destroy());
  });
  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  }
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const address = server.address();
  return {
    url: `mqtt://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    /** Connections that came so far. */
    get attempts() {
      return attempts;
    },
    /** Sockets that are open now. */
    get open() {
      return sockets.size;
    },
    /** All connections break now. */
    cut,
    /** While muted, nothing that the broker says arrives. */
    mute(isMuted: boolean) {
      muted = isMuted;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
