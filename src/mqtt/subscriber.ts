// A link hears through its subscriptions, which are asked for anew on each connection, and reads once what is retained
// on a topic.
import { type Clock, withDeadline } from '../foundation/clock.ts';
import type { Connection } from './connection.ts';
import type { Incoming, Subscription } from './message.ts';
import type { RefusalList } from './refusalList.ts';
import { untilSilent } from './silence.ts';

/**
 * Gives what is retained on a topic; `null`: nothing, or the broker does not let us read it. `onLate`: called when it comes all the same,
 * within a minute.
 */
export type ReadRetained = (
  subscription: Subscription,
  onLate?: (incoming: Incoming) => void,
) => Promise<Incoming | null>;

/** After it, what the broker has refused is asked for again: its user may have been given the right meanwhile. */
const AGAIN_MS = 15 * 60_000;
const LONGEST_READ_MS = 60_000;

interface SubscriberParts {
  readonly subscriptions: readonly Subscription[];
  readonly clock: Clock;
  /** The refusals on the present connection, or the last one, by filter. */
  readonly refusals: RefusalList;
  /** Once it is aborted, nothing that is not whole is given. */
  readonly signal: AbortSignal;
}

export class Subscriber {
  readonly #parts: SubscriberParts;
  readonly #readers = new Map<string, (incoming: Incoming) => void>();

  constructor(parts: SubscriberParts) {
    this.#parts = parts;
  }

  /** Resolves with whether the broker takes them. Rejects as `Connection.subscribe` does. */
  async subscribe(connection: Connection, subscriptions = this.#parts.subscriptions): Promise<boolean> {
    const refusals = await connection.subscribe(subscriptions);
    for (const { filter } of subscriptions) {
      const refusal = refusals.find((each) => each.filter === filter);
      if (refusal) this.#parts.refusals.put(filter, refusal);
      else this.#parts.refusals.lift(filter);
    }
    return refusals.length === 0;
  }

  /** Asks again and again for what the broker has refused. Resolves when nothing is left, or the connection is gone; rejects as `subscribe` does. */
  async insist(connection: Connection): Promise<void> {
    const { subscriptions, clock } = this.#parts;
    const { gone } = connection;
    const refused = () => subscriptions.filter(({ filter }) => this.#parts.refusals.has(filter));
    while (refused().length > 0) {
      await clock.sleep(AGAIN_MS, gone);
      if (gone.aborted) return;
      for (const subscription of refused()) await this.subscribe(connection, [subscription]);
    }
  }

  /** The link gives it each message that comes. */
  hear(incoming: Incoming): void {
    if (incoming.retained) this.#readers.get(incoming.topic)?.(incoming);
  }

  /**
   * See ReadRetained. A retained message follows its subscription at once. Rejects when the connection ends, or the signal
   * aborts.
   */
  async read(
    connection: Connection,
    subscription: Subscription,
    onLate?: (incoming: Incoming) => void,
  ): Promise<Incoming | null> {
    const { clock, signal } = this.#parts;
    if (!connection.limits.retainAvailable) return null;
    const { filter } = subscription;
    const heard = new AbortController();
    let answer: Incoming | null = null;
    this.#readers.set(filter, (incoming) => {
      answer ??= incoming;
      heard.abort();
    });
    if (!(await this.subscribe(connection, [subscription]))) {
      this.#readers.delete(filter);
      return null;
    }
    await withDeadline(clock, LONGEST_READ_MS, AbortSignal.any([heard.signal, signal]), (patience) =>
      untilSilent(connection, clock, patience),
    );
    // An end may have cut it short.
    signal.throwIfAborted();
    const end = () => {
      cancel();
      this.#readers.delete(filter);
      connection.unsubscribe(filter);
    };
    const cancel = clock.after(LONGEST_READ_MS, end);
    if (answer !== null || onLate === undefined) end();
    else
      this.#readers.set(filter, (incoming) => {
        end();
        onLate(incoming);
      });
    return answer;
  }
}
