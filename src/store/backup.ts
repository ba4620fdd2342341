// The file of a backup: one gzipped JSON document with the configuration and the documents of the state directory, without secrets.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod';
import { EXIT, failure } from '../foundation/failure.ts';
import type { Documents } from './snapshot.ts';

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
  /** Its text; `null`: there was no configuration file. */
  config: z.string().nullable(),
  documents: z.record(z.string(), z.unknown()),
  /** Written before the first release, with secrets under a passphrase. */
  sealed: z.null().optional(),
});

export interface Backup {
  /** Epoch milliseconds. */
  readonly madeAt: number;
  readonly madeBy: string;
  /** Its text without secrets. */
  readonly config: string | null;
  readonly documents: Documents;
}

export const pack = ({ madeAt, madeBy, config, documents }: Backup): Buffer =>
  gzipSync(
    JSON.stringify({
      heat2mqtt_backup: 1,
      made_at: new Date(madeAt).toISOString(),
      made_by: madeBy,
      config,
      documents,
    }),
  );

const LARGEST_BYTES = 64 * 1024 * 1024;
const LARGEST_UNPACKED_BYTES = 4 * LARGEST_BYTES;

/** Rejects with backup_unreadable. */
export async function readBackup(path: string): Promise<Backup> {
  // A pipe that nothing writes into would never be opened otherwise.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((err: NodeJS.ErrnoException) => {
    throw backupUnreadable(`${path}, which cannot be read (${err.code})`);
  });
  try {
    const found = await file.stat();
    if (!found.isFile()) throw backupUnreadable('something else than a file');
    if (found.size > LARGEST_BYTES) throw backupUnreadable(`${found.size} bytes`, 'at most 64 MiB');
    return unpack(await file.readFile());
  } finally {
    await file.close();
  }
}

/** Throws backup_unreadable. */
export function unpack(bytes: Buffer): Backup {
  const json = jsonIn(bytes);
  const version: unknown = Object(json).heat2mqtt_backup;
  if (typeof version !== 'number' || version < 1) throw backupUnreadable('a file of something else');
  if (version !== 1)
    throw backupUnreadable('a backup of a newer heat2mqtt', 'one of this version or an older one');
  const parsed = backupFile.safeParse(json, { jitless: true });
  if (!parsed.success) {
    const [place] = parsed.error.issues[0]?.path ?? [];
    if (place === 'sealed')
      throw backupUnreadable('a backup with secrets, sealed by a passphrase', 'one without secrets');
    throw backupUnreadable(`a mistake at ${String(place)}`);
  }
  const { made_at, made_by, config, documents } = parsed.data;
  return { madeAt: Date.parse(made_at), madeBy: made_by, config, documents };
}

function jsonIn(bytes: Buffer): unknown {
  try {
    const text = gunzipSync(bytes, { maxOutputLength: LARGEST_UNPACKED_BYTES }).toString('utf8');
    return JSON.parse(text);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw backupUnreadable('more than 256 MiB when unpacked', 'at most that');
    throw backupUnreadable('a file that is damaged or cut off, or of something else');
  }
}
