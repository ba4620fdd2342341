// Where the broker is: from the configuration, or the one that the daemon brings along.
import { readFile } from 'node:fs/promises';
import type { Mqtt } from '../../config/schema.ts';
import type { BrokerAddress, ProtocolVersion } from '../../mqtt/connection.ts';
import { type EmbeddedBroker, startBroker } from '../../mqtt/embedded.ts';

/** `null` when the configuration names no embedded broker. Rejects when its port is taken. */
export async function startEmbedded(mqtt: Mqtt): Promise<EmbeddedBroker | null> {
  if (mqtt.embedded === false) return null;
  const password = await mqtt.password?.read();
  return startBroker({
    ...mqtt.embedded,
    ...(mqtt.username === undefined ? {} : { username: mqtt.username }),
    ...(password === undefined ? {} : { password }),
  });
}

/** Reads secrets and certificates anew: a renewed one needs no restart. */
export async function brokerAddress(mqtt: Mqtt, url: string, clientId: string): Promise<BrokerAddress> {
  const { ca_file, cert_file, key_file } = mqtt;
  const passphrase = await mqtt.key_password?.read();
  return {
    url,
    clientId,
    username: mqtt.username,
    password: await mqtt.password?.read(),
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
