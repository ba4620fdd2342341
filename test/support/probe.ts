// An MQTT client that hears everything, remembers every message with its retain flag, and checks it against its schema.
import { connectAsync, type IClientOptions, type IClientPublishOptions } from 'mqtt';
import { baseOf, complaintAbout, reasonMissing, schemaMissing } from './payloads.ts';
import { turn, waitFor } from './waitFor.ts';

interface Heard {
  readonly topic: string;
  readonly payload: string;
  /** It was retained before the probe subscribed. */
  readonly retained: boolean;
  readonly qos: number;
  readonly correlation: string | undefined;
}

export type Probe = Awaited<ReturnType<typeof startProbe>>;

/** Said by a test, not by us: it may be any nonsense. */
const foreign = new Set<string>();
const markForeign = (topic: string, payload: string | Buffer): void =>
  void foreign.add(`${topic}\n${payload}`);

/** `settle` is awaited before each look at what was heard. */
export async function startProbe(
  url: string,
  options: IClientOptions = {},
  settle: () => Promise<void> = turn,
) {
  const heard: Heard[] = [];
  const listeners: ((message: Heard) => void)[] = [];
  const bases = new Set<string>();
  const topics = new Set<string>();
  const complaints = new Set<string>();
  const client = await connectAsync(url, { reconnectPeriod: 0, protocolVersion: 4, ...options });
  // A broker that is stopped under a test ends this connection too.
  client.on('error', () => undefined);
  client.on('message', (topic, payload, { retain, qos, properties }) => {
    const correlation = properties?.correlationData?.toString();
    const one = { topic, payload: payload.toString('utf8'), retained: retain, qos, correlation };
    heard.push(one);
    for (const listener of listeners) listener(one);
    if (foreign.has(`${topic}\n${payload}`)) return;
    topics.add(topic);
    const base = baseOf(topic);
    if (base !== undefined) bases.add(base);
    const complaint = complaintAbout(one) ?? reasonMissing(one);
    if (complaint !== null) complaints.add(complaint);
  });
  await client.subscribeAsync('#', { qos: 1 });

  const on = (topic: string) => heard.filter((message) => message.topic === topic);
  const isCleared = (topic: string) => on(topic).at(-1)?.payload === '';
  return {
    /** In the order of arrival. */
    heard: heard as readonly Heard[],
    on,
    last: (topic: string): Heard | undefined => on(topic).at(-1),
    /** The last payload on the topic as JSON, or `undefined`. */
    json: (topic: string) => asObject(on(topic).at(-1)?.payload),
    /** All payloads on the topic, which are JSON. */
    all: (topic: string) => on(topic).map(({ payload }) => JSON.parse(payload)),
    /** Waits for a JSON payload on the topic that pleases; those already heard count. */
    until(topic: string, pleases: (payload: Record<string, unknown>) => boolean = () => true) {
      const find = () =>
        on(topic)
          .map(({ payload }) => asObject(payload))
          .find((payload) => payload !== undefined && pleases(payload));
      return waitFor(`a message on ${topic}`, () => settle().then(find), {
        diagnose: () => ({ last: on(topic).at(-1), topics: [...new Set(heard.map((one) => one.topic))] }),
      });
    },
    /** Waits until an empty payload is the last word on each of the topics. */
    untilCleared: (topics: readonly string[]) =>
      waitFor('withdrawals', () => settle().then(() => topics.every(isCleared)), {
        diagnose: () => topics.map((topic) => on(topic).at(-1)),
      }),
    async publish(topic: string, payload: string | Buffer, publishOptions: IClientPublishOptions = {}) {
      markForeign(topic, payload);
      await client.publishAsync(topic, payload, { qos: 1, ...publishOptions });
    },
    /** Calls it with each message as it comes in. */
    onMessage: (listener: (message: Heard) => void) => void listeners.push(listener),
    /** Forgets what was heard. */
    forget: () => void heard.splice(0),
    /** Rejects when one of our topics said what its schema does not allow. */
    async stop() {
      await client.endAsync(true);
      for (const topic of topics) complaints.add(schemaMissing(bases, topic) ?? '');
      complaints.delete('');
      if (complaints.size > 0) throw new Error([...complaints].join('\n'));
    },
  };
}

function asObject(payload: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(payload ?? '');
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
