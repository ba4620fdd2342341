// What goes to the broker and when: everything on connect and on Home Assistant's birth, afterwards what changed.
import { createHash } from 'node:crypto';
import type { Config } from '../../config/schema.ts';
import type { Invoices } from '../../domain/extras.ts';
import type { Ledger } from '../../domain/ledger.ts';
import type { Clock } from '../../foundation/clock.ts';
import type { Log } from '../../foundation/log.ts';
import type { Message } from '../../mqtt/message.ts';
import { accountStateMessage, invoicesMessages } from '../../publication/account.ts';
import { healthMessage, infoMessage, stateMessage } from '../../publication/bridge.ts';
import {
  accountDocument,
  accountShape,
  announce,
  bridgeDocument,
  type DiscoveryDocument,
  meterDocument,
  meterShape,
} from '../../publication/discovery.ts';
import { meterStateMessage, usageMessages } from '../../publication/meter.ts';
import { clear, type Topics } from '../../publication/topics.ts';
import type { AccountView, MeterView } from '../../publication/views.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';
import type { Constituencies } from '../requests/constituencies.ts';
import { openStanding } from './retainedTopics.ts';
import type { Truth } from './snapshot.ts';

export interface Announcer {
  /** Everything is news again, said or not: the broker or Home Assistant starts anew. */
  forget(): void;
  /**
   * The retained messages whose payload differs from what was said last, of these accounts and, when asked for, of
   * the bridge: online, discovery, states, and withdrawals of what is gone.
   */
  news(accounts: readonly string[], withBridge: boolean): Message[];
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
  readonly clock: Clock;
  readonly log: Log;
}

export async function openAnnouncer(parts: AnnouncerParts): Promise<Announcer> {
  const { config, topics, truth, constituencies } = parts;
  const prefix = config.mqtt.discovery_prefix;
  const standing = await openStanding(parts.state, parts.clock, parts.log);
  // Digests, not payloads: with thousands of meters the payloads themselves would double the memory.
  const said = new Map<string, string>();

  // Of each account, the shape in which it was announced and the invoices that were told; of each meter, the ledger
  // that its usage was written from.
  const shapes = new Map<string, string>();
  const listed = new Map<string, Invoices | null>();
  const written = new Map<string, Ledger>();
  const hasAccounts = config.accounts.length > 0;
  const place =
    prefix === false
      ? null
      : { prefix, topics, accounts: hasAccounts, constituencies: constituencies !== null };

  const announced = (docs: readonly DiscoveryDocument[]) =>
    docs.flatMap((doc) => announce(doc, standing.components(doc.topic)));

  function ofBridge(): Parts {
    const docs = place ? [bridgeDocument(place)] : [];
    const bridge = truth.bridge();
    const discovery = [stateMessage(topics, 'online'), ...announced(docs)];
    const states = [
      infoMessage(topics, bridge),
      healthMessage(topics, bridge.health, bridge.zone),
      ...(constituencies?.messages() ?? []),
    ];
    standing.stand('', [...discovery, ...states], docs);
    return { discovery, states };
  }

  function ofAccount(view: AccountView, meters: readonly MeterView[]): Parts {
    const shape = [accountShape(view), view.invoices !== null, ...meters.map(meterShape)].join();
    const isNew = shapes.get(view.account) !== shape;
    const rewritten = meters.filter(({ meter, ledger }) => isNew || written.get(meter) !== ledger);
    const isBilled = isNew || listed.get(view.account) !== view.invoices;
    const states = [
      accountStateMessage(topics, view),
      ...(isBilled ? invoicesMessages(topics, view) : []),
      ...meters.map((meter) => meterStateMessage(topics, meter)),
      ...rewritten.flatMap((meter) => usageMessages(topics, meter)),
    ];
    for (const { meter, ledger } of rewritten) written.set(meter, ledger);
    listed.set(view.account, view.invoices);
    if (!isNew) return { discovery: [], states };
    shapes.set(view.account, shape);
    const docs = place
      ? [accountDocument(place, view), ...meters.map((meter) => meterDocument(place, meter))]
      : [];
    const discovery = announced(docs);
    standing.stand(view.account, [...discovery, ...states], docs);
    return { discovery, states };
  }

  function compose(accounts: readonly string[], withBridge: boolean): Message[] {
    const parts = [
      ...(withBridge ? [ofBridge()] : []),
      ...truth.accounts(accounts).map((view) => ofAccount(view, truth.meters([view.account]))),
    ];
    const isWhole = withBridge && shapes.size === config.accounts.length && truth.isWhole();
    return [
      ...parts.flatMap(({ discovery }) => discovery),
      ...parts.flatMap(({ states }) => states),
      ...(isWhole ? standing.gone().map(clear) : []),
    ];
  }

  /** Whether it differs from what was said last; from now on it has been said. */
  function isNews({ topic, payload, step }: Message): boolean {
    const digest = createHash('sha1').update(payload).digest('base64');
    if (!step && said.get(topic) === digest) return false;
    said.set(topic, digest);
    return true;
  }

  return {
    forget() {
      said.clear();
      shapes.clear();
    },
    news: (accounts, withBridge) => compose(accounts, withBridge).filter(isNews),
    delivered: standing.delivered,
    saved: standing.saved,
  };
}

interface Parts {
  readonly discovery: readonly Message[];
  readonly states: readonly Message[];
}
