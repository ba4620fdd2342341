// Who reads which property, and under which name: of two that would be the same, the first one keeps it.
import { type Property, seriesName, topicSafe } from '../domain/reading.ts';

/** `Reader`: whoever reads a property. */
export class SeriesNames<Reader> {
  readonly #readers = new Map<string, Reader>();
  readonly #owners = new Map<string, string>();

  /** Those of the properties that no other process reads: in a fleet there are others. */
  async claim(properties: readonly Property[]): Promise<readonly Property[]> {
    return properties;
  }

  /** Who reads the property: the first that claims it. */
  readerOf({ propertyCustomerId }: Property, claimant: Reader): Reader {
    const reader = this.#readers.get(propertyCustomerId) ?? claimant;
    this.#readers.set(propertyCustomerId, reader);
    return reader;
  }

  isRead({ propertyCustomerId }: Property, reader: Reader): boolean {
    return this.#readers.get(propertyCustomerId) === reader;
  }

  /** The name of its series in topics. Of two properties with the same meter the first one keeps the plain name. */
  nameOf(property: Property): string {
    const { propertyCustomerId } = property;
    const name = seriesName(property);
    const owner = this.#owners.get(name) ?? propertyCustomerId;
    this.#owners.set(name, owner);
    return owner === propertyCustomerId ? name : `${name}-${topicSafe(propertyCustomerId)}`;
  }

  /** The property is gone: its meter may have moved to another one. */
  release({ propertyCustomerId }: Property): void {
    this.#readers.delete(propertyCustomerId);
    for (const [name, owner] of this.#owners) if (owner === propertyCustomerId) this.#owners.delete(name);
  }
}
