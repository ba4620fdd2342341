// The lasting link to the broker: connects again for as long as it takes, and delivers the newest of each topic.
import type { Clock } from '../foundation/clock.ts';
import type { Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { BrokerAddress, Connection, ProtocolVersion } from './connection.ts';
import type { Incoming, Message } from './message.ts';
import { openConnection, type Recollection } from './opening.ts';
import { createOutbox } from './outbox.ts';
import { BrokerUnreachable } from './refusal.ts';

export interface LinkParts {
  /** Asked before each attempt, so that changed secrets and certificates are picked up. */
  readonly address: () => Promise<BrokerAddress>;
  readonly versions: readonly ProtocolVersion[];
  readonly will: Message;
  readonly subscriptions: readonly string[];
  readonly onMessage: (incoming: Incoming) => void;
  /** What the broker remembers is read before anything is published, while it is wanted. */
  readonly recollection?: Recollection;
  /** The live truth, asked for on each connect; it goes out first, in this order. */
  readonly announcement: () => readonly Message[];
  /** The broker has acknowledged the message. */
  readonly onDelivered: (message: Message) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
}

export interface LinkStatus {
  readonly connected: boolean;
  /** Epoch milliseconds of the last moment with a connection; `null` = never. */
  readonly lastConnectedAt: number | null;
  readonly fault: Failure | null;
  readonly waiting: number;
  /** Everything that waited has been delivered at least once. */
  readonly drained: boolean;
  readonly published: number;
}

export interface Link {
  publish(messages: readonly Message[]): void;
  status(): LinkStatus;
  /** Publishes the last words if it can, and ends the connection within the deadline. */
  stop(lastWords: readonly Message[], deadlineMs: number): Promise<void>;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
// A connection that breaks sooner does not reset the back-off.
const STABLE_MS = 30_000;
// Not every broker says it when it closes one connection for another.
const SHORT_LIVED = {
  hint: "If this goes on: another client may use the same client id, or the broker's log tells why it cuts.",
};
const MOST_UNDER_WAY = 32;

export function startLink(parts: LinkParts): Link {
  const { clock, log } = parts;
  const outbox = createOutbox();
  const stopping = new AbortController();
  let connection: Connection | null = null;
  let lastConnectedAt: number | null = null;
  let fault: Failure | null = null;
  let published = 0;
  let drained = false;
  let underWay = 0;
  let complaint = '';
  let givenUp: Connection | null = null;

  function pump(): void {
    while (connection !== null && underWay < MOST_UNDER_WAY) {
      const message = outbox.take();
      if (!message) return;
      void deliver(connection, message);
    }
  }

  async function deliver(over: Connection, message: Message): Promise<void> {
    underWay += 1;
    try {
      await over.publish(message);
      outbox.done(message);
      published += 1;
      drained ||= outbox.size === 0;
      parts.onDelivered(message);
    } catch (err) {
      // Not acknowledged: it stays in the outbox, and a connection that swallows messages is of no use.
      if (over === connection && over !== givenUp)
        log.warn({ err, topic: message.topic }, 'publish was not acknowledged');
      givenUp = over;
      await over.close(0);
    } finally {
      underWay -= 1;
    }
    pump();
  }

  async function live(opened: Connection): Promise<string> {
    fault = null;
    complaint = '';
    lastConnectedAt = clock.now();
    outbox.lead(parts.announcement());
    connection = opened;
    log.info({ mqtt: opened.version === 5 ? '5' : '3.1.1' }, 'connected to the broker');
    pump();
    const why = await opened.ended;
    connection = null;
    lastConnectedAt = clock.now();
    outbox.rewind();
    return why;
  }

  // Once for each kind of trouble: another attempt every half minute is no news, another reason is.
  function complain(err: unknown): void {
    const words = String(err);
    if (words !== complaint) log.warn({ err }, 'no connection to the broker');
    complaint = words;
  }

  async function run(): Promise<void> {
    let failures = 0;
    let at = 0;
    while (!stopping.signal.aborted) {
      const version = parts.versions[at % parts.versions.length] ?? 4;
      try {
        const opened = await openConnection(version, parts, stopping.signal);
        const since = clock.monotonic();
        const why = await live(opened);
        if (stopping.signal.aborted) break;
        const wasStable = clock.monotonic() - since > STABLE_MS;
        log.warn({ why, ...(wasStable ? {} : SHORT_LIVED) }, 'connection to the broker lost');
        if (wasStable) failures = 0;
      } catch (err) {
        if (err instanceof BrokerUnreachable) {
          const otherVersion = err.code === 'broker_speaks_no_mqtt5' && parts.versions.length > 1;
          if (otherVersion || at % parts.versions.length !== 0) at += 1;
          if (otherVersion) continue;
          fault = err;
        }
        complain(err);
      }
      failures += 1;
      const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 10), LONGEST_WAIT_MS);
      await clock.sleep(wait * (0.75 + parts.random() / 2), stopping.signal);
    }
  }

  const running = run();
  return {
    publish(messages) {
      // What the broker remembers may yet change what stands: until then only the announcement tells it.
      const isEarly = parts.recollection !== undefined && lastConnectedAt === null;
      for (const message of messages) if (!isEarly || !message.retain) outbox.put(message);
      pump();
    },
    status: () => ({
      connected: connection !== null,
      lastConnectedAt: connection === null ? lastConnectedAt : clock.now(),
      fault,
      waiting: outbox.size,
      drained,
      published,
    }),
    async stop(lastWords, deadlineMs) {
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
