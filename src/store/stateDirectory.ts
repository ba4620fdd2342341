// The state directory: small JSON documents, each written whole and privately; nothing else in the house writes files.
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../foundation/log.ts';
import { type Codec, type Document, FileDocument, type StateUnwritable, type Undone } from './document.ts';
import type { Care } from './wholeFile.ts';

export interface StateDirectory {
  readonly path: string;
  /** Set while something that had to be written or removed has not been. */
  readonly fault: StateUnwritable | null;
  /** Tries again to write and remove whatever could not be. Never rejects. */
  retry(): Promise<void>;
  document<T>(name: string, codec: Codec<T>, care?: Care): Document<T>;
  /** Names of the documents below a folder of the directory, such as `accounts/home`. */
  list(folder: string): Promise<string[]>;
}

/** Opens the directory for the daemon: leftovers of a killed write are swept away. */
export async function openStateDirectory(path: string, log: Log): Promise<StateDirectory> {
  await sweepLeftovers(path);
  return visitStateDirectory(path, log);
}

/** Opens it for a command beside the daemon, whose writes may be under way. It is made with the first document. */
export function visitStateDirectory(path: string, log: Log): StateDirectory {
  const undone = new Map<string, Undone>();
  const place = { path, undone, log };
  return {
    path,
    get fault() {
      const [first] = undone.values();
      return first?.fault ?? null;
    },
    async retry() {
      for (const { again } of [...undone.values()]) await again();
    },
    document: (name, codec, care = 'durable') => new FileDocument(name, codec, care, place),
    async list(folder) {
      const names = await readdir(join(path, folder)).catch(() => []);
      return names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
    },
  };
}

// Temporary files are named `<name>.<digits>`; a kill in the middle leaves one behind.
async function sweepLeftovers(path: string): Promise<void> {
  const names = await readdir(path, { recursive: true }).catch(() => []);
  for (const name of names) if (/\.json\.\d+$/.test(name)) await rm(join(path, name), { force: true });
}
