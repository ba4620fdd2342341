// What still has to reach the broker: the newest payload of each retained topic, and a bounded tail of events.
import type { Message } from './message.ts';

export interface Outbox {
  put(message: Message): void;
  /** The next message that is not on its way yet, oldest first. */
  take(): Message | undefined;
  /** The broker has it. */
  done(message: Message): void;
  /** The connection is gone: everything not acknowledged waits again; of events only the newest of each topic. */
  rewind(): void;
  /** Puts these first, in this order, before whatever waits; they replace waiting messages of the same topics. */
  lead(messages: readonly Message[]): void;
  readonly size: number;
}

const MOST_EVENTS = 500;

export function createOutbox(): Outbox {
  // In the order in which they go out. A retained message stands under its place, an event under itself.
  let waiting = new Map<string | Message, Message>();
  const underWay = new Set<Message>();
  const events = new Set<Message>();

  const place = ({ topic, step }: Message) => (step ? `${topic}\0step` : topic);
  const keyOf = (message: Message) => (message.retain ? place(message) : message);
  function drop(message: Message): void {
    waiting.delete(keyOf(message));
    events.delete(message);
  }

  return {
    put(message) {
      const key = keyOf(message);
      // Set anew, not in place: the newer one takes its turn behind the others.
      waiting.delete(key);
      waiting.set(key, message);
      if (message.retain) return;
      events.add(message);
      if (events.size <= MOST_EVENTS) return;
      // A flood on one topic makes room for itself, so that it drowns no event of another.
      const [oldest = message, ...newer] = events;
      const crowded = [oldest, ...newer].find(({ topic }) => topic === message.topic);
      drop(crowded === undefined || crowded === message ? oldest : crowded);
    },
    take() {
      const [next] = waiting.values();
      if (!next) return undefined;
      drop(next);
      underWay.add(next);
      return next;
    },
    done(message) {
      underWay.delete(message);
    },
    rewind() {
      const all = [...underWay, ...waiting.values()];
      underWay.clear();
      events.clear();
      const newest = new Map<string, Message>();
      for (const message of all) {
        newest.delete(place(message));
        newest.set(place(message), message);
      }
      waiting = new Map();
      for (const message of newest.values()) {
        waiting.set(keyOf(message), message);
        if (!message.retain) events.add(message);
      }
    },
    lead(messages) {
      for (const message of messages) drop(message);
      const behind = waiting;
      waiting = new Map();
      for (const message of messages) waiting.set(keyOf(message), message);
      for (const [key, message] of behind) waiting.set(key, message);
    },
    get size() {
      return waiting.size + underWay.size;
    },
  };
}
