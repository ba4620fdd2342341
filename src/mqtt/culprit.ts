// A broker may end the connection over one of the things that were sent: it is found and left out.
import type { Subscription } from './message.ts';
import type { Reason } from './reasonCodes.ts';

/** A broker that ends the connection over so many things does so over everything. */
const MOST_SEPARATE = 20;

/** Names of what is sent. */
export const publicationOf = (topic: string): string => `PUBLISH ${topic}`;
const SUBSCRIBE = 'SUBSCRIBE ';
export const subscriptionTo = (packet: readonly Subscription[]): string =>
  SUBSCRIBE + packet.map(({ filter }) => filter).join(' ');

/**
 * Two connections in a row that end over the same thing are hardly an accident. It is left out from then on, so that the rest gets through.
 * Once a connection has lasted, it is tried again, and left out for good if that ends, too: the first two may have been a rival's doing.
 * mqtt.js, too, ends a connection: at a PUBACK with a code that MQTT 5 does not list for it, such as Mosquitto's 149 above `message_size_limit`.
 */
export class Culprit {
  readonly #innocent: string | undefined;
  #suspect: string | null = null;
  readonly #leftOut = new Map<string, Reason>();
  /** They have been left out, and have not been answered since. */
  readonly #onTrial = new Set<string>();

  /** `innocent`: is never left out. */
  constructor(innocent?: string) {
    this.#innocent = innocent;
  }

  /** One at a time is to be sent, so that the end of a connection tells which it was. */
  get isSought(): boolean {
    return this.#suspect !== null;
  }

  /** One filter at a time is to be asked for. */
  get isSubscription(): boolean {
    return this.#suspect?.startsWith(SUBSCRIBE) ?? false;
  }

  /** The end of the connection over which it is left out. */
  endOver(name: string): Reason | undefined {
    return this.#leftOut.get(name);
  }

  /** The broker has answered it. */
  acquit(name: string): void {
    if (name === this.#suspect) this.#suspect = null;
    this.#onTrial.delete(name);
  }

  /**
   * A connection has ended. `oldest`: the first thing that had no answer, since most brokers answer in order. Gives back whether it is left
   * out from now on, so that the next connection gets further.
   */
  judge(oldest: string | undefined, end: Reason): boolean {
    if (oldest === undefined) this.#forgive();
    if (oldest === undefined || end.about === 'moment' || end.about === 'connection') return false;
    const isProved = (oldest === this.#suspect || this.#onTrial.has(oldest)) && oldest !== this.#innocent;
    if (isProved) this.#leftOut.set(oldest, end);
    this.#suspect = oldest;
    return isProved && this.#leftOut.size <= MOST_SEPARATE;
  }

  /** A connection has lasted. Gives back whether anything that was left out is to be tried again. */
  retry(): boolean {
    this.#suspect = null;
    const untried = [...this.#leftOut.keys()].filter((name) => !this.#onTrial.has(name));
    for (const name of untried) {
      this.#onTrial.add(name);
      this.#leftOut.delete(name);
    }
    return untried.length > 0;
  }

  /** A connection has ended while nothing was under way, as it may have before: what is left out gets another chance. */
  #forgive(): void {
    this.#suspect = null;
    this.#leftOut.clear();
    this.#onTrial.clear();
  }
}
