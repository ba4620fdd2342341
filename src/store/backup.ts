// A backup: one gzipped JSON document with the configuration and the documents of the state directory, without secrets. And
// all documents of a state directory at once: read, judged, and replaced so that a crash never leaves some old and some new.
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod';
import { EXIT, failure } from '../foundation/failure.ts';
import * as codecs from './documents.ts';
import { ledgerCodec } from './ledgerDocument.ts';
import {
  clearWay,
  NoRegularFile,
  pathsBelow,
  readRegularFile,
  refuseLinks,
  replace,
  setAside,
  unlessGone,
} from './privateFiles.ts';
import type { Codec } from './stateStore.ts';

/** The file is no backup, or not a whole one. */
export const backupUnreadable = (found: string, allowed = 'a file that heat2mqtt backup has written') =>
  failure('backup_unreadable', `The backup cannot be used: found ${found}; allowed: ${allowed}.`, {
    exit: EXIT.usage,
    retry: 'never',
    hint: 'Nothing was changed.',
  });

const backupFile = z.object({
  heat2mqtt_backup: z.literal(1),
  made_at: z.iso.datetime(),
  /** The version of the program. */
  made_by: z.string(),
  /** The text of the configuration, without secrets; `null`: there was no file. */
  config: z.string().nullable(),
  /** The keys of the secrets that the configuration had, for a person. */
  secrets_taken: z.array(z.string()).default([]),
  /** Parsed JSON, by names such as `accounts/home/tokens`. */
  documents: z.record(z.string(), z.unknown()),
});

export type Backup = Omit<z.infer<typeof backupFile>, 'heat2mqtt_backup'>;
export type Documents = Readonly<Backup['documents']>;

export const pack = (backup: Backup): Buffer => gzipSync(JSON.stringify({ heat2mqtt_backup: 1, ...backup }));

const LARGEST_BYTES = 64 * 1024 * 1024;
const LARGEST_UNPACKED_BYTES = 4 * LARGEST_BYTES;

/** Rejects with backup_unreadable. */
export async function readBackup(path: string): Promise<Backup> {
  const unreadable = (err: NodeJS.ErrnoException) => {
    throw backupUnreadable(`${path}, which cannot be read (${err.code})`);
  };
  const found = await stat(path).catch(unreadable);
  if (!found.isFile()) throw backupUnreadable('something else than a file');
  if (found.size > LARGEST_BYTES) throw backupUnreadable(`${found.size} bytes`, 'at most 64 MiB');
  return unpack(await readFile(path).catch(unreadable));
}

/** Throws backup_unreadable. */
export function unpack(bytes: Buffer): Backup {
  let json: unknown;
  try {
    json = JSON.parse(gunzipSync(bytes, { maxOutputLength: LARGEST_UNPACKED_BYTES }).toString('utf8'));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw backupUnreadable('more than 256 MiB when unpacked', 'at most that');
    throw backupUnreadable('a file that is damaged or cut off, or of something else');
  }
  const { heat2mqtt_backup: version, sealed } = Object(json) as Record<string, unknown>;
  if (typeof version !== 'number' || version < 1) throw backupUnreadable('a file of something else');
  if (version !== 1)
    throw backupUnreadable('a backup of a newer heat2mqtt', 'one of this version or an older one');
  // Written before the first release, with secrets under a passphrase.
  if (sealed != null)
    throw backupUnreadable('a backup with secrets, sealed by a passphrase', 'one without secrets');
  const parsed = backupFile.safeParse(json, { jitless: true });
  if (!parsed.success) throw backupUnreadable(`a mistake at ${String(parsed.error.issues[0]?.path[0])}`);
  const { heat2mqtt_backup: _, ...backup } = parsed.data;
  return backup;
}

const CODECS: readonly (readonly [RegExp, Pick<Codec<unknown>, 'decode'>])[] = [
  [/^installation$/, codecs.installationCodec],
  [/^announced$/, codecs.announcedCodec],
  [/^journal$/, codecs.journalCodec],
  [/^replies$/, codecs.repliesCodec],
  // Version 0.1.0 kept it; it is not read any more.
  [/^sitting-house$/, { decode: (json) => json }],
  [/^outdoor-temperatures$/, codecs.temperaturesCodec],
  [/^constituencies\/[\w-]{1,100}$/, codecs.constituenciesCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/tokens$/, codecs.tokensCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/login-budget$/, codecs.loginBudgetCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/way-in$/, codecs.wayInCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/context$/, codecs.contextCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/extras$/, codecs.extrasCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/ledger-[\w.!~*'()%-]{1,200}$/, ledgerCodec],
];

/** The names of what this version cannot use: of another name or version, or damaged. */
export const notUnderstood = (documents: Documents): string[] =>
  Object.entries(documents).flatMap(([name, json]) => {
    try {
      const [, codec] = CODECS.find(([shape]) => shape.test(name)) ?? [];
      codec?.decode(json);
      return codec ? [] : [name];
    } catch {
      return [name];
    }
  });

/** Of documents that are understood. `newestAt`: when a reading was received or a poll went well last, epoch milliseconds. */
export function summary(documents: Documents) {
  const ledgers = Object.entries(picked(documents, /\/ledger-/)).map(([, json]) => ledgerCodec.decode(json));
  const days = ledgers.flatMap(({ ledger }) => [...ledger.days.values()]);
  const accounts = documents.journal
    ? Object.values(codecs.journalCodec.decode(documents.journal).accounts)
    : [];
  const instants = [
    ...accounts.map(({ lastSuccessAt }) => lastSuccessAt ?? 0),
    ...days.map((day) => day.receivedAt),
  ];
  const newestAt = instants.reduce((one, other) => Math.max(one, other), 0);
  return { meters: ledgers.length, days: days.length, newestAt };
}

const picked = (documents: Documents, shape: RegExp): Documents =>
  Object.fromEntries(Object.entries(documents).filter(([name]) => shape.test(name)));

/** What a restore leaves: the session that is there goes on, and neither a refused login nor its wait is forgotten. */
export const restoredOver = (before: Documents, restored: Documents): Documents => ({
  ...picked(before, /\/tokens$/),
  ...restored,
  ...picked(before, /\/login-budget$/),
});

/** All but the tokens. A login budget stays, so that a restore allows no further attempt; its hash of the password does not. */
export function plainPart(documents: Documents): Backup['documents'] {
  const plain = Object.entries(picked(documents, /^(?!.*\/tokens$)/));
  return Object.fromEntries(
    plain.map(([name, json]) =>
      name.endsWith('/login-budget') ? [name, { ...Object(json), secretMark: null }] : [name, json],
    ),
  );
}

/** What is no JSON, or no file, is `null`. Rejects with state_unreadable. */
export async function readDocuments(directory: string): Promise<Documents> {
  const found: Record<string, unknown> = {};
  try {
    for (const name of await namesIn(directory)) {
      const bytes = await readRegularFile(join(directory, `${name}.json`)).catch(unlessOfNoUse);
      if (bytes !== null) found[name] = parsed(bytes);
    }
  } catch (err) {
    const { code = 'unknown error' } = err as NodeJS.ErrnoException;
    throw failure('state_unreadable', `The state directory cannot be read: ${directory} (${code}).`, {
      exit: EXIT.unexpected,
      retry: 'never',
      hint: 'Run the command as the user that the daemon runs as, or as root.',
      cause: err,
    });
  }
  return found;
}

/** Nothing where there is no file any more, and no JSON where there is something else. */
function unlessOfNoUse(err: NodeJS.ErrnoException): Buffer | null {
  return err instanceof NoRegularFile ? Buffer.alloc(0) : unlessGone(err);
}

async function namesIn(directory: string): Promise<string[]> {
  const files = await pathsBelow(directory);
  const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
  return names.filter(isDocument).sort();
}

/** Whether a document may have this name, which is also its path in the state directory. */
const isDocument = (name: string): boolean => CODECS.some(([shape]) => shape.test(name));

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}

/** No document has this name. */
const UNDER_WAY = 'restoring.json';
/**
 * Puts these documents in the place of all others. All of it is written to one file first, from which the next start goes on
 * after a crash. The directory is not replaced by another one: in a container it is the root of a volume, and the
 * configuration may lie in it. Rejects with the system's error, with ELOOP before anything is changed.
 */
export async function replaceDocuments(directory: string, write: Documents): Promise<void> {
  const remove = (await namesIn(directory)).filter((name) => !Object.hasOwn(write, name));
  for (const name of [...remove, ...Object.keys(write)]) await refuseLinks(directory, `${name}.json`);
  await clearWay(directory, UNDER_WAY);
  await replace(join(directory, UNDER_WAY), JSON.stringify({ write, remove }));
  await finishRestore(directory);
}

/**
 * Brings a restore to its end that a crash has interrupted. False: what it had to do is known in part only, or a link is in its
 * way; then what it should be done from is set aside, as the program has to start. Rejects with the system's error.
 */
export async function finishRestore(directory: string): Promise<boolean> {
  const file = join(directory, UNDER_WAY);
  const bytes = await readUnderWay(directory).catch(() => Buffer.alloc(0));
  if (bytes === null) return true;
  const plan = planIn(parsed(bytes));
  let isWhole = plan !== null;
  const carryOut = async (name: string, step: (path: string) => Promise<void>) => {
    try {
      await clearWay(directory, `${name}.json`);
      await step(join(directory, `${name}.json`));
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ELOOP') throw err;
      isWhole = false;
    }
  };
  for (const name of plan?.remove ?? []) await carryOut(name, (path) => rm(path, { force: true }));
  for (const [name, json] of Object.entries(plan?.write ?? {}))
    await carryOut(name, (path) => replace(path, `${JSON.stringify(json)}\n`));
  if (isWhole) await rm(file, { force: true });
  else await setAside(file, 'damaged').catch(() => undefined);
  return isWhole;
}

/** `null`: damaged, or about what is no document. */
function planIn(json: unknown): { readonly write: Documents; readonly remove: readonly string[] } | null {
  const { write, remove } = Object(json) as Record<string, unknown>;
  if (typeof write !== 'object' || write === null || !Array.isArray(remove)) return null;
  const names: readonly unknown[] = [...Object.keys(write), ...remove];
  if (!names.every((name) => typeof name === 'string' && isDocument(name))) return null;
  return { write: write as Documents, remove };
}

/** `null`: there is none. */
async function readUnderWay(directory: string): Promise<Buffer | null> {
  await refuseLinks(directory, UNDER_WAY);
  return readRegularFile(join(directory, UNDER_WAY)).catch(unlessGone);
}
