// The histories that the broker gives back once: those of ledgers that are new or lost.
import type { Account } from '../../accounts/account.ts';
import type { Meter } from '../../accounts/meter.ts';
import { type RetainedHistory, readRetainedHistory } from '../../domain/recovery.ts';
import type { Log } from '../../foundation/log.ts';
import type { Link } from '../../mqtt/link.ts';
import type { Incoming } from '../../mqtt/message.ts';
import type { ReadRetained } from '../../mqtt/subscriber.ts';
import { retainedHistory } from '../../publication/subscriptions.ts';
import type { Topics } from '../../publication/topics.ts';

/** The broker is asked once for each ledger that is new: by the topic of its meter, which has one message. */
export class HistoryOnBroker {
  readonly #topics: Topics;
  readonly #log: Log;
  /** `null` as long as nobody may be asked. */
  #link: Pick<Link, 'readRetained'> | null = null;
  /** The history of this meter has to be read again. */
  #onReopened: (meter: Meter) => void = () => undefined;

  constructor(topics: Topics, log: Log) {
    this.#topics = topics;
    this.#log = log;
  }

  /** Meters that are opened from now on are looked up. */
  open(link: Pick<Link, 'readRetained'>, onReopened: (meter: Meter) => void): void {
    this.#link = link;
    this.#onReopened = onReopened;
  }

  /**
   * The caller gives each meter that it opens, before its first question. One that is opened without a connection is asked for at
   * the first one.
   */
  async restore(meter: Meter): Promise<void> {
    const link = this.#link;
    if (link !== null) await this.#look(meter, (...question) => link.readRetained(...question));
  }

  /** Meters that were opened without a connection are looked up at the next one, before anything is published. */
  async atConnection(accounts: readonly Account[], read: ReadRetained): Promise<void> {
    for (const meter of accounts.flatMap((account) => account.meters ?? [])) {
      if (!meter.book.isNew) continue;
      await this.#look(meter, read);
      if (!meter.ledger.complete) this.#onReopened(meter);
    }
  }

  async #look(
    meter: Meter,
    read: (...question: Parameters<ReadRetained>) => Promise<Incoming | null | undefined>,
  ): Promise<void> {
    if (!meter.book.isNew) return;
    const topic = retainedHistory(this.#topics, meter.name);
    const incoming = await read(topic, (late) => void this.#takeLate(meter, late));
    if (incoming !== undefined) await meter.book.restore(incoming && this.#understood(meter, incoming));
  }

  /** It was longer on its way than the silence after which nothing was thought to be there. */
  async #takeLate(meter: Meter, late: Incoming): Promise<void> {
    const history = this.#understood(meter, late);
    if (history === null) return;
    await meter.book.restoreLate(history);
    this.#onReopened(meter);
  }

  #understood(meter: Meter, { payload }: Incoming): RetainedHistory | null {
    const history = readRetainedHistory(payload);
    if (history === null)
      this.#log.warn({ meter: meter.name }, 'the retained history is not understood and is ignored');
    return history;
  }
}
