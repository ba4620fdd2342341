// Files of the state directory as they are listed, beside processes that take and give back locks there.
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import { openStack } from '../support/stack.ts';

test('a folder that goes away while a directory is listed hides nothing else', async () => {
  const folder = await openStack().folder();
  await writeFile(join(folder, 'tokens.json'), '{}');
  let isOver = false;
  const locks = (async () => {
    const lock = join(folder, 'session.lock');
    for (; !isOver; await rmdir(lock)) await mkdir(lock);
  })();
  for (let times = 0; times < 500; times += 1) expect(await pathsBelow(folder)).toContain('tokens.json');
  isOver = true;
  await locks;
});
