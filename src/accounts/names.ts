// The names of meters: the series of each property, which account keeps it, its ledger's document, and the name that the
// configuration gives it.
import type { Config } from '../config/schema.ts';
import { type Property, seriesName, topicSafe } from '../domain/reading.ts';
import type { Log } from '../foundation/log.ts';
import { contextCodec } from '../store/documents.ts';
import { ledgerCodec } from '../store/ledgerDocument.ts';
import type { StateStore } from '../store/stateStore.ts';

/** One account keeps a property, and one property keeps a name: the first that claims it. */
export class SeriesNames {
  readonly #owners = new Map<string, string>();
  /** The property that has the name. */
  readonly #names = new Map<string, string>();

  /** All properties of an account, when it is opened and after each discovery: in a fleet the database says which of them it reads. */
  async claim(_properties: readonly Property[]): Promise<void> {}

  /** The id of the first account that claims the property. */
  ownerOf({ propertyCustomerId }: Property, claimant: string): string {
    const owner = this.#owners.get(propertyCustomerId) ?? claimant;
    this.#owners.set(propertyCustomerId, owner);
    return owner;
  }

  /** The account has the property from now on. */
  give({ propertyCustomerId }: Property, account: string): void {
    this.#owners.set(propertyCustomerId, account);
  }

  /** The name of its series in topics. Of two properties with the same meter the first one keeps the plain name. */
  nameOf(property: Property): string {
    const { propertyCustomerId } = property;
    const name = seriesName(property);
    const holder = this.#names.get(name) ?? propertyCustomerId;
    this.#names.set(name, holder);
    return holder === propertyCustomerId ? name : `${name}-${topicSafe(propertyCustomerId)}`;
  }

  /** The property is gone: its meter may have moved to another one. */
  release({ propertyCustomerId }: Property): void {
    this.#owners.delete(propertyCustomerId);
    for (const [name, holder] of this.#names) if (holder === propertyCustomerId) this.#names.delete(name);
  }
}

type Identified = Pick<Property, 'meterIdentifiers'>;

/** The name of the configuration for its series, or for one of its meters; `null` without one. */
export const friendlyNameOf = (
  meters: Config['meters'],
  property: Identified,
  series: string,
): string | null => configuredMeter(meters, property, series)?.name ?? null;

/** The configuration of a meter, and the key under which it stands there; undefined: none. */
export function configuredMeter(meters: Config['meters'], { meterIdentifiers }: Identified, series: string) {
  // Identifiers come from the provider: one may be the name of something that every object has.
  const key = [series, ...meterIdentifiers].find((name) => Object.hasOwn(meters, name));
  return key === undefined ? undefined : { ...meters[key], key };
}

/** The name of its document in the state directory. */
export const ledgerFile = (account: string, { propertyCustomerId }: Property): string =>
  `accounts/${account}/ledger-${encodeURIComponent(propertyCustomerId)}`;

/** The ids of the properties whose ledgers the account has. */
export async function keptLedgers(state: StateStore, account: string): Promise<string[]> {
  const files = await state.list(`accounts/${account}`);
  return files.flatMap((file) => {
    try {
      return decodeURIComponent(/^ledger-(.+)$/.exec(file)?.[1] ?? '') || [];
    } catch {
      // A file of another name.
      return [];
    }
  });
}

const MOST_NAMED = 20;

/** Warns once of names that fit none: as soon as all meters are known, which each poll may bring about. */
export function strayNamesWarning(
  accounts: readonly { readonly meters: readonly { name: string; property: Property }[] | null }[],
  names: Config['meters'],
  log: Log,
): () => void {
  let isTold = false;
  return () => {
    if (isTold || accounts.some(({ meters }) => meters === null)) return;
    isTold = true;
    const meters = accounts.flatMap((account) => account.meters ?? []);
    const existing = new Set(meters.flatMap(({ name, property }) => [name, ...property.meterIdentifiers]));
    const strays = strayNames(names, existing);
    if (strays.length === 0) return;
    log.warn(
      { meters: strays, known: [...existing].slice(0, MOST_NAMED) },
      'the configuration names meters that no account has',
    );
  };
}

/** The names whose keys are neither the series nor an identifier of one of these. */
export const strayNames = (names: Config['meters'], existing: ReadonlySet<string>): string[] =>
  Object.keys(names).filter((key) => !existing.has(key));

/** All that is known of a property that the provider does not list any more. */
const UNLISTED = { subscriptionId: null, balanceGroupId: null, meterIdentifiers: [] };

export type KnownMeter = Awaited<ReturnType<typeof knownMeters>>[number];

/**
 * The meters that the state directory knows, by account, in the order of the configuration and as the daemon calls them. One that
 * several accounts have is there for each of them.
 */
export async function knownMeters(
  state: StateStore,
  { accounts, meters }: Pick<Config, 'accounts' | 'meters'>,
  names = new SeriesNames(),
) {
  const entries: { account: string; property: Property; isListed: boolean; hasLedger: boolean }[] = [];
  for (const { id: account } of accounts) {
    const context = await state.document(`accounts/${account}/context`, contextCodec).read();
    const listed = context?.value.properties ?? [];
    const ledgers = await keptLedgers(state, account);
    const isListed = (id: string) => listed.some(({ propertyCustomerId }) => propertyCustomerId === id);
    const gone = ledgers.filter((id) => !isListed(id)).map((id) => ({ ...UNLISTED, propertyCustomerId: id }));
    for (const property of [...listed, ...gone]) {
      const hasLedger = ledgers.includes(property.propertyCustomerId);
      if (hasLedger) names.ownerOf(property, account);
      entries.push({ account, property, isListed: listed.includes(property), hasLedger });
    }
  }
  const isOwner = ({ property, account }: (typeof entries)[number]) =>
    names.ownerOf(property, account) === account;
  for (const entry of entries.filter(isOwner)) names.nameOf(entry.property);
  return entries.map((entry) => {
    const { account, property, isListed, hasLedger } = entry;
    const name = names.nameOf(property);
    const file = ledgerFile(account, property);
    return {
      account,
      property,
      name,
      friendlyName: friendlyNameOf(meters, property, name),
      isListed,
      /** The daemon reads it, for this account. */
      isOwn: isListed && isOwner(entry),
      /** The name of its document. */
      file,
      /** `null`: the account keeps none. */
      ledger: hasLedger ? state.document(file, ledgerCodec) : null,
    };
  });
}
