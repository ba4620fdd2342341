// Restores ledgers that are new or lost from the history that is retained on the broker, once, at the first connection.
import type { Account } from '../../accounts/account.ts';
import type { Meter } from '../../accounts/meter.ts';
import { readRetainedHistory } from '../../domain/recovery.ts';
import type { Log } from '../../foundation/log.ts';
import type { Incoming } from '../../mqtt/message.ts';
import type { Topics } from '../../publication/topics.ts';

export function historyOnBroker(topics: Topics, log: Log) {
  /** The keys are topics; `null` until the broker has been read. */
  let retained: ReadonlyMap<string, Incoming> | null = null;

  /** To be called with each meter that is opened: one that is found later gets what was read. */
  async function restore(meter: Meter): Promise<void> {
    if (retained === null || !meter.store.isNew) return;
    const found = retained.get(topics.of('meter/<meter>/history', meter.name));
    const history = found ? readRetainedHistory(found.payload) : null;
    if (found && history === null)
      log.warn({ meter: meter.name }, 'the retained history is not understood and is ignored');
    await meter.store.restore(history);
  }

  return {
    restore,
    /** For the link. `onReopened`: some history has to be read again. */
    reader:
      (accounts: readonly Account[], onReopened: () => void) =>
      async (read: (filter: string) => Promise<readonly Incoming[]>): Promise<void> => {
        if (retained !== null) return;
        const isNew = accounts.some(({ meters }) => meters?.some(({ store }) => store.isNew) ?? true);
        const found = isNew ? await read(topics.of('meter/<meter>/history', '+')) : [];
        // What is retained for a meter that appears later than this cannot be ours.
        retained = new Map(found.map((incoming) => [incoming.topic, incoming]));
        const meters = accounts.flatMap((account) => account.meters ?? []);
        for (const meter of meters) await restore(meter);
        // Once all meters are known, the rest is not needed.
        if (accounts.every((account) => account.meters !== null)) retained = new Map();
        if (isNew && meters.some(({ ledger }) => !ledger.complete)) onReopened();
      },
  };
}
