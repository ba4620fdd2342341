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
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #culprit = new Culprit();
  /** On the present connection, by filter. */
  readonly #refused = new Map<string, SubscribeRefused>();
  /** The last words on each filter: they are not said again with each connection. */
  readonly #told = new Map<string, string>();
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

  isRefused(filter: string): boolean {
    return this.#refused.has(filter);
  }

  /** A new connection: nothing is subscribed on it yet. */
  begin(): void {
    this.#refused.clear();
    this.#hasFoundCulprit = false;
  }

  /** Resolves when the broker has answered to all. Rejects when no answer comes in time, or the connection ends. */
  async subscribe(over: Connection, wanted: readonly Subscription[]): Promise<void> {
    const asked: Subscription[] = [];
    for (const one of wanted) {
      const end = this.#culprit.endOver(one.filter);
      if (end === undefined) asked.push(one);
      else this.#note(one, SubscribeRefused.byEnd(one, end));
    }
    const packets = this.#culprit.isSought ? asked.map((one) => [one]) : [asked];
    for (const packet of packets) await this.#ask(over, packet);
  }

  async #ask(over: Connection, packet: readonly Subscription[]): Promise<void> {
    const [first] = packet;
    if (first === undefined) return;
    try {
      const refusals = await over.subscribe(packet);
      for (const one of packet) this.#note(one, refusals.find(({ filter }) => filter === one.filter) ?? null);
    } catch (err) {
      // Some brokers end the connection where others refuse a subscription.
      await over.close(0);
      const end = await over.ended;
      if (this.#culprit.blame(packet.length === 1 ? first.filter : SEVERAL, end))
        this.#hasFoundCulprit = true;
      throw err;
    }
  }

  #note({ filter }: Subscription, refusal: SubscribeRefused | null): void {
    if (refusal === null) {
      this.#refused.delete(filter);
      this.#told.delete(filter);
      return;
    }
    this.#refused.set(filter, refusal);
    if (this.#told.get(filter) === refusal.message) return;
    this.#told.set(filter, refusal.message);
    const { message, ...words } = safeWords(refusal);
    this.#log.warn(words, message);
  }

  /** The connection has got through all subscriptions. */
  rest(): void {
    this.#culprit.rest();
  }

  /** A connection has ended at rest: the next one asks for everything. */
  forgive(): void {
    this.#culprit.forgive();
  }

  /** Asks again and again for what the broker has refused. Resolves when nothing is left, or the signal aborts. */
  async insist(
    over: Connection,
    wanted: readonly Subscription[],
    signal: AbortSignal,
    onGranted: () => void,
  ): Promise<void> {
    for (;;) {
      // A filter that has ended a connection would end this one.
      const refused = wanted.filter(
        ({ filter }) => this.isRefused(filter) && !this.#culprit.isLeftOut(filter),
      );
      if (refused.length === 0) return;
      await this.#clock.sleep(AGAIN_MS, signal);
      if (signal.aborted) return;
      await this.#ask(over, refused);
      if (refused.some(({ filter }) => !this.isRefused(filter))) onGranted();
    }
  }
}
