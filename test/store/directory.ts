// A state directory of its own for one test, and how its files look from outside.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import type { Codec } from '../../src/store/stateStore.ts';
import { logLines } from '../support/logLines.ts';

/** `path` does not exist yet. */
export async function place() {
  const parent = await mkdtemp(join(tmpdir(), 'heat2mqtt-store-'));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  const path = join(parent, 'state');
  const told = logLines();
  const open = () => StateDirectory.open(path, told.log);
  return { ...told, path, open, file: (name: string) => join(path, name) };
}

/** Such as `600`. */
export const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

/** Documents with one word in them. */
export const wordCodec: Codec<string> = {
  decode(json) {
    const { version, word } = json as { version?: unknown; word?: unknown };
    if (version !== 1 || typeof word !== 'string') throw new TypeError('no word');
    return word;
  },
  encode: (word) => ({ version: 1, word }),
};
