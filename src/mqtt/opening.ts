// Opening a connection for the link: connect, read what the broker remembers when that is wanted, subscribe.
import type { Clock } from '../foundation/clock.ts';
import { type BrokerAddress, type Connection, connectOnce, type ProtocolVersion } from './connection.ts';
import type { Incoming, Message } from './message.ts';

/** Reads retained messages back before anything is published. */
export interface Recollection {
  readonly filter: string;
  isWanted(): boolean;
  take(retained: readonly Incoming[]): Promise<void>;
}

export interface OpeningParts {
  readonly address: () => Promise<BrokerAddress>;
  readonly will: Message;
  readonly subscriptions: readonly string[];
  readonly onMessage: (incoming: Incoming) => void;
  readonly recollection?: Recollection;
  readonly clock: Clock;
}

// Retained messages follow a subscription at once; nothing says which one is the last.
const RECOLLECTION_MS = 700;

/** Rejects with BrokerUnreachable, or with what a secret or certificate file failed of. */
export async function openConnection(
  version: ProtocolVersion,
  parts: OpeningParts,
  stopping: AbortSignal,
): Promise<Connection> {
  const { recollection, clock } = parts;
  const recollects = recollection?.isWanted() ?? false;
  const heard: Incoming[] = [];
  const hear = (incoming: Incoming) => {
    if (recollects && incoming.retained) heard.push(incoming);
    parts.onMessage(incoming);
  };
  const opened = await connectOnce(await parts.address(), version, parts.will, hear, clock);
  try {
    if (recollection && recollects) {
      await opened.subscribe([recollection.filter]);
      await clock.sleep(RECOLLECTION_MS, stopping);
      await opened.unsubscribe(recollection.filter);
      await recollection.take(heard.splice(0));
    }
    await opened.subscribe(parts.subscriptions);
    return opened;
  } catch (err) {
    await opened.close(0);
    throw err;
  }
}
