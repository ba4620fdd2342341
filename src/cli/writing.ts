// The files that commands write: for nobody but the user who types them.
import { resolve } from 'node:path';
import { type Content, replace } from '../store/privateFiles.ts';
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
    'Name a file in a folder that this user may write, or give this user the folder.',
  );
