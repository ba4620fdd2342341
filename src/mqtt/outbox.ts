// Messages that wait for the broker: the newest of each retained topic, and events.
import type { Message } from './message.ts';

const MOST_EVENTS = 500;

/** A step is kept beside the final message of its topic. */
const placeOf = ({ topic, step }: Message): string => (step ? `${topic}\0step` : topic);
/** A retained message is kept by its place, an event by itself. */
const keyOf = (message: Message): string | Message => (message.retain ? placeOf(message) : message);

type Queue = Map<string | Message, Message>;

export class Outbox {
  /** In the order in which they go out. */
  #waiting: Queue = new Map();
  readonly #underWay = new Set<Message>();
  /** The broker does not want them now. */
  readonly #heldBack: Queue = new Map();

  get size(): number {
    return this.#waiting.size + this.#underWay.size + this.#heldBack.size;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** Nothing goes out, and nothing waits to go out at once. */
  get isIdle(): boolean {
    return this.#waiting.size + this.#underWay.size === 0;
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
    const [oldest = newest] = events;
    this.#drop(events.find((event) => event.topic === newest.topic && event !== newest) ?? oldest);
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

  /** The connection is gone: everything that was not acknowledged waits again, in the order in which it came. */
  rewind(): void {
    const unanswered = [...this.#heldBack.values(), ...this.#underWay, ...this.#waiting.values()];
    this.#heldBack.clear();
    this.#underWay.clear();
    this.#waiting.clear();
    for (const message of unanswered) this.put(message);
  }

  /** Puts these first, in this order, before whatever waits; they replace waiting messages of the same topics. */
  lead(messages: readonly Message[]): void {
    for (const message of messages) this.#drop(message);
    this.#waiting = byKey([...messages, ...this.#waiting.values()]);
  }
}

const byKey = (messages: readonly Message[]): Queue =>
  new Map(messages.map((message) => [keyOf(message), message]));
