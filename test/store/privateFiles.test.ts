// Files of the state directory: as they are listed, beside processes that take and give back locks there; and replaced on a disk
// that has no room.
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import { startChild } from '../support/child.ts';
import { ROOT } from '../support/sources.ts';
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

test('a file of which the disk takes a part only does not replace the one that is there', async () => {
  const stack = openStack();
  const folder = await stack.folder();
  const file = join(folder, 'ledger.json');
  await writeFile(file, 'whole');
  const contents = `import { replace } from './privateFiles.ts';
    // Of the limit, not of a full disk.
    process.on('SIGXFSZ', () => undefined);
    replace(process.argv[1], 'x'.repeat(50_000)).then(() => console.log('written'), ({ code }) => console.log(code));`;
  const stdin = { contents, resolveDir: join(ROOT, 'src/store') };
  const { outputFiles } = await build({ stdin, bundle: true, platform: 'node', format: 'cjs', write: false });
  // Below the limit of a file's size the system writes a part and reports no error, as on a disk that has room for a part.
  const limited = ['-c', 'ulimit -f 8 && exec "$0" -e "$1" "$2"', process.execPath];
  const child = stack.use(startChild('sh', [...limited, outputFiles[0]?.text ?? '', file]));
  await child.exited;
  expect(child.output + child.errors).toBe('EFBIG\n');
  expect(await readFile(file, 'utf8')).toBe('whole');
  expect(await readdir(folder)).toEqual(['ledger.json']);
});
