// Messages that wait for the broker: the newest of each retained topic, and events.
import type { Message } from './message.ts';

const MOST_EVENTS = 500;

/** A retained message is kept by its topic, a step beside the final one of that topic, and an event by itself. */
function keyOf(message: Message): string | Message {
  const { topic, retain, step } = message;
  if (!retain) return message;
  return step ? `${topic}\0step` : topic;
}

interface Entry {
  readonly message: Message;
  /** `heldBack`: the broker does not want it now. */
  state: 'waiting' | 'underWay' | 'heldBack';
}

export class Outbox {
  /** They go out in this order. What is under way gives its place to a newer message of its topic. */
  readonly #entries = new Map<string | Message, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** Nothing goes out, and nothing waits to go out at once. */
  get isIdle(): boolean {
    for (const { state } of this.#entries.values()) if (state !== 'heldBack') return false;
    return true;
  }

  put(message: Message): void {
    this.#append(message, 'waiting');
    if (!message.retain) this.#makeRoom(message);
  }

  #append(message: Message, state: Entry['state']): void {
    const key = keyOf(message);
    // Deleted first: a newer message goes behind the others.
    this.#entries.delete(key);
    this.#entries.set(key, { message, state });
  }

  /**
   * The oldest of that topic gives way, so that a flood drowns no event of another; where it is the only one, the oldest that is no news
   * until it is answered, since answers may go to a topic each.
   */
  #makeRoom(newest: Message): void {
    const events: Message[] = [];
    for (const { message, state } of this.#entries.values())
      if (!message.retain && state !== 'underWay') events.push(message);
    if (events.length <= MOST_EVENTS) return;
    const [oldest = newest] = events;
    const alike = events.find((event) => event.topic === newest.topic && event !== newest);
    this.#entries.delete(alike ?? events.find(({ onAnswered }) => onAnswered === undefined) ?? oldest);
  }

  /** The next message that is not on its way yet, oldest first. */
  take(): Message | undefined {
    for (const entry of this.#entries.values()) {
      if (entry.state !== 'waiting') continue;
      entry.state = 'underWay';
      return entry.message;
    }
    return undefined;
  }

  /** The broker has answered. */
  done(message: Message): void {
    if (this.#isNewest(message)) this.#entries.delete(keyOf(message));
  }

  /** The broker does not want it now: it waits for `release`, unless there is a newer one of its topic. */
  holdBack(message: Message): void {
    if (this.#isNewest(message)) this.#append(message, 'heldBack');
  }

  #isNewest(message: Message): boolean {
    return this.#entries.get(keyOf(message))?.message === message;
  }

  /** The messages that were held back wait again. */
  release(): void {
    for (const entry of this.#entries.values()) if (entry.state === 'heldBack') entry.state = 'waiting';
  }

  /** The connection is gone: everything that was not acknowledged waits again, in the order in which it came. */
  rewind(): void {
    for (const entry of this.#entries.values()) entry.state = 'waiting';
  }

  /** Puts these first, in this order, before whatever waits; they replace waiting messages of the same topics. */
  lead(messages: readonly Message[]): void {
    const before = [...this.#entries];
    this.#entries.clear();
    for (const message of messages) this.#append(message, 'waiting');
    for (const [key, entry] of before) if (!this.#entries.has(key)) this.#entries.set(key, entry);
  }
}
