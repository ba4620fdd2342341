// The program's state between restarts: named documents, and locks between processes. Files are the default.
import type { Clock } from '../foundation/clock.ts';
import type { Failure } from '../foundation/failure.ts';

export interface Document<T> {
  /** `null` when there is none, or none that can be understood. Rejects with state_unreadable where a command's user may not read. */
  read(): Promise<T | null>;
  /**
   * Resolves to true once the document will survive the process, or is in the claim of a fleet, which writes it before anything is
   * published; to false where it could not be kept, which the store tells and tries again. Rejects only where the process may not go
   * on.
   */
  write(value: T): Promise<boolean>;
  remove(): Promise<boolean>;
}

/** A codec turns a document's parsed JSON into a value (throws if it is not one), and back. */
export interface Codec<T> {
  decode(json: unknown): T;
  encode(value: T): unknown;
}

export interface StateStore {
  /** Set while something that had to be written or removed has not been. */
  readonly fault: Failure | null;
  /** `name` may have folders in it, such as `accounts/home/tokens`. One object for each name. */
  document<T>(name: string, codec: Codec<T>): Document<T>;
  /** Names of the documents in a folder, such as `accounts/home`. */
  list(folder: string): Promise<string[]>;
  /** Runs the step while no other process runs one under this name. `isHeld` is false where that cannot be promised. */
  withLock<T>(name: string, clock: Clock, step: (isHeld: boolean) => Promise<T>): Promise<T>;
}

export interface Owned<T> {
  readonly owner: string;
  readonly value: T;
}

/** A document that counts as absent when another owner wrote it. `isOwn`: where an owner may be written in several ways. */
export function owned<T>(
  document: Document<Owned<T>>,
  owner: string,
  isOwn = (other: string) => other === owner,
): Document<T> {
  return {
    async read() {
      const stored = await document.read();
      return stored !== null && isOwn(stored.owner) ? stored.value : null;
    },
    write: (value) => document.write({ owner, value }),
    remove: () => document.remove(),
  };
}

/** A document of a version that this program does not know yet: a newer one wrote it before a step back. */
export class NewerDocument extends Error {}
