// Everything that is retained of the bridge itself: its state and device, info and health, and the lists of constituencies.
import type { Constituencies } from '../../constituencies/onDemand.ts';
import { healthMessage, infoMessage, stateMessage } from '../../publication/bridge.ts';
import { bridgeDocument, type DiscoveryOptions } from '../../publication/discovery.ts';
import type { Retained } from '../../publication/retainedDiff.ts';
import type { Topics } from '../../publication/topics.ts';
import type { BridgeStatus } from './bridgeStatus.ts';

/** The owner of these topics; the others are accounts, whose ids are never empty. */
export const BRIDGE = '';

export interface BridgeParts {
  readonly bridgeStatus: BridgeStatus;
  readonly constituencies: Constituencies | null;
  readonly topics: Topics;
  /** `null` where no device is announced. */
  readonly discovery: DiscoveryOptions | null;
}

export function composeBridge({ bridgeStatus, constituencies, topics, discovery }: BridgeParts): Retained[] {
  const view = bridgeStatus.bridge();
  const document = discovery && bridgeDocument(discovery);
  const online = stateMessage(topics, 'online');
  return [
    { topic: online.topic, write: () => online },
    ...(document ? [{ topic: document.topic, document }] : []),
    ...[
      infoMessage(topics, view),
      healthMessage(topics, view.health, view.zone),
      ...(constituencies?.messages() ?? []),
    ].map((message) => ({ topic: message.topic, sources: [message], write: () => message })),
  ];
}
