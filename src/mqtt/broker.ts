// Where the broker is: from the configuration, or the one that the daemon brings along.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Mqtt } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { Failure } from '../foundation/failure.ts';
import { type BrokerAddress, Connection, type ProtocolVersion } from './connection.ts';
import { type EmbeddedBroker, startBroker } from './embedded.ts';
import type { Incoming } from './message.ts';

/** `null` when the configuration names no embedded broker. Rejects when its port is taken. */
export async function startEmbedded(mqtt: Mqtt): Promise<EmbeddedBroker | null> {
  if (mqtt.embedded === false) return null;
  const { port, host } = mqtt.embedded;
  return startBroker({ port, host, ...(await loginAt(mqtt)) });
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

/** Reads secrets and certificates anew: a renewed one needs no restart. */
export async function brokerAddress(mqtt: Mqtt, url: string, clientId: string): Promise<BrokerAddress> {
  const { ca_file, cert_file, key_file } = mqtt;
  const passphrase = await mqtt.key_password?.read();
  return {
    url,
    clientId,
    ...(await loginAt(mqtt)),
    tls: {
      ...(ca_file === undefined ? {} : { ca: await readFile(ca_file) }),
      ...(cert_file === undefined ? {} : { cert: await readFile(cert_file) }),
      ...(key_file === undefined ? {} : { key: await readFile(key_file) }),
      ...(passphrase === undefined ? {} : { passphrase }),
      rejectUnauthorized: mqtt.reject_unauthorized,
    },
  };
}

export const protocolVersions = ({ protocol }: Mqtt): readonly ProtocolVersion[] =>
  protocol === 'auto' ? [5, 4] : [protocol === '5' ? 5 : 4];

/**
 * A command's own connection, beside those of the daemon and of other commands: each has a client id of its own. Rejects with
 * BrokerUnreachable, or a fault of a secret file.
 */
export async function openBroker(
  mqtt: Mqtt,
  command: string,
  clock: Clock,
  onMessage: (incoming: Incoming) => void = () => undefined,
): Promise<Connection> {
  const address = await brokerAddress(
    mqtt,
    mqtt.url,
    `heat2mqtt_${command}_${randomBytes(4).toString('hex')}`,
  );
  // A topic of its own and a will that is not retained, so that a command never publishes in place of the daemon.
  const will = { topic: `${mqtt.base_topic}/${command}`, payload: '', retain: false };
  const [first = 4, second] = protocolVersions(mqtt);
  try {
    return await Connection.open(address, first, will, onMessage, clock);
  } catch (err) {
    if (second === undefined || !(err instanceof Failure) || err.code !== 'broker_speaks_no_mqtt5') throw err;
    return Connection.open(address, second, will, onMessage, clock);
  }
}
