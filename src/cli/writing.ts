// The files that commands write: for nobody but the user who types them.
import { rm, writeFile as writeOnce } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Content, PRIVATE_FILE, replace } from '../store/privateFiles.ts';
import { refusal, shown } from './command.ts';

/** Rejects with file_unwritable, or with what the content throws; then the file that was there stays. */
export const writeFile = (path: string, content: Content): Promise<void> =>
  replace(resolve(path), content).catch((err: NodeJS.ErrnoException) => {
    throw err.syscall === undefined ? err : unwritable(path, err.code);
  });

/** `code`: of the system's error. */
export const unwritable = (path: string, code = 'unknown error') =>
  refusal(
    'file_unwritable',
    `${shown(path)} cannot be written (${code}).`,
    'Name a file in a folder that this user may write and that has room, or give this user the folder.',
  );

/** A ledger of three years has 50 KB, and is written beside the old one. */
const ROOM_BYTES = 65_536;

/** Rejects with the system's error where a file cannot be written, or finds no room. */
export async function tryRoom(directory: string): Promise<void> {
  const file = join(directory, `check.json.${process.pid}`);
  try {
    await writeOnce(file, Buffer.alloc(ROOM_BYTES), { mode: PRIVATE_FILE });
  } finally {
    await rm(file, { force: true });
  }
}
