// What the page follows: the retained documents, composed for each reader from what is known now, so that no broker is needed.
import { createHash } from 'node:crypto';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import type { LinkStatus } from '../../mqtt/link.ts';
import type { Message } from '../../mqtt/message.ts';
import type { BrokerState, Document, DocumentSource, Follower } from '../../web/events.ts';
import type { Context } from '../context.ts';
import type { Snapshot } from '../publishing/snapshot.ts';
import { States } from '../publishing/states.ts';

interface Parts {
  readonly snapshot: Snapshot;
  readonly constituencies: Constituencies | null;
  readonly link: { status(): LinkStatus };
}

/** The owner of the bridge's documents; the others are accounts. */
const BRIDGE = '';

export class Documents implements DocumentSource {
  readonly #parts: Parts;
  readonly #context: Pick<Context, 'config' | 'topics'>;
  readonly #readers = new Set<Reader>();

  constructor(parts: Parts, context: Pick<Context, 'config' | 'topics' | 'signals'>) {
    const { signals, topics } = context;
    this.#parts = parts;
    this.#context = context;
    signals.on('accountChanged', (account) => {
      for (const reader of this.#readers) reader.changed(account);
    });
    signals.on('bridgeChanged', () => {
      for (const reader of this.#readers) reader.changed(BRIDGE);
    });
    signals.on('passing', (message) => {
      const event = withoutBase(message, topics.base);
      if (event.topic.endsWith('/event')) for (const { on } of this.#readers) on.event(event);
    });
    signals.on('brokerChanged', () => {
      for (const { on } of this.#readers) on.broker(this.broker());
    });
  }

  broker(): BrokerState {
    const { connected, hasConnected } = this.#parts.link.status();
    if (connected) return 'connected';
    return hasConnected ? 'disconnected' : 'none';
  }

  follow(on: Reader['on']): Follower {
    const owners = [BRIDGE, ...this.#context.config.accounts.map(({ id }) => id)];
    const reader = new Reader(owners, on, this.#parts, this.#context);
    this.#readers.add(reader);
    return {
      take: () => reader.take(),
      stop: () => void this.#readers.delete(reader),
    };
  }
}

class Reader implements Pick<Follower, 'take'> {
  readonly on: Parameters<DocumentSource['follow']>[0];
  readonly #snapshot: Snapshot;
  readonly #base: string;
  readonly #states: States;
  /** Whose documents may have changed since they were taken. */
  readonly #changed: Set<string>;
  /** Of each account, what decides which topics it has, and these topics. */
  readonly #shapes = new Map<string, string>();
  readonly #topics = new Map<string, readonly string[]>();
  /** Digests of what was given. */
  readonly #given = new Map<string, string>();

  constructor(
    owners: readonly string[],
    on: Reader['on'],
    parts: Parts,
    { topics }: Pick<Context, 'topics'>,
  ) {
    this.on = on;
    this.#snapshot = parts.snapshot;
    this.#base = topics.base;
    this.#states = new States(parts, topics);
    this.#changed = new Set(owners);
  }

  changed(owner: string): void {
    this.#changed.add(owner);
    // What the bridge tells of itself follows from its accounts.
    this.#changed.add(BRIDGE);
    this.on.changed();
  }

  take(): readonly Document[] | null {
    const [owner] = this.#changed;
    if (owner === undefined) return null;
    this.#changed.delete(owner);
    const messages = owner === BRIDGE ? this.#ofBridge() : this.#ofAccount(owner);
    return messages
      .map((message) => withoutBase(message, this.#base))
      .filter(({ topic, payload }) => {
        const digest = createHash('sha1').update(payload).digest('base64');
        const isNew = this.#given.get(topic) !== digest;
        if (payload === '') this.#given.delete(topic);
        else this.#given.set(topic, digest);
        return isNew;
      });
  }

  #ofBridge(): readonly Message[] {
    const { online, others } = this.#states.ofBridge();
    return this.#withGone(BRIDGE, [online, ...others]);
  }

  #ofAccount(account: string): readonly Message[] {
    const [view] = this.#snapshot.accounts([account]);
    if (view === undefined) return [];
    const meters = this.#snapshot.meters([account]);
    const shape = JSON.stringify([meters.map(({ meter }) => meter), view.invoices !== null]);
    const isNew = this.#shapes.get(account) !== shape;
    const messages = this.#states.ofAccount(view, meters, isNew);
    // Until then a meter may only be read anew.
    if (!isNew || !this.#snapshot.isComplete()) return messages;
    this.#shapes.set(account, shape);
    return this.#withGone(account, messages);
  }

  #withGone(owner: string, messages: readonly Message[]): readonly Message[] {
    const topics = messages.map(({ topic }) => topic);
    const gone = (this.#topics.get(owner) ?? []).filter((topic) => !topics.includes(topic));
    this.#topics.set(owner, topics);
    return [...messages, ...gone.map((topic) => ({ topic, payload: '', retain: true }))];
  }
}

const withoutBase = ({ topic, payload }: Message, base: string): Document => ({
  topic: topic.slice(base.length + 1),
  payload,
});
