// An MQTT client that hears everything and remembers every message with its retain flag.
import { connectAsync, type IClientOptions, type IClientPublishOptions, type MqttClient } from 'mqtt';
import { waitFor } from './waitFor.ts';

export interface Heard {
  readonly topic: string;
  readonly payload: string;
  /** It stood on the broker before the probe came. */
  readonly retained: boolean;
  readonly qos: number;
  readonly correlation: string | undefined;
}

export interface Probe {
  /** In the order of arrival. */
  readonly heard: readonly Heard[];
  on(topic: string): Heard[];
  last(topic: string): Heard | undefined;
  /** The last payload on the topic as JSON, or `undefined`. */
  json(topic: string): Record<string, unknown> | undefined;
  /** Waits for a JSON payload on the topic that pleases; those already heard count. */
  until(
    topic: string,
    pleases: (payload: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown>>;
  publish(topic: string, payload: string, options?: IClientPublishOptions): Promise<void>;
  /** Forgets what was heard. */
  forget(): void;
  stop(): Promise<void>;
}

export async function startProbe(url: string, options: IClientOptions = {}): Promise<Probe> {
  const heard: Heard[] = [];
  const client: MqttClient = await connectAsync(url, { reconnectPeriod: 0, protocolVersion: 4, ...options });
  // A broker that is stopped under a test ends this connection too.
  client.on('error', () => undefined);
  client.on('message', (topic, payload, { retain, qos, properties }) => {
    const correlation = properties?.correlationData?.toString();
    heard.push({ topic, payload: payload.toString('utf8'), retained: retain, qos, correlation });
  });
  await client.subscribeAsync('#', { qos: 1 });

  const on = (topic: string) => heard.filter((message) => message.topic === topic);
  return {
    heard,
    on,
    last: (topic) => on(topic).at(-1),
    json: (topic) => asObject(on(topic).at(-1)?.payload),
    until(topic, pleases) {
      const find = () =>
        on(topic)
          .map(({ payload }) => asObject(payload))
          .find((payload) => payload !== undefined && pleases(payload));
      return waitFor(`a message on ${topic}`, find, {
        diagnose: () => ({ last: on(topic).at(-1), topics: [...new Set(heard.map((one) => one.topic))] }),
      });
    },
    async publish(topic, payload, publishOptions = {}) {
      await client.publishAsync(topic, payload, { qos: 1, ...publishOptions });
    },
    forget: () => void heard.splice(0),
    async stop() {
      await client.endAsync(true);
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
