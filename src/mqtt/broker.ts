// Where the broker is: from the configuration, or the one that the daemon brings along. The only import of aedes.
import { randomBytes } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import type { Mqtt } from '../config/schema.ts';
import { type Clock, systemClock } from '../foundation/clock.ts';
import type { Log } from '../foundation/log.ts';
import { Admission } from './admission.ts';
import { brokerTls } from './certificates.ts';
import { type BrokerAddress, type Connection, type ConnectOptions, openConnection } from './connection.ts';

/** `null` when the configuration names no embedded broker. Rejects when its port is taken. */
export async function startEmbedded(
  mqtt: Mqtt,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<EmbeddedBroker | null> {
  if (mqtt.embedded === false) return null;
  const { port, host } = mqtt.embedded;
  return startBroker({ port, host, clock, log, ...(await loginAt(mqtt)) });
}

/** The own broker's user if it has one. */
async function loginAt(mqtt: Mqtt): Promise<{ username?: string; password?: string }> {
  const own = mqtt.embedded || undefined;
  const { username, password } = own?.password ? own : mqtt;
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: await password.read() }),
  };
}

/** Reads secrets and certificates each time: a renewed one needs no restart. */
export async function brokerAddress(mqtt: Mqtt, url: string, clientId: string): Promise<BrokerAddress> {
  const { protocol } = mqtt;
  const caution = await mqtt.password?.caution();
  return {
    url,
    versions: protocol === 'auto' ? [5, 4] : [protocol === '5' ? 5 : 4],
    clientId,
    ...(await loginAt(mqtt)),
    ...(caution ? { caution } : {}),
    tls: await brokerTls(mqtt),
  };
}

/**
 * A command's own connection, beside those of the daemon and of other commands: each has a client id of its own. Rejects as
 * `openConnection` does, or with a fault of a secret file.
 */
export async function openBroker(
  mqtt: Mqtt,
  command: string,
  clock: Clock,
  options: ConnectOptions = {},
): Promise<Connection> {
  const clientId = `heat2mqtt_${command}_${randomBytes(4).toString('hex')}`;
  const address = await brokerAddress(mqtt, mqtt.url, clientId);
  return openConnection(address, clock, options);
}

export type EmbeddedBroker = Awaited<ReturnType<typeof startBroker>>;

const BAD_USERNAME_OR_PASSWORD = 4;

/** Default: any free port of 127.0.0.1, and anyone may connect. Rejects with the original error when the port is taken. */
export async function startBroker(
  options: {
    readonly port?: number;
    readonly host?: string;
    readonly username?: string;
    readonly password?: string;
    readonly clock?: Clock;
    readonly log?: Log;
  } = {},
) {
  const { host = '127.0.0.1', port: wanted = 0, clock = systemClock, log } = options;
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
  const admission = new Admission({
    handle: (stream) => void broker.handle(stream),
    clock,
    ...(log && { log }),
  });
  broker.on('clientReady', ({ conn }) => admission.accepted(conn));
  // Without it Nagle's algorithm delays small packets by 40 ms each.
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    admission.knock(socket);
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
