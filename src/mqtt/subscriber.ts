// The subscriptions of a link, asked for anew on each connection; and past those that the broker refuses.
import type { Clock } from '../foundation/clock.ts';
import { safeWords } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import type { Connection } from './connection.ts';
import { Culprit } from './culprit.ts';
import type { Subscription } from './message.ts';
import { SubscribeRefused } from './refusals.ts';

/** No filter: a connection has ended over several of them. */
const SEVERAL = '';
/** After it, what the broker has refused is asked for again: its user may have been given the right meanwhile. */
const AGAIN_MS = 15 * 60_000;

export class Subscriber {
  readonly #wanted: readonly Subscription[];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #culprit = new Culprit();
  /** The present connection, or the last one. */
  #over: Connection | null = null;
  /** On that connection, by filter. */
  readonly #refused = new Map<string, SubscribeRefused>();
  /** The last words on each filter: they are not said again with each connection. */
  readonly #said = new Map<string, string>();
  #hasFoundCulprit = false;

  constructor(wanted: readonly Subscription[], clock: Clock, log: Log) {
    this.#wanted = wanted;
    this.#clock = clock;
    this.#log = log;
  }

  get refusals(): readonly SubscribeRefused[] {
    return [...this.#refused.values()];
  }

  /** A connection has shown, since this was asked last, what is to be left out: the next one gets further. */
  hasFoundCulprit(): boolean {
    const hasFound = this.#hasFoundCulprit;
    this.#hasFoundCulprit = false;
    return hasFound;
  }

  /** A connection has ended at rest: the next one asks for everything. */
  forgive(): void {
    this.#culprit.forgive();
  }

  /** In one packet, unless a culprit is sought. Rejects as `subscribe` does. */
  async subscribeAll(over: Connection): Promise<void> {
    await this.#subscribe(over, this.#wanted);
    this.#culprit.rest();
  }

  /** Resolves with whether the broker takes it. Rejects when no answer comes in time, or the connection ends. */
  async subscribe(over: Connection, subscription: Subscription): Promise<boolean> {
    await this.#subscribe(over, [subscription]);
    return !this.#refused.has(subscription.filter);
  }

  async #subscribe(over: Connection, subscriptions: readonly Subscription[]): Promise<void> {
    if (over !== this.#over) this.#refused.clear();
    this.#over = over;
    const asked: Subscription[] = [];
    for (const subscription of subscriptions) {
      const end = this.#culprit.endOver(subscription.filter);
      if (end === undefined) asked.push(subscription);
      else this.#note(subscription, SubscribeRefused.byEnd(subscription, end));
    }
    const packets = this.#culprit.isSought ? asked.map((subscription) => [subscription]) : [asked];
    for (const packet of packets) await this.#ask(over, packet);
  }

  async #ask(over: Connection, packet: readonly Subscription[]): Promise<void> {
    try {
      const refusals = await over.subscribe(packet);
      for (const subscription of packet)
        this.#note(
          subscription,
          refusals.find(({ filter }) => filter === subscription.filter),
        );
    } catch (err) {
      // Some brokers end the connection where others refuse a subscription.
      await over.close(0);
      const [first, second] = packet;
      const name = second === undefined && first ? first.filter : SEVERAL;
      if (this.#culprit.blame(name, await over.ended)) this.#hasFoundCulprit = true;
      throw err;
    }
  }

  #note({ filter }: Subscription, refusal: SubscribeRefused | undefined): void {
    if (refusal === undefined) {
      this.#refused.delete(filter);
      this.#said.delete(filter);
      return;
    }
    this.#refused.set(filter, refusal);
    const { message, ...words } = safeWords(refusal);
    if (this.#said.get(filter) !== message) this.#log.warn(words, message);
    this.#said.set(filter, message);
  }

  /** Asks again and again for what the broker has refused. Resolves when nothing is left, or the signal aborts; rejects as `subscribe` does. */
  async insist(over: Connection, signal: AbortSignal, onGranted: () => void): Promise<void> {
    // A filter that has ended a connection would end this one.
    const mayAsk = ({ filter }: Subscription) =>
      this.#refused.has(filter) && this.#culprit.endOver(filter) === undefined;
    for (let refused = this.#wanted.filter(mayAsk); refused.length > 0; refused = refused.filter(mayAsk)) {
      await this.#clock.sleep(AGAIN_MS, signal);
      if (signal.aborted) return;
      for (const subscription of refused) if (await this.subscribe(over, subscription)) onGranted();
    }
  }
}
