// A TCP proxy between a client and a server that a test can cut or make silent, or that closes every connection.
import { connect, createServer, type Server, type Socket } from 'node:net';
import { listening } from './listening.ts';

export type Wire = Awaited<ReturnType<typeof openWire>>;

type State =
  | 'whole'
  /** Connections are broken, and new ones too. */
  | 'cut'
  /** Connections stay, and what the server says is lost. */
  | 'muted'
  /** Connections stay, and nothing comes through: what was sent meanwhile arrives once it is whole again. */
  | 'silent';

/** To the server at `toPort`; without one every connection is closed as soon as it comes. */
export async function openWire(toPort?: number, onData?: (socket: Socket, bytes: Buffer) => void) {
  const sockets = new Set<Socket>();
  let attempts = 0;
  let state: State = 'whole';
  const server: Server = createServer((near) => {
    attempts += 1;
    keep(near);
    if (onData) {
      near.on('data', (bytes: Buffer) => onData(near, bytes));
      return;
    }
    if (toPort === undefined || state === 'cut') {
      near.destroy();
      return;
    }
    const far = connect(toPort, '127.0.0.1');
    keep(far);
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => {
      if (state !== 'muted') near.write(bytes);
    });
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (state === 'silent') socket.pause();
  }
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const port = await listening(server);
  return {
    port,
    url: `mqtt://127.0.0.1:${port}`,
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
    /** The last that is heard of the server. */
    sayAndEnd(words: Buffer): void {
      for (const socket of sockets) socket.end(words);
    },
    turn(to: State): void {
      state = to;
      if (to === 'cut') cut();
      else for (const socket of sockets) to === 'silent' ? socket.pause() : socket.resume();
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
