// A broker for the bench, in a process of its own: Mosquitto where there is one, else aedes.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { connectAsync, type MqttClient } from 'mqtt';
import { PIECES } from './children.ts';

export interface Broker {
  readonly kind: string;
  readonly url: string;
  readonly client: MqttClient;
  /** Resolves with the moment (`performance.now()`) at which a message that fits has come. */
  heard(fits: (topic: string, payload: string) => boolean): Promise<number>;
  /** Everything retained below a base topic, oldest knowledge first. */
  retained(filter: string): Promise<[string, string][]>;
  stop(): Promise<void>;
}

export async function startBroker(folder: string): Promise<Broker> {
  const port = await freePort();
  const mosquitto = await startMosquitto(folder, port);
  const child = mosquitto ?? fork(join(PIECES, 'aedes.mjs'), [String(port)]);
  const url = `mqtt://127.0.0.1:${port}`;
  const client = await connectAsync(url, { reconnectPeriod: 50, manualConnect: false });
  const hearers = new Set<(topic: string, payload: string) => void>();
  client.on('message', (topic, payload) => {
    for (const hear of hearers) hear(topic, payload.toString());
  });
  await client.subscribeAsync('#', { qos: 0 });
  return {
    kind: mosquitto === null ? 'aedes' : 'Mosquitto',
    url,
    client,
    heard: (fits) =>
      new Promise((resolve) => {
        const hear = (topic: string, payload: string) => {
          if (!fits(topic, payload)) return;
          hearers.delete(hear);
          resolve(performance.now());
        };
        hearers.add(hear);
      }),
    async retained(filter) {
      const found = new Map<string, string>();
      const reader = await connectAsync(url);
      reader.on('message', (topic, payload) => found.set(topic, payload.toString()));
      await reader.subscribeAsync(filter);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await reader.endAsync();
      return [...found];
    },
    async stop() {
      await client.endAsync(true);
      child.kill('SIGTERM');
    },
  };
}

async function startMosquitto(folder: string, port: number): Promise<ChildProcess | null> {
  const config = join(folder, 'mosquitto.conf');
  const lines = ['user root', `listener ${port} 127.0.0.1`, 'allow_anonymous true', 'max_queued_messages 0'];
  await writeFile(config, `${lines.join('\n')}\n`);
  const child = spawn('mosquitto', ['-c', config], {
    env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` },
    stdio: 'ignore',
  });
  return new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('spawn', () => resolve(child));
  });
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
