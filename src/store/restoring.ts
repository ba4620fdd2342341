// Replaces many documents of a state directory so that a crash never leaves some old and some new.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { refuseLinks, replace } from './privateFiles.ts';

export interface Restoration {
  /** Parsed JSON by the name of its document. */
  readonly write: Readonly<Record<string, unknown>>;
  readonly remove: readonly string[];
}

/** No document has this name. */
const UNDER_WAY = 'restoring.json';

/**
 * All of it is written to one file first: whoever opens the directory after a crash goes on from there. The directory
 * is not replaced by another one: in a container it is the root of a volume, and the configuration may lie in it.
 * Rejects with the system's error.
 */
export async function restoreDocuments(directory: string, restoration: Restoration): Promise<void> {
  await replace(join(directory, UNDER_WAY), JSON.stringify(restoration));
  await finishRestore(directory);
}

/** Brings a restore to its end that a crash has interrupted. Rejects with the system's error. */
export async function finishRestore(directory: string): Promise<void> {
  const file = join(directory, UNDER_WAY);
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return;
  const { write, remove }: Restoration = JSON.parse(text);
  for (const name of [...remove, ...Object.keys(write)]) await refuseLinks(directory, `${name}.json`);
  for (const name of remove) await rm(join(directory, `${name}.json`), { force: true });
  for (const [name, json] of Object.entries(write))
    await replace(join(directory, `${name}.json`), `${JSON.stringify(json)}\n`);
  await rm(file, { force: true });
}
