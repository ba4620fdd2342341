// What the page follows: the retained documents, composed for each reader from what is known now, so that no broker is needed.
import type { Constituencies } from '../../constituencies/onDemand.ts';
import type { Message } from '../../mqtt/message.ts';
import { RetainedDiff } from '../../publication/retainedDiff.ts';
import type { Document, DocumentSource, Listener } from '../../web/events.ts';
import type { BrokerState } from '../../web/page/answers.ts';
import type { Context } from '../context.ts';
import type { BridgeStatus } from '../publishing/bridgeStatus.ts';
import { BRIDGE, composer } from '../publishing/publisher.ts';

/** Whose documents may have changed since the reader took them. */
interface Reader {
  readonly on: Listener;
  readonly changed: Set<string>;
}

export function followDocuments(
  bridgeStatus: BridgeStatus,
  constituencies: Constituencies | null,
  context: Context,
): DocumentSource {
  const { accounts, signals, topics, link } = context;
  const retainedOf = composer({ bridgeStatus, constituencies, discovery: null }, context);
  const readers = new Set<Reader>();

  function tell(owner: string): void {
    for (const { on, changed } of readers) {
      // What the bridge tells of itself follows from its accounts.
      changed.add(owner).add(BRIDGE);
      on.changed();
    }
  }
  function broker(): BrokerState {
    const { connected, hasConnected } = link.status();
    if (connected) return 'connected';
    return hasConnected ? 'disconnected' : 'none';
  }
  const withoutBase = ({ topic, payload }: Message): Document => ({
    topic: topic.slice(topics.base.length + 1),
    payload,
  });
  signals.on('accountChanged', tell);
  signals.on('bridgeChanged', () => tell(BRIDGE));
  signals.on('passing', (message) => {
    const event = withoutBase(message);
    if (event.topic.endsWith('/event')) for (const { on } of readers) on.event(event);
  });
  signals.on('brokerChanged', () => {
    for (const { on } of readers) on.broker(broker());
  });
  return (on) => {
    const reader: Reader = { on, changed: new Set([BRIDGE, ...accounts.map(({ id }) => id)]) };
    const given = new RetainedDiff();
    readers.add(reader);
    on.broker(broker());
    return {
      take() {
        const [owner] = reader.changed;
        if (owner === undefined) return null;
        reader.changed.delete(owner);
        const news = given.take(owner, retainedOf(owner));
        // Until then a meter may not have been read yet.
        const gone = bridgeStatus.isComplete() ? given.gone() : [];
        for (const message of gone) given.delivered(message);
        return [...news, ...gone].map(withoutBase);
      },
      stop: () => void readers.delete(reader),
    };
  };
}
