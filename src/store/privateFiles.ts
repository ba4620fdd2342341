// Files and directories that only their user may read. A command run by root leaves them to the owner of the directory.
import { randomInt } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { chown, mkdir, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const PRIVATE_DIRECTORY = 0o700;
export const PRIVATE_FILE = 0o600;
/** What a document is called until it is whole. */
export const TEMPORARY_FILE = /\.json\.\d+$/;

/** For log and output: a name, a path, or an error of the system with paths in it. The name of a ledger has a customer number. */
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
  const parts = name.split('/');
  for (const at of parts.keys()) {
    const part = parts.slice(0, at + 1).join('/');
    if (isLink(join(root, part)))
      throw Object.assign(new Error(`${withoutCustomer(part)} is a symbolic link, and is not followed`), {
        code: 'ELOOP',
      });
  }
}

/** What is not there, or cannot be looked at, is none. */
function isLink(path: string): boolean {
  try {
    // Not a promise: a turn of the thread pool for each folder costs more than the file.
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch {
    return false;
  }
}

/**
 * Every file, folder and symbolic link below the directory, as paths from there; not what a link leads to, which may be
 * for others. None where there is no directory. Rejects with other errors of the system.
 */
export async function pathsBelow(directory: string): Promise<string[]> {
  // Locks are folders, which other processes take and give back meanwhile.
  const entries = (await readdir(directory, { withFileTypes: true }).catch(unlessGone)) ?? [];
  const found = entries.map(async (entry) => {
    const below = entry.isDirectory() ? await pathsBelow(join(directory, entry.name)) : [];
    return [entry.name, ...below.map((path) => join(entry.name, path))];
  });
  return (await Promise.all(found)).flat();
}

/** `null` for what is not there. */
export function unlessGone(err: NodeJS.ErrnoException): null {
  if (err.code === 'ENOENT') return null;
  throw err;
}

/**
 * Resolves once the file is on the disk. After a crash there is the old file or the new one, never a part. Rejects with the
 * system's error, and then the old one stays.
 */
export async function replace(file: string, content: string | Buffer): Promise<void> {
  const folder = dirname(file);
  await replaceIn(folder, file, content).catch(async (err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') throw err;
    await makePrivateDirectory(folder);
    await replaceIn(folder, file, content);
  });
  // Otherwise a power cut undoes the rename, and the old pair of tokens would be back.
  const directory = await open(folder, 'r');
  await directory.sync().finally(() => directory.close());
}

async function replaceIn(folder: string, file: string, content: string | Buffer): Promise<void> {
  const { uid, gid } = await stat(folder);
  // A configuration may be a link.
  const target = await realpath(file).catch(() => file);
  const temporary = `${target}.${randomInt(2 ** 32)}`;
  const handle = await open(temporary, 'wx', PRIVATE_FILE);
  try {
    try {
      // It writes until all is written: a disk that is nearly full takes a part first, without an error.
      await handle.writeFile(content);
      await handle.chown(uid, gid).catch(unlessRefused);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, target);
  } catch (err) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw err;
  }
}

/** Only root can give something away, and not on every disk. */
function unlessRefused(err: NodeJS.ErrnoException): void {
  if (!/^(EPERM|EINVAL|ENOSYS)$/.test(err.code ?? '')) throw err;
}
