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

// Retained messages follow a subscription at once; nothing says which one is the last but a silence.
const SILENCE_MS = 700;
const MOST_SILENCES = 30;
// Anybody may have written there.
const MOST_BYTES = 64 * 1024 * 1024;

/** Rejects with BrokerUnreachable, or with what a secret or certificate file failed of. */
export async function openConnection(
  version: ProtocolVersion,
  parts: OpeningParts,
  stopping: AbortSignal,
): Promise<Connection> {
  const { recollection, clock } = parts;
  const heard: Incoming[] = [];
  let bytes = 0;
  let listens = recollection?.isWanted() ?? false;
  const hear = (incoming: Incoming) => {
    if (listens && incoming.retained && bytes < MOST_BYTES) {
      heard.push(incoming);
      bytes += incoming.payload.length;
    }
    parts.onMessage(incoming);
  };
  async function silence(): Promise<void> {
    for (let waited = 0, before = -1; waited < MOST_SILENCES && heard.length !== before; waited += 1) {
      before = heard.length;
      await clock.sleep(SILENCE_MS, stopping);
    }
  }

  const opened = await connectOnce(await parts.address(), version, parts.will, hear, clock);
  try {
    if (recollection && listens) {
      await opened.subscribe([recollection.filter]);
      await silence();
      await opened.unsubscribe(recollection.filter);
      listens = false;
      await recollection.take(heard.splice(0));
    }
    await opened.subscribe(parts.subscriptions);
    return opened;
  } catch (err) {
    await opened.close(0);
    throw err;
  }
}
