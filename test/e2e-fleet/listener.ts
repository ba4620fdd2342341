// A client that hears the whole fleet: the newest payload of each topic, and every event.
import { randomUUID } from 'node:crypto';
import { connectAsync } from 'mqtt';

export type Listener = Awaited<ReturnType<typeof startListener>>;

export async function startListener(url: string) {
  const newest = new Map<string, string>();
  const events = new Set<string>();
  /** What bridge/state has said, in order. */
  const bridge: string[] = [];
  // The broker keeps this session: an event of the moment between its restart and this client's return is not missed.
  const client = await connectAsync(url, {
    protocolVersion: 5,
    reconnectPeriod: 500,
    clientId: `listener-${randomUUID()}`,
    clean: false,
    properties: { sessionExpiryInterval: 3_600 },
  });
  client.on('error', () => undefined);
  client.on('message', (topic, payload) => {
    const text = payload.toString('utf8');
    if (topic.endsWith('/event')) events.add(`${topic}\n${text}`);
    else newest.set(topic, text);
    if (topic === 'heat2mqtt/bridge/state') bridge.push(text);
  });
  await client.subscribeAsync('heat2mqtt/#', { qos: 1 });
  return {
    bridge: bridge as readonly string[],
    newest: newest as ReadonlyMap<string, string>,
    json: (topic: string): Record<string, unknown> => JSON.parse(newest.get(topic) || '{}'),
    hasHeard: ({ topic, payload }: { topic: string; payload: string }) => events.has(`${topic}\n${payload}`),
    stop: () => client.endAsync(true),
  };
}
