// A TCP proxy between one process and PostgreSQL, which a test can cut or make silent.
import { connect, createServer, type Socket } from 'node:net';

type State =
  | 'whole'
  /** Connections are broken, and new ones too. */
  | 'cut'
  /** Connections stay, and nothing comes through: what was sent meanwhile arrives once it is whole again. */
  | 'silent';

export async function openCable(toPort: number) {
  let state: State = 'whole';
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    if (state === 'silent') socket.pause();
  };
  const server = createServer((near) => {
    if (state === 'cut') {
      near.destroy();
      return;
    }
    const far = connect(toPort, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      keep(from);
      from.on('data', (bytes) => to.write(bytes));
      from.once('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    turn(to: State): void {
      state = to;
      for (const socket of sockets) {
        if (to === 'cut') socket.destroy();
        else if (to === 'silent') socket.pause();
        else socket.resume();
      }
    },
    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
