// The lasting link to the broker: connects again for as long as it takes, and delivers the newest of each topic.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import {
  type BrokerAddress,
  type Connection,
  openConnection,
  type ProtocolVersion,
  PublishRefused,
} from './connection.ts';
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
  /** The broker has refused a message, or has taken one on a topic that it had refused. */
  readonly onRefusals?: () => void;
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
// On each connection: who asks may name any response topic.
const MOST_REFUSALS_LOGGED = 50;
// Retained messages follow a subscription at once; only a silence shows that the last one has come.
const SILENCE_MS = 700;
const MOST_SILENCES = 30;
// Other clients may have published there.
const MOST_RESTORED_BYTES = 64 * 1024 * 1024;

export type Link = ReturnType<typeof openLink>;

export function openLink(options: LinkOptions) {
  const { address, will, willAfterSeconds = 0, subscriptions = [], retainAsPublished, clock, log } = options;
  const outbox = openOutbox();
  const stopping = new AbortController();
  const { signal } = stopping;
  let consumers: LinkConsumers = { announcement: () => [] };
  let running: Promise<void> = Promise.resolve();
  let connection: Connection | null = null;
  let hasConnected = false;
  /** On the monotonic clock: a Pi that starts in 1970 has not been offline for decades. */
  let offlineSince = clock.monotonic();
  /** The one of the last connection; `null` after a failed attempt. */
  let version: ProtocolVersion | null = null;
  let lastWarning = '';
  let published = 0;
  let drained = false;
  let underWay = 0;
  /** Retained topics whose newest message of the outbox the broker has refused. */
  const refused = new Map<string, PublishRefused>();
  const logged = new Set<string>();
  /** The topic whose message was under way when the last connection ended: the next one sends one at a time, to find the culprit. */
  let suspect: string | null = null;
  const leftOut = new Set<string>();

  function pump(): void {
    while (connection !== null && underWay < mostUnderWay() && !signal.aborted) {
      const message = outbox.take();
      if (!message) return;
      void deliver(connection, message);
    }
  }

  const mostUnderWay = () => (suspect === null ? MOST_UNDER_WAY : 1);

  /** Resolves to `null` once the broker has taken it, or to its refusal. Rejects when there is no answer. */
  async function offer(over: Connection, message: Message): Promise<PublishRefused | null> {
    const { topic } = message;
    try {
      if (leftOut.has(topic)) throw new PublishRefused(topic, ENDS_CONNECTION.why, ENDS_CONNECTION.hint);
      await over.publish(message);
    } catch (err) {
      if (!(err instanceof PublishRefused)) throw err;
      if (!logged.has(topic) && logged.size < MOST_REFUSALS_LOGGED) {
        logged.add(topic);
        const { message: sentence, ...words } = safeWords(err);
        log.warn(words, sentence);
      }
      return err;
    }
    published += 1;
    return null;
  }

  async function deliver(over: Connection, message: Message): Promise<void> {
    const { topic, retain } = message;
    underWay += 1;
    try {
      const refusal = await offer(over, message);
      outbox.done(message);
      if (outbox.size() === 0) [drained, suspect] = [true, null];
      if (refusal === null) consumers.onDelivered?.(message);
      else if (retain) refused.set(topic, refusal);
      if (refusal === null ? refused.delete(topic) : retain) consumers.onRefusals?.();
    } catch (err) {
      // Not acknowledged: it stays in the outbox, and a connection that swallows messages is of no use.
      if (over === connection) {
        log.warn({ err, topic: message.topic }, 'publish was not acknowledged');
        leave();
      }
      await over.close(0);
    } finally {
      underWay -= 1;
    }
    pump();
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        const opened = await open();
        const since = clock.monotonic();
        const why = await live(opened);
        if (signal.aborted) break;
        const wasStable = clock.monotonic() - since > STABLE_MS;
        log.warn({ why, ...(wasStable ? {} : SHORT_LIVED) }, 'connection to the broker lost');
        if (wasStable) failures = 0;
      } catch (err) {
        if (signal.aborted) break;
        version = null;
        warnOnce(err);
      }
      failures += 1;
      const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 10), LONGEST_WAIT_MS);
      await clock.sleep(wait * (0.75 + options.random() / 2), signal);
    }
  }

  /** Connects, restores, subscribes. Rejects as `openConnection` does, or with a fault of a secret file. */
  async function open(): Promise<Connection> {
    const { onMessage = () => undefined, restore } = consumers;
    let hear = onMessage;
    const { versions, ...place } = await address();
    const opened = await openConnection(
      { ...place, versions: version === null ? versions : [version] },
      clock,
      { onMessage: (incoming) => hear(incoming), will, willAfterSeconds },
    );
    version = opened.version;
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
  async function live(opened: Connection): Promise<string> {
    lastWarning = '';
    hasConnected = true;
    logged.clear();
    outbox.lead(consumers.announcement());
    connection = opened;
    log.info({ mqtt: opened.version === 5 ? '5' : '3.1.1' }, 'connected to the broker');
    pump();
    consumers.onStatus?.();
    const why = await opened.ended;
    leave();
    blame(outbox.oldestUnderWay());
    outbox.rewind();
    consumers.onStatus?.();
    return why;
  }

  /** Brokers answer in order: what has no answer yet is what the connection ended with. */
  function blame(message: Message | undefined): void {
    const topic = message?.topic ?? null;
    // It was something else this time, as it may have been before: what is left out gets another chance.
    if (topic === null) leftOut.clear();
    // The broker has taken a will for that topic: it is not the message that ends the connection.
    else if (topic === suspect && topic !== will.topic) leftOut.add(topic);
    suspect = topic;
  }

  function leave(): void {
    connection = null;
    offlineSince = clock.monotonic();
  }

  // Once for each reason: the same failure every half minute is no news.
  function warnOnce(err: unknown): void {
    const words = String(err);
    const told = err instanceof Failure ? safeWords(err) : { err };
    if (words !== lastWarning) log.warn(told, 'no connection to the broker');
    lastWarning = words;
  }

  return {
    start(given: LinkConsumers): void {
      consumers = given;
      running = run();
    },

    /** Until the first connection retained messages are dropped: the announcement has them, after what is restored. */
    publish(messages: readonly Message[]): void {
      if (signal.aborted) return;
      for (const message of messages) {
        if (hasConnected || !message.retain) outbox.put(message);
        if (!message.retain) consumers.onPassing?.(message);
      }
      pump();
    },

    /**
     * Publishes over the present connection, past what waits. Resolves when the broker has answered all, with the topics
     * that it has refused; rejects when there is no connection, or it ends.
     */
    async send(messages: readonly Message[]): Promise<ReadonlySet<string>> {
      const over = connection;
      if (over === null) throw new Error('no connection to the broker');
      const refusals = await Promise.all(messages.map((message) => offer(over, message)));
      return new Set(messages.filter((_, at) => refusals[at] !== null).map(({ topic }) => topic));
    },

    /** Of the retained topics, in the order in which they were first refused. */
    refusals: (): readonly PublishRefused[] => [...refused.values()],

    status: () => ({
      connected: connection !== null,
      /** Whether there was a connection since the start. */
      hasConnected,
      /** Milliseconds since the last moment with a connection, or since the start; 0 while connected. */
      offlineMs: connection !== null ? 0 : clock.monotonic() - offlineSince,
      /** Messages that the broker has not acknowledged yet. */
      waiting: outbox.size(),
      /** Everything that waited has been delivered or refused at least once. */
      drained,
      published,
    }),

    /**
     * Publishes the last words after what is under way, if there is a connection, and ends it within the deadline.
     * Nothing else is published from now on: a later `online` would stay on the broker for good.
     */
    async stop(lastWords: readonly Message[], deadlineMs: number): Promise<void> {
      stopping.abort();
      const last = connection;
      if (last) {
        const said = Promise.all(lastWords.map((message) => last.publish(message)));
        await Promise.race([said.catch(() => undefined), clock.sleep(deadlineMs / 2)]);
        await last.close(deadlineMs / 2);
      }
      await Promise.race([running, clock.sleep(deadlineMs)]);
    },
  };
}

const ENDS_CONNECTION = {
  why: 'it ends the connection when that is sent',
  hint: "The broker's log may tell why: the right to write there, or a limit of size.",
};

const MOST_EVENTS = 500;

/** A retained message is kept by its topic, an event by itself; a step is kept beside the final message of its topic. */
const place = ({ topic, step }: Message): string => (step ? `${topic}\0step` : topic);
const keyOf = (message: Message): string | Message => (message.retain ? place(message) : message);

/** What waits for the broker: the newest message of each retained topic, and events. */
export function openOutbox() {
  /** In the order in which they go out. */
  let waiting = new Map<string | Message, Message>();
  const underWay = new Set<Message>();
  const events = new Set<Message>();

  function drop(message: Message): void {
    waiting.delete(keyOf(message));
    events.delete(message);
  }

  return {
    size: (): number => waiting.size + underWay.size,

    put(message: Message): void {
      const key = keyOf(message);
      // Deleted first: a newer message goes behind the others.
      waiting.delete(key);
      waiting.set(key, message);
      if (message.retain) return;
      events.add(message);
      if (events.size <= MOST_EVENTS) return;
      // The oldest of its own topic gives way, so that a flood drowns no event of another; where it is the only one, the oldest of all.
      const [oldest = message, ...newer] = events;
      const crowded = [oldest, ...newer].find(({ topic }) => topic === message.topic);
      drop(crowded === undefined || crowded === message ? oldest : crowded);
    },

    /** The next message that is not on its way yet, oldest first. */
    take(): Message | undefined {
      const [next] = waiting.values();
      if (!next) return undefined;
      drop(next);
      underWay.add(next);
      return next;
    },

    oldestUnderWay: (): Message | undefined => [...underWay][0],

    /** The broker has answered. */
    done: (message: Message): boolean => underWay.delete(message),

    /** The connection is gone: everything not acknowledged waits again; of events only the newest of each topic. */
    rewind(): void {
      const newest = new Map<string, Message>();
      for (const message of [...underWay, ...waiting.values()]) {
        newest.delete(place(message));
        newest.set(place(message), message);
      }
      underWay.clear();
      events.clear();
      waiting = new Map([...newest.values()].map((message) => [keyOf(message), message]));
      for (const message of waiting.values()) if (!message.retain) events.add(message);
    },

    /** Puts these first, in this order, before whatever waits; they replace waiting messages of the same topics. */
    lead(messages: readonly Message[]): void {
      for (const message of messages) drop(message);
      const first = messages.map((message) => [keyOf(message), message] as const);
      waiting = new Map([...first, ...waiting]);
    },
  };
}
