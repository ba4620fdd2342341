// The subscriptions of a link: asked for anew on each connection, and those that the broker refuses now and then on the same.
import type { Clock } from '../foundation/clock.ts';
import type { Failure } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Connection } from './connection.ts';
import type { Subscription } from './message.ts';
import { RefusalList } from './refusalList.ts';

/** After it, what the broker has refused is asked for again: its user may have been given the right meanwhile. */
const AGAIN_MS = 15 * 60_000;

export class Subscriber {
  readonly #wanted: readonly Subscription[];
  readonly #clock: Clock;
  /** On the present connection, or the last one, by filter. */
  readonly #list: RefusalList;

  constructor(wanted: readonly Subscription[], clock: Clock, log: Log) {
    this.#wanted = wanted;
    this.#clock = clock;
    this.#list = new RefusalList(log);
  }

  get refusals(): readonly Failure[] {
    return this.#list.refusals;
  }

  /** There is a new connection. */
  begin(): void {
    this.#list.clear();
  }

  /** Resolves with whether the broker takes them. Rejects as `Connection.subscribe` does. */
  async subscribe(over: Connection, subscriptions = this.#wanted): Promise<boolean> {
    const refusals = await over.subscribe(subscriptions);
    for (const { filter } of subscriptions) {
      const refusal = refusals.find((each) => each.filter === filter);
      if (refusal) this.#list.put(filter, refusal);
      else this.#list.lift(filter);
    }
    return refusals.length === 0;
  }

  /** Asks again and again for what the broker has refused. Resolves when nothing is left, or the signal aborts; rejects as `subscribe` does. */
  async insist(over: Connection, signal: AbortSignal, onGranted: () => void): Promise<void> {
    const isRefused = ({ filter }: Subscription) => this.#list.has(filter);
    for (
      let refused = this.#wanted.filter(isRefused);
      refused.length > 0;
      refused = refused.filter(isRefused)
    ) {
      await this.#clock.sleep(AGAIN_MS, signal);
      if (signal.aborted) return;
      for (const subscription of refused) if (await this.subscribe(over, [subscription])) onGranted();
    }
  }
}
