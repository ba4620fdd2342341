// What is kept of an account of a fleet, to look at: nothing is claimed, and nothing is written.
import type { Property } from '../../domain/reading.ts';
import { contextCodec } from '../documents.ts';
import type { StateStore } from '../stateStore.ts';
import type { Database } from './database.ts';
import { Kept, keptAs, readKept } from './kept.ts';
import type { Seal } from './seal.ts';

export interface Shelf {
  readonly state: StateStore;
  /** What the series of a property is called; `''`: another account reads it. */
  readonly nameOf: (property: Property) => string;
}

/** Rejects with damaged_document, or DatabaseTrouble. */
export async function openShelf(
  account: string,
  { database, seal }: { readonly database: Database; readonly seal: Seal },
): Promise<Shelf> {
  const kept = new Kept(account, seal, false);
  kept.load(await readKept(database, [account]));
  const nameOf = ({ propertyCustomerId }: Property) => kept.seriesOf(seal.mark(propertyCustomerId));
  const state: StateStore = {
    fault: null,
    document: (path, codec) => ({
      read: async () => kept.read(keptAs(path, seal).name, codec),
      write: async () => true,
      remove: async () => true,
    }),
    // The database calls a ledger by a mark, from which nobody learns the number of a customer.
    async list() {
      const properties = kept.read('context', contextCodec)?.value.properties ?? [];
      return properties
        .filter((property) => nameOf(property) !== '')
        .map(({ propertyCustomerId }) => `ledger-${encodeURIComponent(propertyCustomerId)}`);
    },
    withLock: (_name, _clock, step) => step(false),
  };
  return { state, nameOf };
}
