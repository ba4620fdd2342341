// All documents of a state directory: read one after the other, and replaced so that a crash never leaves some old and some new.
import { type FileHandle, lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { EXIT, failure } from '../foundation/failure.ts';
import { isDocument, isLoginBudget, isTokens, markOf, plainDocument, readBackup, Survey } from './backup.ts';
import { documentsIn, type NamedDocument, textOf } from './documentStream.ts';
import { documentIn, documentText } from './documentText.ts';
import {
  clearWay,
  NoRegularFile,
  openRegularFile,
  pathsBelow,
  readRegularFile,
  refuseLinks,
  replace,
  setAside,
  unlessGone,
} from './privateFiles.ts';

/** A file that is no JSON or not as it was written gives `null`, and so does anything but a file. Throws state_unreadable. */
export async function* documentsOf(directory: string): AsyncGenerator<NamedDocument> {
  try {
    for (const name of await namesIn(directory)) {
      const bytes = await readRegularFile(join(directory, `${name}.json`)).catch(unlessOfNoUse);
      if (bytes !== null) yield [name, parsed(bytes)];
    }
  } catch (err) {
    throw stateUnreadable(directory, err as NodeJS.ErrnoException);
  }
}

export const stateUnreadable = (directory: string, cause: NodeJS.ErrnoException) =>
  failure(
    'state_unreadable',
    `The state directory cannot be read: ${directory} (${cause.code ?? 'unknown error'}).`,
    {
      exit: EXIT.unexpected,
      retry: 'never',
      hint: 'Run the command as the user that the daemon runs as, or as root.',
      cause,
    },
  );

/** Nothing where there is no file any more, and no JSON where there is something else. */
function unlessOfNoUse(err: NodeJS.ErrnoException): Buffer | null {
  return err instanceof NoRegularFile ? Buffer.alloc(0) : unlessGone(err);
}

async function namesIn(directory: string): Promise<string[]> {
  const files = await pathsBelow(directory);
  const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
  return names.filter(isDocument).sort();
}

function parsed(bytes: Buffer): unknown {
  try {
    return documentIn(bytes.toString('utf8'));
  } catch {
    return null;
  }
}

/** Those of a state directory that go into a backup, as they do. `survey` sees all of them. */
export async function* plainDocuments(directory: string, survey: Survey): AsyncGenerator<NamedDocument> {
  for await (const [name, json] of documentsOf(directory)) {
    const plain = survey.take(name, json) ? plainDocument(name, json) : undefined;
    if (plain !== undefined) yield [name, plain];
  }
}

/** A state directory before a restore, which leaves its sessions, and refused logins with their waits. */
export class StateBefore {
  readonly survey = new Survey();
  readonly staying = new Map<string, unknown>();

  static async of(directory: string): Promise<StateBefore> {
    const before = new StateBefore();
    for await (const [name, json] of documentsOf(directory)) {
      const isUnderstood = before.survey.take(name, json);
      if (isUnderstood && (isTokens(name) || isLoginBudget(name))) before.staying.set(name, json);
    }
    return before;
  }

  /** The documents that are there once the backup is restored. Throws backup_unreadable. */
  async *restored(backup: FileHandle): AsyncGenerator<NamedDocument> {
    const staying = new Map(this.staying);
    for await (const [name, json] of readBackup(backup)) {
      yield [name, isLoginBudget(name) ? (staying.get(name) ?? json) : json];
      staying.delete(name);
    }
    yield* staying;
  }

  /** The restore of such a backup would change nothing that a backup holds. */
  isSameAfter(backup: Survey): boolean {
    const marks = new Map(backup.marks);
    for (const [name, json] of this.staying)
      if (isLoginBudget(name)) marks.set(name, markOf(plainDocument(name, json)));
    return this.survey.hasSame(marks);
  }
}

/** No document has this name. */
const UNDER_WAY = 'restoring.json';
const WRITE = 'write';

/**
 * Puts these documents in the place of all others. All of it is written to one file first, from which the next start goes on
 * after a crash. The directory is not replaced by another one: in a container it is the root of a volume, and the
 * configuration may lie in it. Rejects with the system's error, or with what the documents throw; with that, and with ELOOP,
 * before anything is changed.
 */
export async function replaceDocuments(
  directory: string,
  documents: AsyncIterable<NamedDocument>,
): Promise<void> {
  const remove = await namesIn(directory);
  for (const name of remove) await refuseLinks(directory, `${name}.json`);
  await clearWay(directory, UNDER_WAY);
  const text = textOf({ remove }, WRITE, withoutLinks(directory, documents));
  await replace(join(directory, UNDER_WAY), text);
  await finishRestore(directory);
}

async function* withoutLinks(
  directory: string,
  documents: AsyncIterable<NamedDocument>,
): AsyncGenerator<NamedDocument> {
  for await (const [name, json] of documents) {
    if (!isDocument(name)) throw new TypeError('no document has this name');
    await refuseLinks(directory, `${name}.json`);
    yield [name, json];
  }
}

/** All that a restore writes is on the disk, but not all of it in its place. */
export const isRestoreUnderWay = (directory: string): Promise<boolean> =>
  lstat(join(directory, UNDER_WAY)).then(
    () => true,
    // This also holds for a directory that cannot be looked into: the first document tells that.
    () => false,
  );

/**
 * Brings a restore to its end that a crash has interrupted. False: what it had to do is known in part only, or a link is in its
 * way; then what it should be done from is set aside, as the program has to start. Rejects with the system's error.
 */
export async function finishRestore(directory: string): Promise<boolean> {
  if (!(await isRestoreUnderWay(directory))) return true;
  const file = join(directory, UNDER_WAY);
  const remove = await namesToRemove(directory).catch(() => null);
  const isWhole = remove !== null && (await carryOut(directory, remove));
  if (isWhole) await rm(file, { force: true });
  else await setAside(file, 'damaged').catch(() => undefined);
  return isWhole;
}

/** The documents are left out: they pass by one at a time. */
const underWay = z.object({ [WRITE]: z.object({}), remove: z.array(z.string()) });

/** Rejects where what is left of a restore cannot be read, is damaged, or is about what is no document. */
async function namesToRemove(directory: string): Promise<readonly string[]> {
  const names = new Set<string>();
  let head: unknown;
  const documents = documentsUnderWay(directory, (json) => {
    head = json;
  });
  for await (const [name] of documents) names.add(name);
  const { remove } = underWay.parse(head, { jitless: true });
  if (![...names, ...remove].every(isDocument)) throw new TypeError('no document has this name');
  return remove.filter((name) => !names.has(name));
}

async function* documentsUnderWay(
  directory: string,
  onRest: (rest: unknown) => void,
): AsyncGenerator<NamedDocument> {
  await refuseLinks(directory, UNDER_WAY);
  const handle = await openRegularFile(join(directory, UNDER_WAY));
  yield* documentsIn(handle.createReadStream(), WRITE, onRest);
}

/** False where a link was in the way of a document. Rejects with the system's error. */
async function carryOut(directory: string, remove: readonly string[]): Promise<boolean> {
  let isWhole = true;
  const change = async (name: string, step: (path: string) => Promise<void>) => {
    try {
      await clearWay(directory, `${name}.json`);
      await step(join(directory, `${name}.json`));
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ELOOP') throw err;
      isWhole = false;
    }
  };
  for (const name of remove) await change(name, (path) => rm(path, { force: true }));
  for await (const [name, json] of documentsUnderWay(directory, () => undefined))
    await change(name, (path) => replace(path, documentText(json)));
  return isWhole;
}
