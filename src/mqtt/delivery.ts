// Brings messages to the broker: over whatever connection there is, so many at a time, and past those that it refuses.
import type { Clock } from '../foundation/clock.ts';
import type { Failure } from '../foundation/failure.ts';
import { Paced } from '../foundation/limits.ts';
import type { Log } from '../foundation/log.ts';
import type { Connection } from './connection.ts';
import type { Message } from './message.ts';
import { Outbox } from './outbox.ts';
import { RefusalList } from './refusalList.ts';
import { PublishRefused } from './refusals.ts';

const MOST_UNDER_WAY = 32;
/** After it, what the broker did not want is offered again. */
const HELD_BACK_MS = 60_000;

interface DeliveryParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Once it is aborted, nothing that waits goes out any more. */
  readonly signal: AbortSignal;
  /** The broker has acknowledged the message. */
  readonly onDelivered: (message: Message) => void;
  /** The broker has refused a message, or has taken one on a topic that it had refused. */
  readonly onRefusals: () => void;
}

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #outbox = new Outbox();
  /** Retained topics whose newest message of the outbox the broker has refused. */
  readonly #list: RefusalList;
  readonly #release: Paced;
  #connection: Connection | null = null;
  #published = 0;
  #drained = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    this.#list = new RefusalList(parts.log);
    this.#release = new Paced(parts.clock, 0, () => {
      this.#outbox.release();
      this.#pump();
    });
  }

  get connection(): Connection | null {
    return this.#connection?.isOpen ? this.#connection : null;
  }

  /** Only those of retained topics. */
  get refusals(): readonly Failure[] {
    return this.#list.refusals;
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
    this.#list.forgetLog();
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
    for (;;) {
      const connection = this.connection;
      if (connection === null || this.#parts.signal.aborted) return;
      const message = this.#outbox.underWay < MOST_UNDER_WAY ? this.#outbox.take() : undefined;
      if (!message) return;
      void this.#deliver(connection, message);
    }
  }

  async #deliver(connection: Connection, message: Message): Promise<void> {
    try {
      this.#note(message, await this.#offer(connection, message));
    } catch {
      // The connection has ended, and the message stays in the outbox.
      return;
    }
    this.#pump();
  }

  /** Resolves to `null` once the broker has taken it, or to its refusal. Rejects when there is no answer. */
  async #offer(connection: Connection, message: Message): Promise<PublishRefused | null> {
    try {
      await connection.publish(message);
    } catch (err) {
      if (!(err instanceof PublishRefused)) throw err;
      this.#list.log(message.topic, err);
      return err;
    }
    this.#published += 1;
    return null;
  }

  #note(message: Message, refusal: PublishRefused | null): void {
    if (refusal === null || refusal.isFinal) {
      this.#outbox.done(message);
      message.onAnswered?.();
    } else {
      // Closing the connection over it would send everything again, of which the broker has had too much already.
      this.#outbox.holdBack(message);
      this.#release.ask(HELD_BACK_MS);
    }
    this.#drained ||= this.#outbox.isIdle;
    if (refusal === null) {
      this.#parts.onDelivered(message);
      if (this.#list.lift(message.topic)) this.#parts.onRefusals();
    } else if (message.retain) {
      this.#list.put(message.topic, refusal);
      this.#parts.onRefusals();
    }
  }

  /**
   * Publishes over the present connection, past what waits. Resolves when the broker has answered all, with the topics
   * that it has refused; rejects when there is no connection, or it ends, or the broker does not want a message now.
   */
  async send(messages: readonly Message[]): Promise<ReadonlySet<string>> {
    const connection = this.connection;
    if (connection === null) throw new Error('no connection to the broker');
    const refusals = await Promise.all(messages.map((message) => this.#offer(connection, message)));
    const passing = refusals.find((refusal) => refusal !== null && !refusal.isFinal);
    if (passing) throw passing;
    return new Set(messages.filter((_, at) => refusals[at] !== null).map(({ topic }) => topic));
  }
}
