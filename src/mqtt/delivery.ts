// Brings messages to the broker: over whatever connection there is, so many at a time, and past those that it refuses.
import type { Clock } from '../foundation/clock.ts';
import type { Failure } from '../foundation/failure.ts';
import { Paced } from '../foundation/limits.ts';
import type { Connection } from './connection.ts';
import type { Message } from './message.ts';
import { Outbox } from './outbox.ts';
import type { RefusalList } from './refusalList.ts';

const MOST_UNDER_WAY = 32;
/** After it, what the broker did not want is offered again. */
const HELD_BACK_MS = 60_000;

interface DeliveryParts {
  readonly clock: Clock;
  /** Retained topics whose newest message of the outbox the broker has refused. */
  readonly refusals: RefusalList;
  /** Once it is aborted, nothing that waits goes out any more. */
  readonly signal: AbortSignal;
  /** The broker has acknowledged the message. */
  readonly onDelivered: (message: Message) => void;
}

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #outbox = new Outbox();
  readonly #release: Paced;
  #connection: Connection | null = null;
  #underWay = 0;
  #published = 0;
  #drained = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    this.#release = new Paced(parts.clock, 0, () => {
      this.#outbox.release();
      this.#pump();
    });
  }

  get connection(): Connection | null {
    return this.#connection?.isOpen ? this.#connection : null;
  }

  status() {
    return {
      connected: this.connection !== null,
      /** Messages that the broker has not acknowledged yet. */
      waiting: this.#outbox.size,
      /** Everything that waited has been delivered or refused at least once. */
      drained: this.#drained,
      published: this.#published,
    };
  }

  /** A new connection: the announcement goes first. */
  begin(connection: Connection, announcement: readonly Message[]): void {
    this.#parts.refusals.forgetLog();
    this.#outbox.lead(announcement);
    this.#connection = connection;
    this.#pump();
  }

  /** The connection has ended. */
  end(): void {
    this.#connection = null;
    this.#outbox.rewind();
  }

  put(messages: readonly Message[]): void {
    for (const message of messages) this.#outbox.put(message);
    this.#pump();
  }

  #pump(): void {
    while (this.connection !== null && !this.#parts.signal.aborted && this.#underWay < MOST_UNDER_WAY) {
      const message = this.#outbox.take();
      if (!message) return;
      void this.#deliver(this.connection, message);
    }
  }

  async #deliver(connection: Connection, message: Message): Promise<void> {
    this.#underWay += 1;
    try {
      this.#note(message, await this.#offer(connection, message));
    } catch {
      // The connection has ended, and the message stays in the outbox.
    } finally {
      this.#underWay -= 1;
    }
    this.#pump();
  }

  /** Resolves to `null` once the broker has taken it, or to its refusal. Rejects when there is no answer. */
  async #offer(connection: Connection, message: Message): Promise<Failure | null> {
    const refusal = await connection.publish(message);
    if (refusal === null) this.#published += 1;
    else this.#parts.refusals.log(message.topic, refusal);
    return refusal;
  }

  #note(message: Message, refusal: Failure | null): void {
    const { topic, retain, onAnswered } = message;
    if (refusal === null || refusal.retry === 'never') {
      this.#outbox.done(message);
      onAnswered?.();
    } else {
      // Closing the connection over it would send everything again, of which the broker has had too much already.
      this.#outbox.holdBack(message);
      this.#release.ask(HELD_BACK_MS);
    }
    this.#drained ||= this.#outbox.isIdle;
    if (refusal === null) {
      this.#parts.onDelivered(message);
      this.#parts.refusals.lift(topic);
    } else if (retain) {
      this.#parts.refusals.put(topic, refusal);
    }
  }

  /**
   * Publishes over the present connection, past what waits. Resolves when the broker has answered all, with the topics
   * that it has refused; rejects when there is no connection, or it ends, or the broker does not want a message now.
   */
  async send(messages: readonly Message[]): Promise<ReadonlySet<string>> {
    const { connection } = this;
    if (connection === null) throw new Error('no connection to the broker');
    const refusals = await Promise.all(messages.map((message) => this.#offer(connection, message)));
    const passing = refusals.find((refusal) => refusal?.retry === 'later');
    if (passing) throw passing;
    return new Set(messages.filter((_, at) => refusals[at] !== null).map(({ topic }) => topic));
  }
}
