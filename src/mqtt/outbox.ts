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
  let waiting: Message[] = [];
  const underWay = new Set<Message>();

  const place = ({ topic, step }: Message) => (step ? `${topic}\0step` : topic);
  const without = (message: Message) => {
    waiting = waiting.filter((other) => !(other.retain && place(other) === place(message)));
  };

  return {
    put(message) {
      if (message.retain) without(message);
      waiting.push(message);
      const events = waiting.filter(({ retain }) => !retain);
      if (events.length <= MOST_EVENTS) return;
      // A flood on one topic makes room for itself, so that it drowns no event of another.
      const crowded = events.find(({ topic }) => topic === message.topic);
      const dropped = crowded === message ? events[0] : crowded;
      waiting = waiting.filter((other) => other !== (dropped ?? events[0]));
    },
    take() {
      const next = waiting.shift();
      if (next) underWay.add(next);
      return next;
    },
    done(message) {
      underWay.delete(message);
    },
    rewind() {
      const all = [...underWay, ...waiting];
      underWay.clear();
      const newest = new Map<string, Message>();
      for (const message of all) {
        newest.delete(place(message));
        newest.set(place(message), message);
      }
      waiting = [...newest.values()];
    },
    lead(messages) {
      for (const message of messages) without(message);
      waiting = [...messages, ...waiting];
    },
    get size() {
      return waiting.length + underWay.size;
    },
  };
}
