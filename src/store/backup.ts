// A backup: one gzipped JSON document with the configuration and the documents of the state directory. What gives a
// login is left out, or sealed beside it by a passphrase.
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod';
import { EXIT, Failure } from '../foundation/failure.ts';
import type { Documents } from './snapshot.ts';

/** The file is no backup, or not a whole one. */
export class BackupUnreadable extends Failure {
  readonly code = 'backup_unreadable';
  readonly exitCode = EXIT.usage;

  constructor(found: string, allowed = 'a file that heat2mqtt backup has written') {
    super(`The backup cannot be used: found ${found}; allowed: ${allowed}.`, {
      retry: 'never',
      hint: 'Nothing was changed.',
    });
  }
}

/** Nobody can tell a mistyped passphrase from a file that was changed. */
export class WrongPassphrase extends Failure {
  readonly code = 'wrong_passphrase';
  readonly exitCode = EXIT.usage;

  constructor() {
    super('The passphrase is not that of this backup, or the file was changed.', {
      retry: 'never',
      hint: 'Nothing was changed. Without the passphrase everything but tokens and passwords can be restored.',
    });
  }
}

const documents = z.record(z.string(), z.unknown());
/** `null`: there was no configuration file. */
const config = z.string().nullable();

const SEALED_WITH = 'scrypt N=65536 r=8 p=1, AES-256-GCM';
const SCRYPT = { cost: 65_536, blockSize: 8, parallelization: 1, maxmem: 128 * 1024 * 1024 };
const KEY_BYTES = 32;
const IV_BYTES = 12;
const base64 = z.base64().transform((text) => Buffer.from(text, 'base64'));

const plain = {
  heat2mqtt_backup: z.literal(1),
  made_at: z.iso.datetime(),
  /** The version of the program. */
  made_by: z.string(),
  config,
  documents,
};
const sealed = z.object({
  with: z.literal(SEALED_WITH),
  salt: base64,
  iv: base64,
  tag: base64,
  data: base64,
});
const backupFile = z.object({ ...plain, sealed: sealed.nullable() });
const secrets = z.object({ config, documents, files: z.record(z.string(), z.string()) });

export interface Backup {
  /** Epoch milliseconds. */
  readonly madeAt: number;
  readonly madeBy: string;
  /** Its text without secrets. */
  readonly config: string | null;
  readonly documents: Documents;
}

/** What only a backup with secrets has. */
export interface Secrets {
  /** The whole text. */
  readonly config: string | null;
  /** Those that the plain part has not, or not wholly. */
  readonly documents: Documents;
  /** The files that the configuration names, by path. */
  readonly files: Readonly<Record<string, string>>;
}

export interface OpenBackup extends Backup {
  readonly isSealed: boolean;
  /** Throws WrongPassphrase. */
  unseal(passphrase: string): Secrets;
}

/** `secrets`: `null` for a plain backup. */
export function pack(
  { madeAt, madeBy, config, documents }: Backup,
  secrets: { readonly passphrase: string; readonly content: Secrets } | null,
): Buffer {
  const made_at = new Date(madeAt).toISOString();
  const open = { heat2mqtt_backup: 1, made_at, made_by: madeBy, config, documents };
  return gzipSync(JSON.stringify({ ...open, sealed: secrets && seal(open, secrets) }));
}

function seal(
  open: object,
  { passphrase, content }: { readonly passphrase: string; readonly content: Secrets },
) {
  const [salt, iv] = [randomBytes(16), randomBytes(IV_BYTES)];
  const cipher = createCipheriv('aes-256-gcm', keyOf(passphrase, salt), iv);
  // The passphrase vouches for the plain part too.
  cipher.setAAD(Buffer.from(JSON.stringify(open)));
  const data = Buffer.concat([cipher.update(JSON.stringify(content)), cipher.final()]);
  const written = Object.entries({ salt, iv, tag: cipher.getAuthTag(), data });
  return {
    with: SEALED_WITH,
    ...Object.fromEntries(written.map(([name, bytes]) => [name, bytes.toString('base64')])),
  };
}

const keyOf = (passphrase: string, salt: Buffer): Buffer =>
  scryptSync(passphrase.normalize('NFC'), salt, KEY_BYTES, SCRYPT);

const LARGEST_BYTES = 64 * 1024 * 1024;
const LARGEST_UNPACKED_BYTES = 4 * LARGEST_BYTES;

/** Rejects with BackupUnreadable. */
export async function readBackup(path: string): Promise<OpenBackup> {
  return unpack(await contentOf(path));
}

async function contentOf(path: string): Promise<Buffer> {
  // Not to wait for somebody who writes into a pipe.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((err: NodeJS.ErrnoException) => {
    throw new BackupUnreadable(`${path}, which cannot be read (${err.code})`);
  });
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new BackupUnreadable('something else than a file');
    if (found.size > LARGEST_BYTES) throw new BackupUnreadable(`${found.size} bytes`, 'at most 64 MiB');
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Throws BackupUnreadable. */
export function unpack(bytes: Buffer): OpenBackup {
  const json = jsonIn(bytes);
  const version: unknown = Object(json).heat2mqtt_backup;
  if (typeof version !== 'number' || version < 1) throw new BackupUnreadable('a file of something else');
  if (version !== 1)
    throw new BackupUnreadable('a backup of a newer heat2mqtt', 'one of this version or an older one');
  const parsed = backupFile.safeParse(json, { jitless: true });
  if (!parsed.success)
    throw new BackupUnreadable(`a mistake at ${parsed.error.issues[0]?.path.slice(0, 1).join()}`);
  const { made_at, made_by, config, documents, sealed } = parsed.data;
  const { sealed: _, ...open } = json as Record<string, unknown>;
  return {
    madeAt: Date.parse(made_at),
    madeBy: made_by,
    config,
    documents,
    isSealed: sealed !== null,
    unseal(passphrase) {
      if (sealed === null) return { config, documents: {}, files: {} };
      try {
        const { salt, iv, tag, data } = sealed;
        const decipher = createDecipheriv('aes-256-gcm', keyOf(passphrase, salt), iv, { authTagLength: 16 });
        decipher.setAAD(Buffer.from(JSON.stringify(open)));
        decipher.setAuthTag(tag);
        const text = Buffer.concat([decipher.update(data), decipher.final()]).toString('utf8');
        return secrets.parse(JSON.parse(text), { jitless: true });
      } catch {
        throw new WrongPassphrase();
      }
    },
  };
}

function jsonIn(bytes: Buffer): unknown {
  try {
    const text = gunzipSync(bytes, { maxOutputLength: LARGEST_UNPACKED_BYTES }).toString('utf8');
    return JSON.parse(text);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new BackupUnreadable('more than 256 MiB when unpacked', 'at most that');
    throw new BackupUnreadable('a file that is damaged or cut off, or of something else');
  }
}
