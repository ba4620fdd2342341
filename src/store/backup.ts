// A backup: one gzipped JSON document with the configuration and the documents of the state directory, without secrets, which pass
// by one at a time. And what a look at documents finds, as they pass by.
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import * as z from 'zod';
import { EXIT, Failure, failure } from '../foundation/failure.ts';
import { documentsIn, type NamedDocument, TooLarge, textOf } from './documentStream.ts';
import * as codecs from './documents.ts';
import { type LedgerDocument, ledgerCodec } from './ledgerDocument.ts';
import { NoRegularFile, openRegularFile } from './privateFiles.ts';
import { type Codec, NewerDocument } from './stateStore.ts';

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

/** All that a backup holds beside the documents. */
export type BackupHead = Omit<z.infer<typeof backupFile>, 'heat2mqtt_backup' | 'documents'>;

const DOCUMENTS = 'documents';

/** The bytes of a backup. They end with the error of `documents`, or with TooLarge. */
export const pack = (head: BackupHead, documents: AsyncIterable<NamedDocument>): AsyncIterable<Buffer> =>
  pipeline(
    Readable.from(textOf({ heat2mqtt_backup: 1, ...head }, DOCUMENTS, documents)),
    createGzip(),
    // The reader of the bytes gets the error.
    () => undefined,
  );

/**
 * `step` may read the backup several times, also after another file has taken its place. Rejects with backup_unreadable, or
 * with the error of the step.
 */
export async function withBackup<T>(path: string, step: (backup: FileHandle) => Promise<T>): Promise<T> {
  const backup = await openRegularFile(path).catch((err) => {
    if (err instanceof NoRegularFile) throw backupUnreadable('something else than a file');
    throw backupUnreadable(`${path}, which cannot be read (${err.code})`);
  });
  try {
    return await step(backup);
  } finally {
    await backup.close();
  }
}

/** The documents of a backup; `onHead` gets all else of it at the end. Throws backup_unreadable. */
export async function* readBackup(
  backup: FileHandle,
  onHead: (head: BackupHead) => void = () => undefined,
): AsyncGenerator<NamedDocument> {
  const packed = backup.createReadStream({ start: 0, autoClose: false });
  const bytes = pipeline(packed, createGunzip(), () => undefined);
  try {
    yield* documentsIn(bytes, DOCUMENTS, (rest) => onHead(headIn(rest)));
  } catch (err) {
    throw unreadable(err);
  }
}

function unreadable(err: unknown): Failure {
  if (err instanceof Failure) return err;
  if (err instanceof TooLarge) return backupUnreadable(err.found, err.allowed);
  return backupUnreadable('a file that is damaged or cut off, or of something else');
}

/** Throws backup_unreadable. */
function headIn(json: unknown): BackupHead {
  const { heat2mqtt_backup: version, sealed } = Object(json) as Record<string, unknown>;
  if (typeof version !== 'number' || version < 1) throw backupUnreadable('a file of something else');
  if (version !== 1)
    throw backupUnreadable('a backup of a newer heat2mqtt', 'one of this version or an older one');
  // Written before the first release, with secrets under a passphrase.
  if (sealed != null)
    throw backupUnreadable('a backup with secrets, sealed by a passphrase', 'one without secrets');
  const parsed = backupFile.safeParse(json, { jitless: true });
  if (!parsed.success) throw backupUnreadable(`a mistake at ${String(parsed.error.issues[0]?.path[0])}`);
  const { heat2mqtt_backup: _, documents: __, ...head } = parsed.data;
  return head;
}

/** Rejects with backup_unreadable. */
export async function surveyBackup(backup: FileHandle): Promise<BackupHead & { readonly survey: Survey }> {
  const survey = new Survey();
  const heads: BackupHead[] = [];
  for await (const [name, json] of readBackup(backup, (head) => void heads.push(head)))
    survey.take(name, json);
  const [head] = heads;
  if (head === undefined) throw backupUnreadable('a file of something else');
  return { ...head, survey };
}

type DecodingCodec = Pick<Codec<unknown>, 'decode'>;

const CODECS: readonly (readonly [RegExp, DecodingCodec])[] = [
  [/^installation$/, codecs.installationCodec],
  [/^announced$/, codecs.announcedCodec],
  [/^journal$/, codecs.journalCodec],
  [/^replies$/, codecs.repliesCodec],
  // Version 0.1.0 kept it; it is not read any more.
  [/^sitting-house$/, { decode: (json) => json }],
  [/^outdoor-temperatures$/, codecs.temperaturesCodec],
  [/^witness-[\w.!~*'()%-]{1,200}$/, codecs.witnessCodec],
  [/^constituencies\/[\w-]{1,100}$/, codecs.constituenciesCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/tokens$/, codecs.tokensCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/login-budget$/, codecs.loginBudgetCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/way-in$/, codecs.wayInCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/context$/, codecs.contextCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/extras$/, codecs.extrasCodec],
  [/^accounts\/[a-z0-9_-]{1,64}\/ledger-[\w.!~*'()%-]{1,200}$/, ledgerCodec],
];

const codecOf = (name: string) => CODECS.find(([shape]) => shape.test(name))?.[1];

/** The name is also the document's path in the state directory: only these are allowed. */
export const isDocument = (name: string): boolean => codecOf(name) !== undefined;

export const isTokens = (name: string): boolean => name.endsWith('/tokens');
export const isLoginBudget = (name: string): boolean => name.endsWith('/login-budget');

/**
 * A document as it goes into a backup; `undefined`: it does not, since it has tokens. A login budget does, so that a restore allows
 * no further attempt; its hash of the password does not.
 */
export function plainDocument(name: string, json: unknown): unknown {
  if (isTokens(name)) return undefined;
  return isLoginBudget(name) ? { ...Object(json), secretMark: null } : json;
}

/** Collects what is to be known of documents while they pass by. */
export class Survey {
  readonly names = new Set<string>();
  /** Documents that this version cannot use, by name: a newer one wrote them, or they are damaged or no document of ours. */
  readonly strange = new Map<string, 'newer' | 'damaged'>();
  /** A digest of each that goes into a backup. */
  readonly marks = new Map<string, string>();
  meters = 0;
  days = 0;
  /** The last time that a reading was received or a poll went well, epoch milliseconds. */
  newestAt = 0;

  /** False for what this version cannot use. */
  take(name: string, json: unknown): boolean {
    this.names.add(name);
    try {
      const codec = codecOf(name);
      if (codec === undefined) throw new TypeError('no document has this name');
      this.#count(codec.decode(json), codec);
    } catch (err) {
      this.strange.set(name, err instanceof NewerDocument ? 'newer' : 'damaged');
      return false;
    }
    const plain = plainDocument(name, json);
    if (plain !== undefined) this.marks.set(name, markOf(plain));
    return true;
  }

  /** A backup of both would have the same documents. */
  hasSame(marks: ReadonlyMap<string, string>): boolean {
    return (
      marks.size === this.marks.size && [...marks].every(([name, mark]) => this.marks.get(name) === mark)
    );
  }

  #count(value: unknown, codec: DecodingCodec): void {
    const instants: number[] = [];
    if (codec === ledgerCodec) {
      const { days } = (value as LedgerDocument).ledger;
      this.meters += 1;
      this.days += days.size;
      for (const { receivedAt } of days.values()) instants.push(receivedAt);
    } else if (codec === codecs.journalCodec) {
      const { accounts } = value as ReturnType<typeof codecs.journalCodec.decode>;
      for (const { lastSuccessAt } of Object.values(accounts)) instants.push(lastSuccessAt ?? 0);
    }
    this.newestAt = instants.reduce((newest, instant) => Math.max(newest, instant), this.newestAt);
  }
}

export const markOf = (json: unknown): string =>
  createHash('sha256').update(JSON.stringify(json)).digest('base64');
