// Files of the state directory: as they are listed, beside processes that take and give back locks there; and replaced on a disk
// that has no room, or cannot say when all is written.
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

/** Replaces a file that says `whole` in a process of its own, after what `before` says. Resolves to what came of it. */
async function replaced({ before = '', limits = '' }) {
  const stack = openStack();
  const folder = await stack.folder();
  const file = join(folder, 'ledger.json');
  await writeFile(file, 'whole');
  const contents = `import { replace } from './privateFiles.ts';
    ${before}
    replace(process.argv[1], 'x'.repeat(50_000)).then(() => console.log('written'), ({ code }) => console.log(code));`;
  const stdin = { contents, resolveDir: join(ROOT, 'src/store') };
  const { outputFiles } = await build({ stdin, bundle: true, platform: 'node', format: 'cjs', write: false });
  const command = ['-c', `${limits} exec "$0" -e "$1" "$2"`, process.execPath];
  const child = stack.use(startChild('sh', [...command, outputFiles[0]?.text ?? '', file]));
  await child.exited;
  return {
    said: child.output + child.errors,
    text: await readFile(file, 'utf8'),
    files: await readdir(folder),
  };
}

test('a file of which the disk takes a part only does not replace the one that is there', async () => {
  // Below the limit of a file's size the system writes a part and reports no error, as on a disk that has room for a part.
  const limits = 'ulimit -f 8 &&';
  // Of the limit, not of a full disk.
  const before = "process.on('SIGXFSZ', () => undefined);";
  const { said, text, files } = await replaced({ before, limits });
  expect([said, text, files]).toEqual(['EFBIG\n', 'whole', ['ledger.json']]);
});

/** As some network disks, and folders that virtual machines share, answer it: for folders, or for files as well. */
const withoutSync = (code: string) => `
  const fs = require('node:fs');
  const refused = Object.assign(new Error(), { code: '${code}' });
  fs.fsync = (_, done) => done(refused);
  const { open } = fs.promises;
  fs.promises.open = async (...of) => Object.assign(await open(...of), { sync: () => Promise.reject(refused) });`;

test.each(['EINVAL', 'ENOSYS', 'ENOTSUP'])(
  'a file is written when the disk answers %s to the wish for its sync',
  async (code) => {
    const { said, text } = await replaced({ before: withoutSync(code) });
    expect([said, text.length]).toEqual(['written\n', 50_000]);
  },
);

test('a file is not taken for written when its sync fails', async () => {
  const { said, text } = await replaced({ before: withoutSync('EIO') });
  expect([said, text]).toEqual(['EIO\n', 'whole']);
});
