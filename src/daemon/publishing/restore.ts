// Reads back once, at the first connection, what the broker remembers of meters whose ledger is lost or new.
import type { Log } from '../../foundation/log.ts';
import type { Restore } from '../../mqtt/link.ts';
import type { Incoming } from '../../mqtt/message.ts';
import type { Topics } from '../../publication/topics.ts';
import { readRetainedHistory } from '../../store/retainedHistory.ts';
import type { AccountRuntime } from '../accounts/account.ts';
import type { Meter } from '../accounts/meter.ts';

export interface Recollection extends Restore {
  /** For meters found later: they get what was taken. */
  settle(meter: Meter): Promise<void>;
}

export interface RecollectionParts {
  readonly accounts: readonly AccountRuntime[];
  readonly topics: Topics;
  /** A ledger has been opened anew from an earlier origin: its history has to be read again. */
  readonly onReopened: () => void;
  readonly log: Log;
}

export function openRecollection({ accounts, topics, onReopened, log }: RecollectionParts): Recollection {
  let taken: ReadonlyMap<string, Incoming> | null = null;
  const meters = () => accounts.flatMap((account) => account.meters ?? []);

  async function settle(meter: Meter): Promise<void> {
    if (taken === null || !meter.isNew) return;
    const retained = taken.get(topics.of('meter/<meter>/history', meter.name));
    const remembered = retained ? readRetainedHistory(retained.payload) : null;
    if (retained && remembered === null)
      log.warn({ meter: meter.name }, 'retained history is not one of ours');
    await meter.remember(remembered);
  }

  return {
    filter: topics.of('meter/<meter>/history', '+'),
    isWanted() {
      const isWanted =
        taken === null && accounts.some((account) => account.meters?.some(({ isNew }) => isNew) ?? true);
      // What stands for a meter that appears later is nobody's but a stranger's.
      if (!isWanted) taken ??= new Map();
      return isWanted;
    },
    async take(retained) {
      taken = new Map(retained.map((incoming) => [incoming.topic, incoming]));
      for (const meter of meters()) await settle(meter);
      // Nobody else will ask for the rest.
      if (accounts.every(({ meters: known }) => known !== null)) taken = new Map();
      if (meters().some(({ ledger }) => !ledger.complete)) onReopened();
    },
    settle,
  };
}
