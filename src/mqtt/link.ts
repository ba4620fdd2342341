// The lasting link to the broker: connects again for as long as it takes, and delivers the newest of each topic.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { type BrokerAddress, Connection, type ProtocolVersion } from './connection.ts';
import type { Incoming, Message } from './message.ts';

export interface LinkOptions {
  /** Asked before each attempt, so that changed secrets and certificates are picked up. */
  readonly address: () => Promise<BrokerAddress>;
  readonly will: Message;
  /** MQTT 5: the will waits so long for a connection that goes on with the session of this client id. */
  readonly willAfterSeconds?: number;
  readonly subscriptions?: readonly string[];
  /** Those of them whose messages keep the retain flag that they are published with, where the broker can. */
  readonly retainAsPublished?: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** Draws from [0, 1). */
  readonly random: () => number;
}

export interface LinkConsumers {
  /** The current state of everything, asked for on each connect; it goes out first, in this order. */
  readonly announcement: () => readonly Message[];
  readonly onMessage?: (incoming: Incoming) => void;
  /** The broker has acknowledged the message. */
  readonly onDelivered?: (message: Message) => void;
  /** A message was published that is not retained: a listener that is not told now misses it. */
  readonly onPassing?: (message: Message) => void;
  /** The connection has come or gone. */
  readonly onStatus?: () => void;
  /** Called with each connection before anything is published. `read` gives what is retained below a filter. */
  readonly restore?: (read: (filter: string) => Promise<readonly Incoming[]>) => Promise<void>;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
// A connection that breaks sooner does not reset the back-off.
const STABLE_MS = 30_000;
// Not every broker tells a client why it closes the connection.
const SHORT_LIVED = {
  hint: "If this goes on: another client may use the same client id, or the broker's log tells why it cuts.",
};
const MOST_UNDER_WAY = 32;
// Retained messages follow a subscription at once; only a silence shows that the last one has come.
const SILENCE_MS = 700;
const MOST_SILENCES = 30;
// Other clients may have published there.
const MOST_RESTORED_BYTES = 64 * 1024 * 1024;

export class Link {
  readonly #options: LinkOptions;
  readonly #outbox = new Outbox();
  readonly #stopping = new AbortController();
  #consumers: LinkConsumers | null = null;
  #running: Promise<void> = Promise.resolve();
  #connection: Connection | null = null;
  /** The connection that did not acknowledge a message. */
  #givenUp: Connection | null = null;
  #hasConnected = false;
  /** On the monotonic clock: a Pi that starts in 1970 has not been offline for decades. */
  #offlineSince: number;
  /** The one of the last connection; `null` after a failed attempt. */
  #version: ProtocolVersion | null = null;
  #lastWarning = '';
  #published = 0;
  #drained = false;
  #underWay = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#offlineSince = options.clock.monotonic();
  }

  start(consumers: LinkConsumers): void {
    this.#consumers = consumers;
    this.#running = this.#run(consumers);
  }

  /** Until the first connection retained messages are dropped: the announcement has them, after what is restored. */
  publish(messages: readonly Message[]): void {
    if (this.#stopping.signal.aborted) return;
    for (const message of messages) {
      if (this.#hasConnected || !message.retain) this.#outbox.put(message);
      if (!message.retain) this.#consumers?.onPassing?.(message);
    }
    this.#pump();
  }

  /**
   * Publishes over the present connection, past what waits. Resolves when the broker has acknowledged all; rejects when
   * there is no connection, or it ends.
   */
  async send(messages: readonly Message[]): Promise<void> {
    const over = this.#connection;
    if (over === null) throw new Error('no connection to the broker');
    await Promise.all(messages.map((message) => over.publish(message)));
    this.#published += messages.length;
  }

  status() {
    const connected = this.#connection !== null;
    return {
      connected,
      /** Whether there was a connection since the start. */
      hasConnected: this.#hasConnected,
      /** Milliseconds since the last moment with a connection, or since the start; 0 while connected. */
      offlineMs: connected ? 0 : this.#options.clock.monotonic() - this.#offlineSince,
      /** Messages that the broker has not acknowledged yet. */
      waiting: this.#outbox.size,
      /** Everything that waited has been delivered at least once. */
      drained: this.#drained,
      published: this.#published,
    };
  }

  /**
   * Publishes the last words after what is under way, if there is a connection, and ends it within the deadline.
   * Nothing else is published from now on: a later `online` would stay on the broker for good.
   */
  async stop(lastWords: readonly Message[], deadlineMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#stopping.abort();
    const last = this.#connection;
    if (last) {
      const said = Promise.all(lastWords.map((message) => last.publish(message)));
      await Promise.race([said.catch(() => undefined), clock.sleep(deadlineMs / 2)]);
      await last.close(deadlineMs / 2);
    }
    await Promise.race([this.#running, clock.sleep(deadlineMs)]);
  }

  #pump(): void {
    while (this.#connection !== null && this.#underWay < MOST_UNDER_WAY && !this.#stopping.signal.aborted) {
      const message = this.#outbox.take();
      if (!message) return;
      void this.#deliver(this.#connection, message);
    }
  }

  async #deliver(over: Connection, message: Message): Promise<void> {
    this.#underWay += 1;
    try {
      await over.publish(message);
      this.#outbox.done(message);
      this.#published += 1;
      this.#drained ||= this.#outbox.size === 0;
      this.#consumers?.onDelivered?.(message);
    } catch (err) {
      // Not acknowledged: it stays in the outbox, and a connection that swallows messages is of no use.
      if (over === this.#connection && over !== this.#givenUp)
        this.#options.log.warn({ err, topic: message.topic }, 'publish was not acknowledged');
      this.#givenUp = over;
      await over.close(0);
    } finally {
      this.#underWay -= 1;
    }
    this.#pump();
  }

  async #run(consumers: LinkConsumers): Promise<void> {
    const { clock, log, random } = this.#options;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const opened = await this.#open(consumers);
        const since = clock.monotonic();
        const why = await this.#live(opened, consumers);
        if (signal.aborted) break;
        const wasStable = clock.monotonic() - since > STABLE_MS;
        log.warn({ why, ...(wasStable ? {} : SHORT_LIVED) }, 'connection to the broker lost');
        if (wasStable) failures = 0;
      } catch (err) {
        if (signal.aborted) break;
        this.#version = null;
        this.#warnOnce(err);
      }
      failures += 1;
      const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 10), LONGEST_WAIT_MS);
      await clock.sleep(wait * (0.75 + random() / 2), signal);
    }
  }

  /** Connects, restores, subscribes. Rejects as `Connection.open` does, or with a fault of a secret file. */
  async #open({ onMessage = () => undefined, restore }: LinkConsumers): Promise<Connection> {
    const {
      address,
      will,
      willAfterSeconds = 0,
      subscriptions = [],
      retainAsPublished,
      clock,
    } = this.#options;
    const { signal } = this.#stopping;
    let hear = onMessage;
    const { versions, ...place } = await address();
    const opened = await Connection.open(
      { ...place, versions: this.#version === null ? versions : [this.#version] },
      clock,
      { onMessage: (incoming) => hear(incoming), will, willAfterSeconds },
    );
    this.#version = opened.version;
    try {
      await restore?.(async (filter) => {
        const retained: Incoming[] = [];
        let bytes = 0;
        hear = (incoming) => {
          if (incoming.retained && bytes < MOST_RESTORED_BYTES) retained.push(incoming);
          bytes += incoming.payload.length;
          onMessage(incoming);
        };
        await opened.subscribe([filter]);
        for (let waited = 0, before = -1; waited < MOST_SILENCES && retained.length !== before; waited += 1) {
          before = retained.length;
          await clock.sleep(SILENCE_MS, signal);
        }
        hear = onMessage;
        // What has come until then may be a part, which would count as all there is.
        signal.throwIfAborted();
        await opened.unsubscribe(filter);
        return retained;
      });
      if (subscriptions.length > 0) await opened.subscribe(subscriptions, retainAsPublished);
      signal.throwIfAborted();
      return opened;
    } catch (err) {
      await opened.close(0);
      throw err;
    }
  }

  /** Resolves when the connection has ended, with the reason. */
  async #live(opened: Connection, { announcement, onStatus }: LinkConsumers): Promise<string> {
    const { clock, log } = this.#options;
    this.#lastWarning = '';
    this.#hasConnected = true;
    this.#outbox.lead(announcement());
    this.#connection = opened;
    log.info({ mqtt: opened.version === 5 ? '5' : '3.1.1' }, 'connected to the broker');
    this.#pump();
    onStatus?.();
    const why = await opened.ended;
    this.#connection = null;
    this.#offlineSince = clock.monotonic();
    this.#outbox.rewind();
    onStatus?.();
    return why;
  }

  // Once for each reason: the same failure every half minute is no news.
  #warnOnce(err: unknown): void {
    const words = String(err);
    const told = err instanceof Failure ? safeWords(err) : { err };
    if (words !== this.#lastWarning) this.#options.log.warn(told, 'no connection to the broker');
    this.#lastWarning = words;
  }
}

const MOST_EVENTS = 500;

/** A retained message is kept by its topic, an event by itself; a step is kept beside the final message of its topic. */
const place = ({ topic, step }: Message): string => (step ? `${topic}\0step` : topic);
const keyOf = (message: Message): string | Message => (message.retain ? place(message) : message);

export class Outbox {
  /** In the order in which they go out. */
  #waiting = new Map<string | Message, Message>();
  readonly #underWay = new Set<Message>();
  readonly #events = new Set<Message>();

  get size(): number {
    return this.#waiting.size + this.#underWay.size;
  }

  put(message: Message): void {
    const key = keyOf(message);
    // Deleted first: a newer message goes behind the others.
    this.#waiting.delete(key);
    this.#waiting.set(key, message);
    if (message.retain) return;
    this.#events.add(message);
    if (this.#events.size <= MOST_EVENTS) return;
    // A flood on one topic makes room for itself, so that it drowns no event of another.
    const [oldest = message, ...newer] = this.#events;
    const crowded = [oldest, ...newer].find(({ topic }) => topic === message.topic);
    this.#drop(crowded === undefined || crowded === message ? oldest : crowded);
  }

  /** The next message that is not on its way yet, oldest first. */
  take(): Message | undefined {
    const [next] = this.#waiting.values();
    if (!next) return undefined;
    this.#drop(next);
    this.#underWay.add(next);
    return next;
  }

  /** The broker has acknowledged the message. */
  done(message: Message): void {
    this.#underWay.delete(message);
  }

  /** The connection is gone: everything not acknowledged waits again; of events only the newest of each topic. */
  rewind(): void {
    const newest = new Map<string, Message>();
    for (const message of [...this.#underWay, ...this.#waiting.values()]) {
      newest.delete(place(message));
      newest.set(place(message), message);
    }
    this.#underWay.clear();
    this.#events.clear();
    this.#waiting = new Map();
    for (const message of newest.values()) {
      this.#waiting.set(keyOf(message), message);
      if (!message.retain) this.#events.add(message);
    }
  }

  /** Puts these first, in this order, before whatever waits; they replace waiting messages of the same topics. */
  lead(messages: readonly Message[]): void {
    for (const message of messages) this.#drop(message);
    const behind = this.#waiting;
    this.#waiting = new Map();
    for (const message of messages) this.#waiting.set(keyOf(message), message);
    for (const [key, message] of behind) this.#waiting.set(key, message);
  }

  #drop(message: Message): void {
    this.#waiting.delete(keyOf(message));
    this.#events.delete(message);
  }
}
