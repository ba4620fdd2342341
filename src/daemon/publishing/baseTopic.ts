// The household's answers to others on its base topic: online again, its bridge/info, or everything.
import { randomUUID } from 'node:crypto';
import { BaseTopicWatch } from '../../mqtt/baseTopicWatch.ts';
import type { Message } from '../../mqtt/message.ts';
import { infoMessage, stateMessage } from '../../publication/messages.ts';
import type { BridgeView } from '../../publication/views.ts';
import type { Context } from '../context.ts';

/** The messages that an answer needs, made when it is due. */
interface Answers {
  readonly everything: () => readonly Message[];
  readonly bridge: () => BridgeView;
}

export function watchBaseTopic(
  { everything, bridge }: Answers,
  { topics, clock, log, link, signals }: Pick<Context, 'topics' | 'clock' | 'log' | 'link' | 'signals'>,
): BaseTopicWatch {
  return new BaseTopicWatch({
    stateTopic: topics.of('bridge/state'),
    infoTopic: topics.of('bridge/info'),
    instance: randomUUID(),
    clock,
    log,
    isConnected: () => link.status().connected,
    sayOnline: (isAll) => link.publish(isAll ? everything() : [stateMessage(topics, 'online')]),
    sayInfo: () => link.publish([infoMessage(topics, bridge())]),
    onChange: () => void signals.emit('bridgeChanged'),
  });
}
