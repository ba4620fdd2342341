// Mosquitto in a process of its own, and a client that listens to all of it.
import { connectAsync } from 'mqtt';
import { startMosquitto } from '../e2e/mosquitto.ts';

export type Broker = Awaited<ReturnType<typeof startBroker>>;

export async function startBroker() {
  const mosquitto = await startMosquitto(['allow_anonymous true', 'max_queued_messages 0'], false);
  const { url } = mosquitto;
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
      await mosquitto.stop();
    },
  };
}
