// Files and directories that only their user may read. A command run by root leaves them to the owner of the directory.
import { randomInt } from 'node:crypto';
import {
  closeSync,
  constants,
  fchownSync,
  fsync,
  lstatSync,
  openSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { chown, type FileHandle, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LARGEST } from './documentStream.ts';

const PRIVATE_DIRECTORY = 0o700;
export const PRIVATE_FILE = 0o600;
/** The name of a document until it is whole, and of a socket until it is in its place. */
export const TEMPORARY_FILE = /\.(json|gz)\.\d+$|^[\da-f]{6,8}\.sock$/;

/** Logs and output get names, paths, and errors of the system with paths in them. The name of a ledger has a customer number. */
export const withoutCustomer = (text: string): string => text.replace(/\/ledger-[^/\s]*/g, '/ledger-…');

/** Makes the directory and those above it, 0700. Rejects with the system's error. */
export async function makePrivateDirectory(path: string): Promise<void> {
  // Node's own recursive mkdir never returns below some places, such as /proc.
  const make = async () => {
    await mkdir(path, { mode: PRIVATE_DIRECTORY });
    const { uid, gid } = await stat(dirname(path));
    // Only root can give something away.
    await chown(path, uid, gid).catch(() => undefined);
  };
  await make().catch(async (err: NodeJS.ErrnoException) => {
    if (err.code === 'EEXIST') return;
    if (err.code !== 'ENOENT' || dirname(path) === path) throw err;
    await makePrivateDirectory(dirname(path));
    await make().catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again;
    });
  });
}

/**
 * Rejects with ELOOP when the file or a folder above it is a symbolic link: it may have been put there to bring tokens
 * to another place. `root` itself may be one.
 */
export async function refuseLinks(root: string, name: string): Promise<void> {
  for (const part of partsOf(name)) refuseLink(part, entryAt(join(root, part)));
}

/**
 * Something is about to be written there: links are refused as by `refuseLinks`, and what is neither a folder nor a file where
 * one belongs is set aside.
 */
export async function clearWay(root: string, name: string): Promise<void> {
  for (const part of partsOf(name)) {
    const entry = entryAt(join(root, part));
    refuseLink(part, entry);
    const belongs = part === name ? entry?.isFile() : entry?.isDirectory();
    if (belongs === false) await setAside(join(root, part), 'damaged');
  }
}

/** `a/b/c` is `a`, `a/b` and `a/b/c`. */
function partsOf(name: string): string[] {
  const words = name.split('/');
  return words.map((_, at) => words.slice(0, at + 1).join('/'));
}

function refuseLink(part: string, entry: Stats | undefined): void {
  if (!entry?.isSymbolicLink()) return;
  const message = `${withoutCustomer(part)} is a symbolic link, and is not followed`;
  throw Object.assign(new Error(message), { code: 'ELOOP' });
}

/** `undefined` for what is not there, or cannot be looked at. */
function entryAt(path: string): Stats | undefined {
  try {
    // Not a promise: a turn of the thread pool for each folder costs more than the file.
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Gives a file or folder that is of no use this ending; one that was set aside before makes room. Rejects with the system's error. */
export async function setAside(path: string, ending: string): Promise<void> {
  const aside = `${path}.${ending}`;
  await rename(path, aside).catch(async (err: NodeJS.ErrnoException) => {
    // A folder does not take the place of a file, nor the other way round, nor that of a folder that has something in it.
    if (!/^(EISDIR|ENOTDIR|ENOTEMPTY|EEXIST)$/.test(err.code ?? '')) throw err;
    await rm(aside, { recursive: true, force: true });
    await rename(path, aside);
  });
}

/** There is something else than a file with something to read, such as a folder, or a pipe on which a reader would wait for ever. */
export class NoRegularFile extends Error {}

/** The caller closes it. Rejects with NoRegularFile, or with the system's error. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((err) => {
    // A socket cannot even be opened.
    throw err.code === 'ENXIO' ? new NoRegularFile('a socket') : err;
  });
  try {
    const entry = await handle.stat();
    if (!entry.isFile()) throw new NoRegularFile('no regular file');
    return handle;
  } catch (err) {
    await handle.close();
    throw err;
  }
}

/** Rejects as `openRegularFile`. */
export async function readRegularFile(path: string): Promise<Buffer> {
  const handle = await openRegularFile(path);
  try {
    const { size } = await handle.stat();
    if (size > LARGEST.document) throw new NoRegularFile('a file that is too large');
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/**
 * Every file, folder and symbolic link below the directory, as paths from there; not what a link leads to, which may be
 * for others. None where there is no directory. Rejects with other errors of the system.
 */
export async function pathsBelow(directory: string): Promise<string[]> {
  // Locks are folders, which other processes take and give back meanwhile.
  const entries = (await readdir(directory, { withFileTypes: true }).catch(unlessGone)) ?? [];
  const paths = entries.map(async (entry) => {
    const below = entry.isDirectory() ? await pathsBelow(join(directory, entry.name)) : [];
    return [entry.name, ...below.map((path) => join(entry.name, path))];
  });
  return (await Promise.all(paths)).flat();
}

/** `null` for what is not there. */
export function unlessGone(err: NodeJS.ErrnoException): null {
  if (err.code === 'ENOENT') return null;
  throw err;
}

export type Content = string | Buffer | AsyncIterable<string | Buffer>;

/**
 * Resolves once the file is on the disk. After a crash there is the old file or the new one, never a part. Rejects with the
 * system's error, or with what the content throws; then the old one stays. Whatever needs no disk is no promise: a turn of the thread
 * pool for each would cost more than all of it.
 */
export async function replace(file: string, content: Content): Promise<void> {
  const folder = dirname(file);
  const owner = statSync(folder, { throwIfNoEntry: false }) ?? (await ownerOfNew(folder));
  await replaceIn(owner, file, content);
  // Otherwise a power cut undoes the rename, and the old pair of tokens would be back.
  const directory = openSync(folder, 'r');
  await promisify(fsync)(directory)
    .catch(unlessUnsupported)
    .finally(() => closeSync(directory));
}

async function ownerOfNew(folder: string): Promise<Stats> {
  await makePrivateDirectory(folder);
  return statSync(folder);
}

async function replaceIn({ uid, gid }: Stats, file: string, content: Content): Promise<void> {
  const target = targetOf(file);
  const temporary = `${target}.${randomInt(2 ** 32)}`;
  const handle = await open(temporary, 'wx', PRIVATE_FILE);
  try {
    try {
      // It writes until all is written: a disk that is nearly full takes a part first, without an error.
      await writeFile(handle, content);
      giveTo(uid, gid, handle);
      await handle.sync().catch(unlessUnsupported);
    } finally {
      await handle.close();
    }
    await rename(temporary, target);
  } catch (err) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw err;
  }
}

/** A configuration may be a link. */
function targetOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file;
  }
}

/** Only root can give something away. */
function giveTo(uid: number, gid: number, { fd }: FileHandle): void {
  try {
    fchownSync(fd, uid, gid);
  } catch (err) {
    unlessUnsupported(err as NodeJS.ErrnoException);
  }
}

/** Network disks, and folders that virtual machines share, have no owners or no sync: a document is better kept than refused. */
function unlessUnsupported(err: NodeJS.ErrnoException): void {
  if (!/^(EPERM|EINVAL|ENOSYS|ENOTSUP)$/.test(err.code ?? '')) throw err;
}
