// The disk has this of the meters: their ledgers, and the weather.
import { tenantSince } from '../accounts/ledgerBook.ts';
import type { KnownMeter } from '../accounts/names.ts';
import type { Config } from '../config/schema.ts';
import type { Weather } from '../domain/insight/weather.ts';
import { type Ledger, ledgerSince } from '../domain/ledger.ts';
import type { Property } from '../domain/reading.ts';
import { temperaturesCodec } from '../store/documents.ts';
import type { LedgerDocument } from '../store/ledgerDocument.ts';
import { withoutCustomer } from '../store/privateFiles.ts';
import type { StateStore } from '../store/stateStore.ts';
import type { Io } from './command.ts';

/**
 * The ledgers of the `only` account, or of all, under the names that the meters have in topics. `meters`: all that the state directory
 * knows. `unreadable`: documents, which are told.
 */
export async function ledgersOf(meters: readonly KnownMeter[], config: Config, io: Io, only: string | null) {
  const ledgers: (LedgerDocument & {
    readonly account: string;
    readonly meter: string;
    readonly property: Property;
    /** The part since `accounts[].history_since`. */
    readonly tenancy: Ledger;
  })[] = [];
  const unreadable: string[] = [];
  for (const { account, name: meter, property, file, ledger } of meters) {
    if (ledger === null || (only ?? account) !== account) continue;
    const document = await ledger.read();
    if (document === null) unreadable.push(file);
    else {
      const tenancy = tenancyOf(document.ledger, account, config);
      ledgers.push({ ...document, account, meter, property, tenancy });
    }
  }
  for (const name of unreadable)
    io.err(`Left out, as it is damaged, of a newer version or not readable: ${withoutCustomer(name)}.\n`);
  return { ledgers, unreadable };
}

/** The days since `accounts[].history_since`: all of them where that is not given. */
export function tenancyOf(ledger: Ledger, account: string, config: Config): Ledger {
  return ledgerSince(ledger, tenantSince(account, config) ?? ledger.origin);
}

/** The outdoor temperatures that the daemon has read last; `null`: none. */
export async function weatherOnDisk(state: StateStore, { home_assistant }: Config): Promise<Weather | null> {
  const stored = await state.document('outdoor-temperatures', temperaturesCodec).read();
  if (stored === null) return null;
  return { temperatures: new Map(stored.value.days), base: home_assistant?.degree_day_base ?? null };
}
