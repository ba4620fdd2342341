// The subscriptions of a link, asked for anew on each connection; and past those that the broker refuses.
import type { Clock } from '../foundation/clock.ts';
import { safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Connection } from './connection.ts';
import { Culprit } from './culprit.ts';
import type { Subscription } from './message.ts';
import { SubscribeRefused } from './refusals.ts';

/** After it, what the broker has refused is asked for again: its user may have been given the right meanwhile. */
const AGAIN_MS = 15 * 60_000;

export class Subscriber {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #culprit = new Culprit();
  /** On the present connection, by filter. */
  readonly #refused = new Map<string, SubscribeRefused>();
  /** The last words on each filter: they are not said again with each connection. */
  readonly #said = new Map<string, string>();
  #hasFoundCulprit = false;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  get refusals(): readonly SubscribeRefused[] {
    return [...this.#refused.values()];
  }

  /** The present connection, or the last attempt, has shown what is to be left out: the next one gets further. */
  get hasFoundCulprit(): boolean {
    return this.#hasFoundCulprit;
  }

  /** A new connection: nothing is subscribed on it yet. */
  begin(): void {
    this.#refused.clear();
    this.#hasFoundCulprit = false;
  }

  /** The connection has got through all subscriptions. */
  rest(): void {
    this.#culprit.rest();
  }

  /** A connection has ended at rest: the next one asks for everything. */
  forgive(): void {
    this.#culprit.forgive();
  }

  /** Resolves with whether the broker takes it. Rejects when no answer comes in time, or the connection ends. */
  async subscribe(over: Connection, subscription: Subscription): Promise<boolean> {
    const { filter } = subscription;
    const end = this.#culprit.endOver(filter);
    const refusal =
      end === undefined ? await this.#ask(over, subscription) : SubscribeRefused.byEnd(subscription, end);
    if (refusal === null) {
      this.#refused.delete(filter);
      this.#said.delete(filter);
      return true;
    }
    this.#refused.set(filter, refusal);
    const { message, ...words } = safeWords(refusal);
    if (this.#said.get(filter) !== message) this.#log.warn(words, message);
    this.#said.set(filter, message);
    return false;
  }

  async #ask(over: Connection, subscription: Subscription): Promise<SubscribeRefused | null> {
    try {
      const [refusal = null] = await over.subscribe([subscription]);
      return refusal;
    } catch (err) {
      // Some brokers end the connection where others refuse a subscription.
      await over.close(0);
      if (this.#culprit.blame(subscription.filter, await over.ended)) this.#hasFoundCulprit = true;
      throw err;
    }
  }

  /** Asks again and again for what the broker has refused. Resolves when nothing is left, or the signal aborts. */
  async insist(
    over: Connection,
    wanted: readonly Subscription[],
    signal: AbortSignal,
    onGranted: () => void,
  ): Promise<void> {
    // A filter that has ended a connection would end this one.
    const mayAsk = ({ filter }: Subscription) =>
      this.#refused.has(filter) && this.#culprit.endOver(filter) === undefined;
    for (let refused = wanted.filter(mayAsk); refused.length > 0; refused = refused.filter(mayAsk)) {
      await this.#clock.sleep(AGAIN_MS, signal);
      if (signal.aborted) return;
      for (const one of refused) if (await this.subscribe(over, one)) onGranted();
    }
  }
}
