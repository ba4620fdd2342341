// Which account keeps the ledger of a property, and under which name: of two that would be the same, the first one keeps it.
import { type Property, seriesName, topicSafe } from '../domain/reading.ts';

/** `Owner`: an account, or its id. */
export class SeriesNames<Owner> {
  readonly #owners = new Map<string, Owner>();
  /** The property that has the name. */
  readonly #names = new Map<string, string>();

  /**
   * Those of an account's properties that it may read: in a fleet another process may read some for another account. Asked when the
   * account is opened, and after each discovery.
   */
  async claim(properties: readonly Property[]): Promise<readonly Property[]> {
    return properties;
  }

  /** The first that claims the property. */
  ownerOf({ propertyCustomerId }: Property, claimant: Owner): Owner {
    const owner = this.#owners.get(propertyCustomerId) ?? claimant;
    this.#owners.set(propertyCustomerId, owner);
    return owner;
  }

  isOwner({ propertyCustomerId }: Property, owner: Owner): boolean {
    return this.#owners.get(propertyCustomerId) === owner;
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
