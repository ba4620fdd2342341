// Which of the things that were sent makes a broker end the connection.
import { type End, isAboutConnection } from './reasonCodes.ts';

/** A broker that ends the connection over so many things does so over everything. */
const MOST_SEPARATE = 20;

/**
 * Two connections in a row that end over the same thing are no accident. It is left out from then on, so that the rest gets through.
 * mqtt.js, too, ends a connection: at a PUBACK with a code that MQTT 5 does not list for it, such as Mosquitto's 149 above `message_size_limit`.
 */
export class Culprit {
  readonly #innocent: string | undefined;
  #suspect: string | null = null;
  readonly #leftOut = new Map<string, End>();

  /** `innocent`: is never left out. */
  constructor(innocent?: string) {
    this.#innocent = innocent;
  }

  /** One at a time is to be sent, so that the end of a connection tells which it was. */
  get isSought(): boolean {
    return this.#suspect !== null;
  }

  /** How the connection has ended over it, so that it is left out. */
  endOver(name: string): End | undefined {
    return this.#leftOut.get(name);
  }

  /**
   * A connection has ended while `name` was the first thing that had no answer: brokers answer in order. Gives back whether it is left
   * out from now on, so that the next connection gets further.
   */
  blame(name: string, end: End): boolean {
    if (end.code !== undefined && isAboutConnection(end.code)) return false;
    const isProved = name === this.#suspect && name !== this.#innocent;
    if (isProved) this.#leftOut.set(name, end);
    this.#suspect = name;
    return isProved && this.#leftOut.size <= MOST_SEPARATE;
  }

  /** Everything has got through. */
  rest(): void {
    this.#suspect = null;
  }

  /** A connection has ended while nothing was under way, as it may have before: what is left out gets another chance. */
  forgive(): void {
    this.#suspect = null;
    this.#leftOut.clear();
  }
}
