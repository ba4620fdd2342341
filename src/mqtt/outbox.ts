// What still has to reach the broker: the newest payload of each retained topic, and a bounded tail of events.
import type { Message } from './message.ts';

const MOST_EVENTS = 500;

/** A retained message is kept by its topic, an event by itself; a step is kept beside the final message of its topic. */
const place = ({ topic, step }: Message): string => (step ? `${topic}\0step` : topic);
const keyOf = (message: Message): string | Message => (message.retain ? place(message) : message);

export class Outbox {
  /** In the order in which they go out. */
  #waiting = new Map<string | Message, Message>();
  readonly #underWay = new Set<Message>();
  readonly #events = new Set<Message>();

  get size(): number {
    return this.#waiting.size + this.#underWay.size;
  }

  put(message: Message): void {
    const key = keyOf(message);
    // Deleted first: a newer message goes behind the others.
    this.#waiting.delete(key);
    this.#waiting.set(key, message);
    if (message.retain) return;
    this.#events.add(message);
    if (this.#events.size <= MOST_EVENTS) return;
    // A flood on one topic makes room for itself, so that it drowns no event of another.
    const [oldest = message, ...newer] = this.#events;
    const crowded = [oldest, ...newer].find(({ topic }) => topic === message.topic);
    this.#drop(crowded === undefined || crowded === message ? oldest : crowded);
  }

  /** The next message that is not on its way yet, oldest first. */
  take(): Message | undefined {
    const [next] = this.#waiting.values();
    if (!next) return undefined;
    this.#drop(next);
    this.#underWay.add(next);
    return next;
  }

  /** The broker has acknowledged the message. */
  done(message: Message): void {
    this.#underWay.delete(message);
  }

  /** The connection is gone: everything not acknowledged waits again; of events only the newest of each topic. */
  rewind(): void {
    const newest = new Map<string, Message>();
    for (const message of [...this.#underWay, ...this.#waiting.values()]) {
      newest.delete(place(message));
      newest.set(place(message), message);
    }
    this.#underWay.clear();
    this.#events.clear();
    this.#waiting = new Map();
    for (const message of newest.values()) {
      this.#waiting.set(keyOf(message), message);
      if (!message.retain) this.#events.add(message);
    }
  }

  /** Puts these first, in this order, before whatever waits; they replace waiting messages of the same topics. */
  lead(messages: readonly Message[]): void {
    for (const message of messages) this.#drop(message);
    const behind = this.#waiting;
    this.#waiting = new Map();
    for (const message of messages) this.#waiting.set(keyOf(message), message);
    for (const [key, message] of behind) this.#waiting.set(key, message);
  }

  #drop(message: Message): void {
    this.#waiting.delete(keyOf(message));
    this.#events.delete(message);
  }
}
