// The place of the broker: from the configuration, or of the one that the daemon brings along. The only import of aedes.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Mqtt } from '../config/schema.ts';
import { type Clock, systemClock } from '../foundation/clock.ts';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { Admission } from './admission.ts';
import { brokerTls } from './certificates.ts';
import type { BrokerAddress, Connection, ConnectOptions } from './connection.ts';
import { openConnection } from './opening.ts';

interface Login {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** The own broker's user if it has one. */
async function loginAt(mqtt: Mqtt): Promise<Login> {
  const embedded = mqtt.embedded || undefined;
  const { username, password } = embedded?.password ? embedded : mqtt;
  return { username, password: await password?.read() };
}

/** Reads secrets and certificates each time: a renewed one needs no restart. */
export async function brokerAddress(mqtt: Mqtt, url: string, clientId: string): Promise<BrokerAddress> {
  const { protocol, password } = mqtt;
  return {
    url,
    versions: protocol === 'auto' ? [5, 4] : [protocol === '5' ? 5 : 4],
    clientId,
    ...(await loginAt(mqtt)),
    caution: await password?.caution(),
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
  return openConnection(await brokerAddress(mqtt, mqtt.url, clientId), clock, options);
}

export type EmbeddedBroker = Awaited<ReturnType<typeof startBroker>>;

/** `null` when the configuration names no embedded broker. Rejects with broker_not_started when its port is taken. */
export async function startEmbedded(
  mqtt: Mqtt,
  { clock, log }: { readonly clock: Clock; readonly log?: Log },
): Promise<EmbeddedBroker | null> {
  if (mqtt.embedded === false) return null;
  const { port, host } = mqtt.embedded;
  const login = await loginAt(mqtt);
  return startBroker({ port, host, clock, log, ...login }).catch((cause: NodeJS.ErrnoException) => {
    const message = `The broker of heat2mqtt itself (mqtt.embedded) cannot listen on its port (${cause.code}).`;
    // A supervisor may start the program again: the port may be free then.
    throw failure('broker_not_started', message, {
      exit: EXIT.unexpected,
      retry: 'later',
      hint: 'If another broker runs there, write its address as mqtt.url and take mqtt.embedded away; else choose another port.',
      cause,
    });
  });
}

interface EmbeddedOptions extends Login {
  readonly port?: number;
  readonly host?: string;
  readonly clock?: Clock;
  readonly log?: Log | undefined;
}

const BAD_USERNAME_OR_PASSWORD = 4;

/** Default: any free port of 127.0.0.1, and anyone may connect. Rejects with the original error when the port is taken. */
export async function startBroker(options: EmbeddedOptions = {}) {
  const { host = '127.0.0.1', clock = systemClock, log, username, password } = options;
  const { Aedes } = await import('aedes');
  const isOpen = username === undefined && password === undefined;
  const broker = await Aedes.createBroker({
    authenticate(_, name, word, done) {
      if (isOpen || (name === username && word?.toString('utf8') === password)) return done(null, true);
      const refusal = new Error('bad user name or password');
      done(Object.assign(refusal, { returnCode: BAD_USERNAME_OR_PASSWORD }), null);
    },
  });
  const admission = new Admission({ handle: (stream) => void broker.handle(stream), clock, log });
  broker.on('clientReady', ({ conn }) => admission.accepted(conn));
  const sockets = new Set<Socket>();
  // Without it Nagle's algorithm delays small packets by 40 ms each.
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    admission.knock(socket);
  });
  const close = () => new Promise<void>((resolve) => broker.close(() => resolve()));
  await once(server.listen(options.port ?? 0, host), 'listening').catch(async (err: unknown) => {
    await close();
    throw err;
  });
  const { port } = server.address() as AddressInfo;
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
