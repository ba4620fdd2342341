// What goes to the broker and when: everything on connect and on Home Assistant's birth, afterwards what changed.
import { createHash } from 'node:crypto';
import type { Config } from '../config/schema.ts';
import type { Log } from '../foundation/log.ts';
import type { Message } from '../mqtt/message.ts';
import { healthMessage, infoMessage, stateMessage } from '../publication/bridge.ts';
import {
  accountDocument,
  announce,
  bridgeDocument,
  type DiscoveryDocument,
  meterDocument,
} from '../publication/discovery.ts';
import { accountMessages, meterMessages } from '../publication/states.ts';
import { type Topics, unsay } from '../publication/topics.ts';
import type { StateDirectory } from '../store/stateDirectory.ts';
import type { Constituencies } from './constituencies.ts';
import { openStanding } from './standing.ts';
import type { Truth } from './truth.ts';

export interface Announcer {
  /** Everything that is true now: bridge online, discovery, states, and withdrawals of what is gone. */
  everything(): Message[];
  /** The retained messages whose payload differs from what was said last. */
  news(): Message[];
  /** To be told of each message that the broker has acknowledged. */
  delivered(message: Message): void;
  /** Resolves once what stands on the broker is remembered on disk. */
  saved(): Promise<void>;
}

export interface AnnouncerParts {
  readonly config: Config;
  readonly topics: Topics;
  readonly truth: Truth;
  readonly constituencies: Constituencies | null;
  readonly state: StateDirectory;
  readonly log: Log;
}

export async function openAnnouncer(parts: AnnouncerParts): Promise<Announcer> {
  const { config, topics, truth, constituencies } = parts;
  const prefix = config.mqtt.discovery_prefix;
  const baseTopic = config.mqtt.base_topic;
  const standing = await openStanding(parts.state, parts.log);
  // Digests, not payloads: with thousands of meters the payloads themselves would double the memory.
  const said = new Map<string, string>();

  function documents(): DiscoveryDocument[] {
    if (prefix === false) return [];
    const has = { accounts: config.accounts.length > 0, constituencies: constituencies !== null };
    const place = { prefix, baseTopic, topics, ...has };
    return [
      bridgeDocument(place),
      ...truth.accounts().map((view) => accountDocument(place, view)),
      ...truth.meters().map((view) => meterDocument(place, view)),
    ];
  }

  function states(): Message[] {
    const bridge = truth.bridge();
    return [
      infoMessage(topics, baseTopic, bridge),
      healthMessage(topics, bridge.health, bridge.zone),
      ...truth.accounts().flatMap((view) => accountMessages(topics, view)),
      ...bridge.meters.flatMap((view) => meterMessages(topics, view)),
      ...(constituencies?.messages() ?? []),
    ];
  }

  function compose(): Message[] {
    const docs = documents();
    const discovery = docs.flatMap((doc) => announce(doc, standing.components(doc.topic)));
    const current = [stateMessage(topics, 'online'), ...discovery, ...states()];
    standing.stand(current, docs);
    return [...current, ...(truth.isWhole() ? standing.gone().map(unsay) : [])];
  }

  const digest = ({ payload }: Message) => createHash('sha1').update(payload).digest('base64');
  const isNews = (message: Message) => message.step || said.get(message.topic) !== digest(message);

  return {
    everything() {
      const all = compose();
      for (const message of all) said.set(message.topic, digest(message));
      return all;
    },
    news() {
      const fresh = compose().filter(isNews);
      for (const message of fresh) said.set(message.topic, digest(message));
      return fresh;
    },
    delivered: standing.delivered,
    saved: standing.saved,
  };
}
