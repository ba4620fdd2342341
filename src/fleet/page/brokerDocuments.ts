// What the page of a fleet follows: the retained documents as the broker has them, so that any process can show them.
// Connected while somebody looks.
import type { Mqtt } from '../../config/schema.ts';
import type { Clock } from '../../foundation/clock.ts';
import { safeWords } from '../../foundation/failure.ts';
import type { Log } from '../../foundation/log.ts';
import { openBroker } from '../../mqtt/broker.ts';
import type { Connection } from '../../mqtt/connection.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Incoming } from '../../mqtt/message.ts';
import { isRetained } from '../../publication/topics.ts';
import { newClientId } from '../../store/installation.ts';
import type { BrokerState, Document, DocumentSource, Follower } from '../../web/events.ts';

interface Parts {
  readonly mqtt: Mqtt;
  /** Of the client; one for each process. */
  readonly name: string;
  readonly link: Pick<Link, 'status'>;
  /** Topic filters of what the page shows. */
  readonly filters: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Log;
}

interface Reader {
  readonly on: Parameters<DocumentSource['follow']>[0];
  /** Topics that have changed since they were taken. */
  readonly changed: Set<string>;
}

const AT_ONCE = 50;
const AGAIN_MS = 5_000;
const CLOSE_MS = 500;

export class BrokerDocuments implements DocumentSource {
  readonly #parts: Parts;
  readonly #readers = new Set<Reader>();
  /** Payloads by topic, without the base topic. */
  readonly #kept = new Map<string, string>();
  #looking = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#looking.abort();
  }

  broker(): BrokerState {
    const { connected, hasConnected } = this.#parts.link.status();
    if (connected) return 'connected';
    return hasConnected ? 'disconnected' : 'none';
  }

  follow(on: Reader['on']): Follower {
    const reader: Reader = { on, changed: new Set(this.#kept.keys()) };
    this.#readers.add(reader);
    if (this.#looking.signal.aborted) void this.#look();
    return {
      take: () => this.#take(reader),
      stop: () => {
        this.#readers.delete(reader);
        if (this.#readers.size === 0) this.stop();
      },
    };
  }

  stop(): void {
    this.#looking.abort();
    this.#kept.clear();
  }

  #take({ changed }: Reader): readonly Document[] | null {
    const topics = [...changed].slice(0, AT_ONCE);
    for (const topic of topics) changed.delete(topic);
    return topics.length === 0
      ? null
      : topics.map((topic) => ({ topic, payload: this.#kept.get(topic) ?? '' }));
  }

  async #look(): Promise<void> {
    const { mqtt, name, filters, clock, log } = this.#parts;
    this.#looking = new AbortController();
    const { signal } = this.#looking;
    while (!signal.aborted) {
      let connection: Connection | null = null;
      try {
        connection = await openBroker(mqtt, newClientId(), name, clock, (incoming) =>
          this.#hear(incoming, signal),
        );
        await connection.subscribe(await filters());
        const over = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        await Promise.race([connection.ended, over]);
      } catch (err) {
        log.info(safeWords(err), 'the page cannot read from the broker');
      }
      await connection?.close(CLOSE_MS);
      for (const { on } of this.#readers) on.broker(this.broker());
      await clock.sleep(AGAIN_MS, signal);
    }
  }

  #hear({ topic, payload }: Incoming, signal: AbortSignal): void {
    const start = `${this.#parts.mqtt.base_topic}/`;
    if (signal.aborted || !topic.startsWith(start)) return;
    const document = { topic: topic.slice(start.length), payload: payload.toString('utf8') };
    if (!isRetained(document.topic)) {
      if (document.topic.endsWith('/event')) for (const { on } of this.#readers) on.event(document);
      return;
    }
    if (document.payload === '') this.#kept.delete(document.topic);
    else this.#kept.set(document.topic, document.payload);
    for (const { on, changed } of this.#readers) {
      changed.add(document.topic);
      on.changed();
    }
  }
}
