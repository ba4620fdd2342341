// Meters as the files of an account in a state directory know them.
import { ledgerFile } from '../../src/accounts/names.ts';
import type { Ledger } from '../../src/domain/ledger.ts';
import type { Property } from '../../src/domain/reading.ts';
import { contextCodec } from '../../src/store/documents.ts';
import { ledgerCodec } from '../../src/store/ledgerDocument.ts';
import type { StateDirectory } from '../../src/store/stateDirectory.ts';

export const property = (propertyCustomerId: string, ...meterIdentifiers: string[]): Property => ({
  propertyCustomerId,
  subscriptionId: null,
  balanceGroupId: null,
  meterIdentifiers,
});

/** What the provider lists for the account, and what it keeps a ledger of. */
export async function keepMeters(
  state: StateDirectory,
  account: string,
  { listed, kept, ledger }: { listed: readonly Property[]; kept: readonly Property[]; ledger: Ledger },
): Promise<void> {
  const value = { personCustomerId: '1', siteCodes: [], billingProfileIds: [], properties: listed };
  await state.document(`accounts/${account}/context`, contextCodec).write({ owner: 'me', value });
  const document = {
    timezone: 'Europe/Dublin',
    readingCloses: null,
    isNew: false,
    untold: [],
    tariff: null,
    ledger,
  };
  for (const one of kept) await state.document(ledgerFile(account, one), ledgerCodec).write(document);
}
