// A directory of secret files for the tests of one file, made anew for each.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach } from 'vitest';
import { openStack } from '../support/stack.ts';
import { PROVIDER } from './loading.ts';

export const ACCOUNT_ONLY = `${PROVIDER}accounts: [{ username: u, password: 'account' }]\n`;

/** Call it once at the top of a test file. */
export function secretFiles() {
  let directory = '';
  beforeEach(async () => {
    directory = await openStack().folder();
  });
  return {
    path: () => directory,
    /** Resolves to its path. */
    async file(name: string, content: string | Uint8Array): Promise<string> {
      const path = join(directory, name);
      await writeFile(path, content);
      return path;
    },
  };
}
