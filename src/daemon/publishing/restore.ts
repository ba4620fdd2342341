// Restores ledgers that are new or lost from the history that is retained on the broker, once, at the first connection.

import type { Meter } from '../../accounts/meter.ts';
import type { Log } from '../../foundation/log.ts';
import type { Incoming } from '../../mqtt/message.ts';
import type { Topics } from '../../publication/topics.ts';
import { readRetainedHistory } from '../../store/retainedHistory.ts';

export class Restore {
  readonly #topics: Topics;
  readonly #log: Log;
  /** By topic; `null` until the broker has been read. */
  #retained: ReadonlyMap<string, Incoming> | null = null;

  constructor(topics: Topics, log: Log) {
    this.#topics = topics;
    this.#log = log;
  }

  /** To be called with each meter that is opened: one that is found later gets what was read. */
  async apply(meter: Meter): Promise<void> {
    if (this.#retained === null || !meter.store.isNew) return;
    const retained = this.#retained.get(this.#topics.of('meter/<meter>/history', meter.name));
    const remembered = retained ? readRetainedHistory(retained.payload) : null;
    if (retained && remembered === null) {
      this.#log.warn({ meter: meter.name }, 'the retained history is not understood and is ignored');
    }
    await meter.store.restore(remembered);
  }

  /** For the link, which reads the retained messages. `onReopened`: some history has to be read again. */
  reader(accounts: readonly { readonly meters: readonly Meter[] | null }[], onReopened: () => void) {
    const meters = () => accounts.flatMap((account) => account.meters ?? []);
    return {
      filter: this.#topics.of('meter/<meter>/history', '+'),
      isWanted: () => {
        const isWanted =
          this.#retained === null &&
          accounts.some((account) => account.meters?.some(({ store }) => store.isNew) ?? true);
        // What is retained for a meter that appears later than this cannot be ours.
        if (!isWanted) this.#retained ??= new Map();
        return isWanted;
      },
      take: async (retained: readonly Incoming[]) => {
        this.#retained = new Map(retained.map((incoming) => [incoming.topic, incoming]));
        for (const meter of meters()) await this.apply(meter);
        // Once all meters are known, the rest is not needed.
        if (accounts.every((account) => account.meters !== null)) this.#retained = new Map();
        if (meters().some(({ ledger }) => !ledger.complete)) onReopened();
      },
    };
  }
}
