// Topics below the base topic, and how a payload gets there. Each is entered once, in payloads/payloads.ts.
import type { Message } from '../mqtt/message.ts';
import type { PayloadByTopic, TopicName } from './payloads/payloads.ts';

/** A text for each `<…>` of a topic, in order. */
type Levels<T extends string> = T extends `${string}<${string}>${infer Rest}`
  ? [string, ...Levels<Rest>]
  : [];

export class Topics {
  readonly base: string;

  constructor(base: string) {
    this.base = base;
  }

  /** `topics.of('meter/<meter>/state', '70418235')`: `heat2mqtt/meter/70418235/state`. */
  of<T extends TopicName>(topic: T, ...levels: Levels<T>): string {
    const left: string[] = [...levels];
    return `${this.base}/${topic.replace(/<\w+>/g, () => left.shift() ?? '')}`;
  }

  /** The filter of all requests. */
  get requests(): string {
    return `${this.base}/bridge/request/+`;
  }

  /** A JSON payload with its schema number. */
  message<T extends keyof PayloadByTopic>(topic: T, levels: Levels<T>, payload: PayloadByTopic[T]): Message {
    return {
      topic: this.of(topic, ...levels),
      payload: JSON.stringify({ schema: 1, ...payload }),
      retain: isRetained(topic),
    };
  }
}

/** Events, requests and responses pass: who subscribes later does not get them. */
export const isRetained = (topic: string): boolean => !/\/(event|request\/.+|response\/.+)$/.test(topic);

/** Withdraws a retained topic. */
export const clear = (topic: string): Message => ({ topic, payload: '', retain: true });
