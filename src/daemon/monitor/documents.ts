// What the page follows: the retained documents, composed for each reader from what is known now, so that no broker is needed.
import type { Account } from '../../accounts/account.ts';
import { composeAccount } from '../../accounts/composition.ts';
import { accountView, meterViews } from '../../accounts/views.ts';
import type { Constituencies } from '../../constituencies/onDemand.ts';
import type { LinkStatus } from '../../mqtt/link.ts';
import type { Message } from '../../mqtt/message.ts';
import { type Retained, RetainedDiff } from '../../publication/retainedDiff.ts';
import type { BrokerState, Document, DocumentSource, Follower } from '../../web/events.ts';
import type { Context } from '../context.ts';
import { BRIDGE, composeBridge } from '../publishing/bridge.ts';
import type { BridgeStatus } from '../publishing/bridgeStatus.ts';

interface Parts {
  readonly accounts: readonly Account[];
  readonly bridgeStatus: BridgeStatus;
  readonly constituencies: Constituencies | null;
  readonly link: { status(): LinkStatus };
}

type Needs = Pick<Context, 'topics' | 'zone' | 'clock'>;

export class Documents implements DocumentSource {
  readonly #parts: Parts;
  readonly #context: Needs;
  readonly #readers = new Set<Reader>();

  constructor(parts: Parts, context: Needs & Pick<Context, 'signals'>) {
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
    const reader = new Reader(on, this.#parts, this.#context);
    this.#readers.add(reader);
    return {
      take: () => reader.take(),
      stop: () => void this.#readers.delete(reader),
    };
  }
}

class Reader implements Pick<Follower, 'take'> {
  readonly on: Parameters<DocumentSource['follow']>[0];
  readonly #parts: Parts;
  readonly #context: Needs;
  /** Whose documents may have changed since they were taken. */
  readonly #changed: Set<string>;
  readonly #given = new RetainedDiff();

  constructor(on: Reader['on'], parts: Parts, context: Needs) {
    this.on = on;
    this.#parts = parts;
    this.#context = context;
    this.#changed = new Set([BRIDGE, ...parts.accounts.map(({ id }) => id)]);
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
    const news = this.#given.take(owner, this.#retainedOf(owner));
    // Until then a meter may only be read anew.
    const gone = this.#parts.bridgeStatus.isComplete() ? this.#given.gone() : [];
    for (const message of gone) this.#given.delivered(message);
    return [...news, ...gone].map((message) => withoutBase(message, this.#context.topics.base));
  }

  #retainedOf(owner: string): readonly Retained[] {
    const { accounts, bridgeStatus, constituencies } = this.#parts;
    const options = { topics: this.#context.topics, discovery: null };
    if (owner === BRIDGE) return composeBridge({ bridgeStatus, constituencies, ...options });
    const account = accounts.find(({ id }) => id === owner);
    if (account === undefined) return [];
    return composeAccount(accountView(account, this.#context), meterViews(account), options);
  }
}

const withoutBase = ({ topic, payload }: Message, base: string): Document => ({
  topic: topic.slice(base.length + 1),
  payload,
});
