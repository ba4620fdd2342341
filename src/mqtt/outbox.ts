// Messages that wait for the broker: the newest of each retained topic, and events.
import type { Message } from './message.ts';

const MOST_EVENTS = 500;

/** A retained message is kept by its topic, an event by itself; a step is kept beside the final message of its topic. */
const place = ({ topic, step }: Message): string => (step ? `${topic}\0step` : topic);
const keyOf = (message: Message): string | Message => (message.retain ? place(message) : message);

export class Outbox {
  /** In the order in which they go out. */
  #waiting = new Map<string | Message, Message>();
  readonly #underWay = new Set<Message>();
  /** The broker does not want them now. */
  readonly #heldBack = new Map<string | Message, Message>();
  /** Those of the waiting ones, and of those that are held back, that are not retained. */
  readonly #events = new Set<Message>();

  get size(): number {
    return this.#waiting.size + this.#underWay.size + this.#heldBack.size;
  }

  /** Nothing goes out, and nothing waits to go out at once. */
  get isIdle(): boolean {
    return this.#waiting.size + this.#underWay.size === 0;
  }

  get oldestUnderWay(): Message | undefined {
    return [...this.#underWay][0];
  }

  put(message: Message): void {
    const key = keyOf(message);
    // Deleted first: a newer message goes behind the others.
    this.#drop(message);
    this.#waiting.set(key, message);
    if (message.retain) return;
    this.#events.add(message);
    if (this.#events.size > MOST_EVENTS) this.#dropEvent(message.topic);
  }

  /** The oldest of that topic gives way, so that a flood drowns no event of another; where it is the only one, the oldest of all. */
  #dropEvent(topic: string): void {
    const [oldest, ...newer] = this.#events;
    const newest = newer.at(-1);
    const crowded = [oldest, ...newer].find((event) => event?.topic === topic);
    const gone = crowded === newest ? oldest : crowded;
    if (gone) this.#drop(gone);
  }

  #drop(message: Message): void {
    this.#waiting.delete(keyOf(message));
    this.#heldBack.delete(keyOf(message));
    this.#events.delete(message);
  }

  /** The next message that is not on its way yet, oldest first. */
  take(): Message | undefined {
    const [next] = this.#waiting.values();
    if (!next) return undefined;
    this.#waiting.delete(keyOf(next));
    this.#events.delete(next);
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
    if (!this.#underWay.delete(message) || this.#waiting.has(key)) return;
    this.#heldBack.set(key, message);
    if (!message.retain) this.#events.add(message);
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
    this.#events.clear();
    this.#waiting = new Map([...newest.values()].map((message) => [keyOf(message), message]));
    for (const message of this.#waiting.values()) if (!message.retain) this.#events.add(message);
  }

  /** Puts these first, in this order, before whatever waits; they replace waiting messages of the same topics. */
  lead(messages: readonly Message[]): void {
    for (const message of messages) this.#drop(message);
    const first = messages.map((message) => [keyOf(message), message] as const);
    this.#waiting = new Map([...first, ...this.#waiting]);
  }
}
