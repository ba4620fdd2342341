// Reads what is retained on a topic, over a connection. A retained message follows its subscription at once, however long it is on its way.
import type { Clock } from '../foundation/clock.ts';
import type { Connection } from './connection.ts';
import type { Incoming, Subscription } from './message.ts';
import type { Subscriber } from './subscriber.ts';

/**
 * Gives what is retained on a topic; `null`: nothing, or the broker does not let us read it. `onLate`: called when it comes all the same,
 * within a minute.
 */
export type ReadRetained = (
  subscription: Subscription,
  onLate?: (incoming: Incoming) => void,
) => Promise<Incoming | null>;

/** Without a byte for so long there is none; while bytes come, it may be on its way. */
const SILENCE_MS = 700;
const LONGEST_READ_MS = 60_000;
const LISTEN_EVERY_MS = 50;

export class RetainedReader {
  readonly #clock: Clock;
  readonly #subscriber: Subscriber;
  readonly #signal: AbortSignal;
  readonly #listeners = new Map<string, (incoming: Incoming) => void>();

  /** Once the signal is aborted, nothing that is not whole is given. */
  constructor(clock: Clock, subscriber: Subscriber, signal: AbortSignal) {
    this.#clock = clock;
    this.#subscriber = subscriber;
    this.#signal = signal;
  }

  /** To be called with each message that comes. */
  hear(incoming: Incoming): void {
    if (incoming.retained) this.#listeners.get(incoming.topic)?.(incoming);
  }

  /** As ReadRetained. Rejects when the connection ends, or the signal aborts. */
  async read(
    over: Connection,
    subscription: Subscription,
    onLate?: (incoming: Incoming) => void,
  ): Promise<Incoming | null> {
    if (!over.limits.retains) return null;
    const { filter } = subscription;
    let answer: Incoming | null = null;
    this.#listeners.set(filter, (incoming) => {
      answer ??= incoming;
    });
    const end = () => void this.#listeners.delete(filter);
    if (!(await this.#subscriber.subscribe(over, [subscription]))) {
      end();
      return null;
    }
    await this.#untilSilent(over, () => answer !== null);
    // An end may have cut it short, and a part would count as all there is.
    this.#signal.throwIfAborted();
    const unsubscribe = () => {
      end();
      over.unsubscribe(filter).catch(() => undefined);
    };
    if (answer !== null || onLate === undefined) unsubscribe();
    else this.#listenOn(filter, unsubscribe, onLate);
    return answer;
  }

  /** Resolves when it is done, or no byte has come for a while. */
  async #untilSilent(over: Connection, isDone: () => boolean): Promise<void> {
    const began = this.#clock.monotonic();
    let heardAt = began;
    let bytes = over.bytesReceived;
    while (!isDone() && !this.#signal.aborted) {
      const now = this.#clock.monotonic();
      if (bytes !== over.bytesReceived) heardAt = now;
      bytes = over.bytesReceived;
      if (now - heardAt >= SILENCE_MS || now - began >= LONGEST_READ_MS) return;
      await this.#clock.sleep(LISTEN_EVERY_MS, this.#signal);
    }
  }

  #listenOn(filter: string, unsubscribe: () => void, onLate: (incoming: Incoming) => void): void {
    const cancel = this.#clock.after(LONGEST_READ_MS, unsubscribe);
    this.#listeners.set(filter, (incoming) => {
      cancel();
      unsubscribe();
      onLate(incoming);
    });
  }
}
