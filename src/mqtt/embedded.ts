// An MQTT broker in this process, for the demo, the tests and homes without one. The only import of aedes.
import { createServer, type Socket } from 'node:net';

export type EmbeddedBroker = Awaited<ReturnType<typeof startBroker>>;

const BAD_USERNAME_OR_PASSWORD = 4;

/** Default: any free port of 127.0.0.1, and anyone may connect. Rejects with the original error when the port is taken. */
export async function startBroker(
  options: {
    readonly port?: number;
    readonly host?: string;
    readonly username?: string;
    readonly password?: string;
  } = {},
) {
  const { host = '127.0.0.1', port: wanted = 0 } = options;
  const { Aedes } = await import('aedes');
  const isOpen = options.username === undefined && options.password === undefined;
  const sockets = new Set<Socket>();
  const broker = await Aedes.createBroker({
    authenticate(_, username, password, done) {
      const isKnown = username === options.username && password?.toString('utf8') === options.password;
      if (isOpen || isKnown) return done(null, true);
      const refusal = Object.assign(new Error('bad user name or password'), {
        returnCode: BAD_USERNAME_OR_PASSWORD,
      });
      done(refusal, null);
    },
  });
  // Without it Nagle's algorithm delays small packets by 40 ms each.
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    broker.handle(socket);
  });
  const close = () => new Promise<void>((resolve) => broker.close(() => resolve()));
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.listen(wanted, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : wanted);
    });
  }).catch(async (err: unknown) => {
    await close();
    throw err;
  });
  return {
    port,
    url: `mqtt://${host.includes(':') ? `[${host}]` : host}:${port}`,
    /** Cuts all connections as a crash would, without publishing wills. */
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await Promise.all([closed, close()]);
    },
  };
}
