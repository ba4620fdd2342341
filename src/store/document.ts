// What a document of the state directory is to those who use it.

/** One document. `read` gives `null` when there is none, or none that can be understood. */
export interface Document<T> {
  read(): Promise<T | null>;
  /** Resolves once the document is on the disk. Rejects with StateUnwritable. */
  write(value: T): Promise<void>;
  /** Rejects with StateUnwritable. */
  remove(): Promise<void>;
}

/** How a document looks on disk: its parsed JSON to a value (throws when it is not one), and back. */
export interface Codec<T> {
  decode(json: unknown): T;
  encode(value: T): unknown;
}

export interface Owned<T> {
  readonly owner: string;
  readonly value: T;
}

/** A document that counts as absent when another owner wrote it. */
export function owned<T>(document: Document<Owned<T>>, owner: string): Document<T> {
  return {
    async read() {
      const stored = await document.read();
      return stored?.owner === owner ? stored.value : null;
    },
    write: (value) => document.write({ owner, value }),
    remove: () => document.remove(),
  };
}
