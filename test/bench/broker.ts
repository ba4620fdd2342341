// Mosquitto in a process of its own, and a client that listens to all of it.
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { freePort } from '../e2e/mosquitto.ts';

export type Broker = Awaited<ReturnType<typeof startBroker>>;

export async function startBroker(folder: string) {
  const port = await freePort();
  const config = join(folder, 'mosquitto.conf');
  const lines = ['user root', `listener ${port} 127.0.0.1`, 'allow_anonymous true', 'max_queued_messages 0'];
  await writeFile(config, `${lines.join('\n')}\n`);
  const child = spawn('mosquitto', ['-c', config], {
    env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` },
    stdio: 'ignore',
  });
  await new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', () => reject(new Error('the bench needs Mosquitto: apt-get install mosquitto')));
  });
  const url = `mqtt://127.0.0.1:${port}`;
  const client = await connectAsync(url, { reconnectPeriod: 50 });
  const listeners = new Set<(topic: string) => void>();
  client.on('message', (topic) => {
    for (const listen of listeners) listen(topic);
  });
  await client.subscribeAsync('#', { qos: 0 });
  return {
    url,
    /** Resolves with the moment (`performance.now()`) of the message that is the `count`th to fit. */
    heard: (fits: (topic: string) => boolean, count = 1): Promise<number> =>
      new Promise((resolve) => {
        let left = count;
        const listen = (topic: string) => {
          if (!fits(topic)) return;
          left -= 1;
          if (left > 0) return;
          listeners.delete(listen);
          resolve(performance.now());
        };
        listeners.add(listen);
      }),
    /** Everything retained that matches one of the filters, as topic and payload. */
    async retained(...filters: string[]): Promise<[string, string][]> {
      const found = new Map<string, string>();
      const reader = await connectAsync(url);
      reader.on('message', (topic, payload) => found.set(topic, payload.toString()));
      await reader.subscribeAsync(filters);
      await new Promise((resolve) => setTimeout(resolve, 500));
      await reader.endAsync();
      return [...found];
    },
    async stop() {
      await client.endAsync(true);
      child.kill('SIGTERM');
    },
  };
}
