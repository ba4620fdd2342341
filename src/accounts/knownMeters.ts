// The meters that the state directory knows, under the names of their series: for a command, which opens no account.
import type { Config } from '../config/schema.ts';
import type { Property } from '../domain/reading.ts';
import { contextCodec } from '../store/documents.ts';
import type { StateDirectory } from '../store/stateDirectory.ts';
import { friendlyNameOf } from './friendlyNames.ts';
import { withLedger } from './meterLedger.ts';
import { SeriesNames } from './seriesNames.ts';

export interface KnownMeter {
  readonly account: string;
  readonly name: string;
  readonly friendlyName: string | null;
  readonly property: Property;
}

/** In the order of the configuration, each with the account that reads it, as the daemon decides it. */
export async function knownMeters(
  state: StateDirectory,
  { accounts, meters }: Pick<Config, 'accounts' | 'meters'>,
): Promise<KnownMeter[]> {
  const names = new SeriesNames<string>();
  const found: { readonly account: string; readonly property: Property }[] = [];
  for (const { id: account } of accounts) {
    const context = await state.document(`accounts/${account}/context`, contextCodec).read();
    const properties = context?.value.properties ?? [];
    found.push(...properties.map((property) => ({ account, property })));
    for (const property of await withLedger(state, account, properties)) names.ownerOf(property, account);
  }
  return found
    .filter(({ account, property }) => names.ownerOf(property, account) === account)
    .map((one) => {
      const name = names.nameOf(one.property);
      return { ...one, name, friendlyName: friendlyNameOf(meters, one.property, name) };
    });
}
