// Messages that wait for the broker: the newest of each retained topic, and events.
import type { Message } from './message.ts';

const MOST_EVENTS = 500;

/** A step is kept beside the final message of its topic. */
const place = ({ topic, step }: Message): string => (step ? `${topic}\0step` : topic);
/** A retained message is kept by its place, an event by itself. */
const keyOf = (message: Message): string | Message => (message.retain ? place(message) : message);

export class Outbox {
  /** In the order in which they go out. */
  #waiting = new Map<string | Message, Message>();
  readonly #underWay = new Set<Message>();
  /** The broker does not want them now. */
  readonly #heldBack = new Map<string | Message, Message>();

  get size(): number {
    return this.#waiting.size + this.#underWay.size + this.#heldBack.size;
  }

  /** Nothing goes out, and nothing waits to go out at once. */
  get isIdle(): boolean {
    return this.#waiting.size + this.#underWay.size === 0;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  put(message: Message): void {
    // Deleted first: a newer message goes behind the others.
    this.#drop(message);
    this.#waiting.set(keyOf(message), message);
    if (!message.retain) this.#makeRoom(message);
  }

  /** The oldest of that topic gives way, so that a flood drowns no event of another; where it is the only one, the oldest of all. */
  #makeRoom(newest: Message): void {
    const events = [...this.#heldBack.values(), ...this.#waiting.values()].filter(({ retain }) => !retain);
    if (events.length <= MOST_EVENTS) return;
    const crowded = events.find(({ topic }) => topic === newest.topic);
    const [oldest = newest] = events;
    this.#drop(crowded && crowded !== newest ? crowded : oldest);
  }

  #drop(message: Message): void {
    this.#waiting.delete(keyOf(message));
    this.#heldBack.delete(keyOf(message));
  }

  /** The next message that is not on its way yet, oldest first. */
  take(): Message | undefined {
    const [next] = this.#waiting.values();
    if (!next) return undefined;
    this.#waiting.delete(keyOf(next));
    this.#underWay.add(next);
    return next;
  }

  /** The broker has answered. */
  done(message: Message): void {
    this.#underWay.delete(message);
  }

  /** The broker does not want it now: it waits for `release`, unless there is a newer one of its topic. */
  holdBack(message: Message): void {
    const key = keyOf(message);
    if (this.#underWay.delete(message) && !this.#waiting.has(key)) this.#heldBack.set(key, message);
  }

  /** The messages that were held back go out behind those that wait. */
  release(): void {
    for (const [key, message] of this.#heldBack) this.#waiting.set(key, message);
    this.#heldBack.clear();
  }

  /** The connection is gone: everything not acknowledged waits again; of events only the newest of each topic. */
  rewind(): void {
    const newest = new Map<string, Message>();
    for (const message of [...this.#heldBack.values(), ...this.#underWay, ...this.#waiting.values()]) {
      newest.delete(place(message));
      newest.set(place(message), message);
    }
    this.#heldBack.clear();
    this.#underWay.clear();
    this.#waiting = new Map([...newest.values()].map((message) => [keyOf(message), message]));
  }

  /** Puts these first, in this order, before whatever waits; they replace waiting messages of the same topics. */
  lead(messages: readonly Message[]): void {
    for (const message of messages) this.#drop(message);
    const first = messages.map((message) => [keyOf(message), message] as const);
    this.#waiting = new Map([...first, ...this.#waiting]);
  }
}
