// What is retained of the bridge and of each account, discovery apart: for the broker, and for whoever looks at the page.

import type { Constituencies } from '../../constituencies/onDemand.ts';
import type { Ledger } from '../../domain/ledger.ts';
import type { Message } from '../../mqtt/message.ts';
import { accountStateMessage, invoicesMessages } from '../../publication/account.ts';
import { healthMessage, infoMessage, stateMessage } from '../../publication/bridge.ts';
import { meterStateMessage, usageMessages } from '../../publication/meter.ts';
import type { Topics } from '../../publication/topics.ts';
import type { AccountView, MeterView } from '../../publication/views.ts';
import type { Snapshot } from './snapshot.ts';

/** Composes them for one reader: lists that have not changed since it was given them are left out. */
export class States {
  readonly #parts: { readonly snapshot: Snapshot; readonly constituencies: Constituencies | null };
  readonly #topics: Topics;
  readonly #invoices = new Map<string, AccountView['checks']>();
  /** Of each meter, the ledger that its usage topics were written from. */
  readonly #ledgers = new Map<string, Ledger>();

  constructor(
    parts: { readonly snapshot: Snapshot; readonly constituencies: Constituencies | null },
    topics: Topics,
  ) {
    this.#parts = parts;
    this.#topics = topics;
  }

  ofBridge(): { readonly online: Message; readonly others: readonly Message[] } {
    const { snapshot, constituencies } = this.#parts;
    const bridge = snapshot.bridge();
    return {
      online: stateMessage(this.#topics, 'online'),
      others: [
        infoMessage(this.#topics, bridge),
        healthMessage(this.#topics, bridge.health, bridge.zone),
        ...(constituencies?.messages() ?? []),
      ],
    };
  }

  /** `isNew`: the reader has none of its lists yet. */
  ofAccount(view: AccountView, meters: readonly MeterView[], isNew: boolean): readonly Message[] {
    const { account, checks } = view;
    const withNewUsage = meters.filter(({ meter, ledger }) => isNew || this.#ledgers.get(meter) !== ledger);
    // The checks are new whenever the invoices are.
    const hasNewInvoices = isNew || this.#invoices.get(account) !== checks;
    for (const { meter, ledger } of withNewUsage) this.#ledgers.set(meter, ledger);
    this.#invoices.set(account, checks);
    return [
      accountStateMessage(this.#topics, view),
      ...(hasNewInvoices ? invoicesMessages(this.#topics, view) : []),
      ...meters.map((meter) => meterStateMessage(this.#topics, meter)),
      ...withNewUsage.flatMap((meter) => usageMessages(this.#topics, meter)),
    ];
  }
}
