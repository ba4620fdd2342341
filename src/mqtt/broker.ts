// Where the broker is: from the configuration, or the one that the daemon brings along.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Mqtt } from '../config/schema.ts';
import type { Clock } from '../foundation/clock.ts';
import { type BrokerAddress, Connection } from './connection.ts';
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
  const { protocol, ca_file, cert_file, key_file } = mqtt;
  const passphrase = await mqtt.key_password?.read();
  return {
    url,
    versions: protocol === 'auto' ? [5, 4] : [protocol === '5' ? 5 : 4],
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

/**
 * A command's own connection, beside those of the daemon and of other commands: each has a client id of its own. Rejects as
 * `Connection.open` does, or with a fault of a secret file.
 */
export async function openBroker(
  mqtt: Mqtt,
  command: string,
  clock: Clock,
  onMessage?: (incoming: Incoming) => void,
): Promise<Connection> {
  const clientId = `heat2mqtt_${command}_${randomBytes(4).toString('hex')}`;
  const address = await brokerAddress(mqtt, mqtt.url, clientId);
  return Connection.open(address, clock, onMessage ? { onMessage } : {});
}
