// Brings messages to the broker: over whatever connection there is, so many at a time, and past those that it refuses.
import type { Clock } from '../foundation/clock.ts';
import { Failure, safeWords } from '../foundation/failure.ts';
import { Paced } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { Connection } from './connection.ts';
import { Culprit } from './culprit.ts';
import type { Message } from './message.ts';
import { Outbox } from './outbox.ts';
import type { End } from './reasonCodes.ts';
import { PublishRefused } from './refusals.ts';

const MOST_UNDER_WAY = 32;
// On each connection: who asks may name any response topic.
const MOST_REFUSALS_LOGGED = 50;
/** After it, what the broker did not want is offered again. */
const HELD_BACK_MS = 60_000;

interface DeliveryParts {
  readonly log: Log;
  /** Once it is aborted, nothing that waits goes out any more. */
  readonly signal: AbortSignal;
  /** The broker has taken a will for it: no message of it ends the connection. */
  readonly willTopic: string;
  /** The broker has acknowledged the message. */
  readonly onDelivered: (message: Message) => void;
  /** The broker has refused a message, or has taken one on a topic that it had refused. */
  readonly onRefusals: () => void;
}

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #outbox = new Outbox();
  readonly #culprit: Culprit;
  /** Retained topics whose newest message of the outbox the broker has refused. */
  readonly #refused = new Map<string, PublishRefused>();
  readonly #logged = new Set<string>();
  readonly #release: Paced;
  #connection: Connection | null = null;
  #underWay = 0;
  #published = 0;
  #drained = false;

  constructor(clock: Clock, parts: DeliveryParts) {
    this.#parts = parts;
    this.#culprit = new Culprit(parts.willTopic);
    this.#release = new Paced(clock, 0, () => {
      this.#outbox.release();
      this.pump();
    });
  }

  get connection(): Connection | null {
    return this.#connection?.isOpen ? this.#connection : null;
  }

  /** Only those of retained topics, in the order in which they were first refused. */
  get refusals(): readonly PublishRefused[] {
    return [...this.#refused.values()];
  }

  status() {
    return {
      /** Messages that the broker has not acknowledged yet. */
      waiting: this.#outbox.size,
      /** Everything that waited has been delivered or refused at least once. */
      drained: this.#drained,
      published: this.#published,
    };
  }

  /** A new connection: the announcement goes first. */
  begin(connection: Connection, announcement: readonly Message[]): void {
    this.#logged.clear();
    this.#outbox.lead(announcement);
    this.#connection = connection;
    this.pump();
  }

  put(message: Message): void {
    this.#outbox.put(message);
  }

  pump(): void {
    for (;;) {
      const over = this.connection;
      if (over === null || this.#parts.signal.aborted) return;
      const most = this.#culprit.isSought ? 1 : Math.min(MOST_UNDER_WAY, over.limits.receiveMaximum);
      const message = this.#underWay < most ? this.#outbox.take() : undefined;
      if (!message) return;
      void this.#deliver(over, message);
    }
  }

  async #deliver(over: Connection, message: Message): Promise<void> {
    this.#underWay += 1;
    try {
      this.#note(message, await this.#offer(over, message));
    } catch (err) {
      // It stays in the outbox, and a connection that swallows messages is of no use.
      if (over === this.#connection) {
        this.#connection = null;
        const words = err instanceof Failure ? safeWords(err) : { err };
        this.#parts.log.warn({ ...words, topic: message.topic }, 'publish was not acknowledged');
      }
      await over.close(0);
    } finally {
      this.#underWay -= 1;
    }
    this.pump();
  }

  /** Resolves to `null` once the broker has taken it, or to its refusal. Rejects when there is no answer. */
  async #offer(over: Connection, message: Message): Promise<PublishRefused | null> {
    const { topic } = message;
    try {
      const end = this.#culprit.endOver(topic);
      if (end) throw PublishRefused.byEnd(topic, end);
      await over.publish(message);
    } catch (err) {
      if (!(err instanceof PublishRefused)) throw err;
      this.#logOnce(topic, err);
      return err;
    }
    this.#published += 1;
    return null;
  }

  #logOnce(topic: string, refusal: PublishRefused): void {
    if (this.#logged.has(topic) || this.#logged.size >= MOST_REFUSALS_LOGGED) return;
    this.#logged.add(topic);
    const { message, ...words } = safeWords(refusal);
    this.#parts.log.warn(words, message);
  }

  #note(message: Message, refusal: PublishRefused | null): void {
    const { topic, retain } = message;
    if (refusal === null || refusal.isFinal) this.#outbox.done(message);
    else {
      // Closing the connection over it would send everything again, of which the broker has had too much already.
      this.#outbox.holdBack(message);
      this.#release.ask(HELD_BACK_MS);
    }
    if (this.#outbox.isIdle) {
      this.#drained = true;
      this.#culprit.rest();
    }
    if (refusal === null) this.#parts.onDelivered(message);
    if (refusal !== null && retain) this.#refused.set(topic, refusal);
    else if (refusal !== null || !this.#refused.delete(topic)) return;
    this.#parts.onRefusals();
  }

  /**
   * Publishes over the present connection, past what waits. Resolves when the broker has answered all, with the topics
   * that it has refused; rejects when there is no connection, or it ends, or the broker does not want a message now.
   */
  async send(messages: readonly Message[]): Promise<ReadonlySet<string>> {
    const over = this.connection;
    if (over === null) throw new Error('no connection to the broker');
    const refusals = await Promise.all(messages.map((message) => this.#offer(over, message)));
    const passing = refusals.find((refusal) => refusal !== null && !refusal.isFinal);
    if (passing) throw passing;
    return new Set(messages.filter((_, at) => refusals[at] !== null).map(({ topic }) => topic));
  }

  /**
   * The connection has ended: `at rest`, so that no message has ended it; over a message that is left out from now on, so that the next
   * connection gets `further`; or over something else.
   */
  end(end: End): 'at rest' | 'further' | 'otherwise' {
    this.#connection = null;
    const unanswered = this.#outbox.oldestUnderWay;
    this.#outbox.rewind();
    if (unanswered) return this.#culprit.blame(unanswered.topic, end) ? 'further' : 'otherwise';
    this.#culprit.forgive();
    return 'at rest';
  }
}
