// A state directory that other users can write, or that is not ours; and links that somebody has put into it.
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryNotices } from '../../src/store/stateDirectory.ts';
import { handClock } from '../support/clock.ts';
import { place, wordCodec } from './directory.ts';

const OWN = process.getuid?.() ?? 0;
const codes = async (path: string, uid: number) =>
  (await directoryNotices(path, uid)).map(({ code }) => code);

test('a directory of ours that only we can write is fine, and so is none', async () => {
  const { path, open } = await place();
  expect(await codes(path, OWN)).toEqual([]);
  await (await open()).document('a', wordCodec).write('x');
  expect(await codes(path, OWN)).toEqual([]);
});

test.each([
  [0o770, OWN, ['state_dir_open']],
  [0o702, OWN, ['state_dir_open']],
  [0o755, OWN, []],
  [0o700, OWN + 1, ['state_dir_foreign']],
  [0o777, OWN + 1, ['state_dir_foreign', 'state_dir_open']],
])('mode %o and user %i: %j', async (mode, uid, expected) => {
  const { path } = await place();
  await mkdir(path);
  await chmod(path, mode);
  expect(await codes(path, uid)).toEqual(expected);
  for (const { message } of await directoryNotices(path, uid)) expect(message).toContain(path);
});

test.each([
  ['folder', 'accounts/home', 'elsewhere'],
  ['folder above', 'accounts', 'elsewhere'],
  ['file', 'accounts/home/word.json', 'elsewhere/word.json'],
])('a link in the place of a %s is not followed', async (_, at, target) => {
  const { open, path, file, messages } = await place();
  const elsewhere = join(path, '..', 'elsewhere');
  await mkdir(join(elsewhere, 'home'), { recursive: true });
  for (const name of ['word.json', 'home/word.json'])
    await writeFile(join(elsewhere, name), JSON.stringify({ version: 1, word: 'forged' }));
  await mkdir(join(file(at), '..'), { recursive: true });
  await symlink(join(path, '..', target), file(at));
  const state = await open();
  const document = state.document('accounts/home/word', wordCodec);
  expect(await document.read()).toBeNull();
  // Once for the link, however many documents lie behind it.
  expect(await document.read()).toBeNull();
  expect(messages('error')).toEqual(['state documents cannot be read']);
  expect([await document.write('secret'), await document.remove()]).toEqual([false, false]);
  expect(state.fault).toMatchObject({
    code: 'state_unwritable',
    message: expect.stringContaining(`${at} is a symbolic link, and is not followed`),
    hint: expect.stringContaining('Take the link away'),
  });
  if (!at.endsWith('.json')) {
    const clock = handClock('2026-03-10T12:00:00Z');
    expect(await state.withLock('accounts/home/session', clock, async (isHeld) => isHeld)).toBe(false);
    expect(await state.list('accounts/home')).toEqual([]);
  }
  expect(await readdir(elsewhere)).toEqual(['home', 'word.json']);
  expect(await readFile(join(elsewhere, 'word.json'), 'utf8')).toContain('forged');
});

test('what a killed daemon has left is cleared away, but not behind a link', async () => {
  const { open, path, file } = await place();
  const elsewhere = join(path, '..', 'elsewhere');
  for (const folder of [elsewhere, file('own')]) {
    await mkdir(join(folder, 'session.lock'), { recursive: true });
    await mkdir(join(folder, 'x.lock.daemon-1'));
    await writeFile(join(folder, 'session.lock/daemon-1'), '');
    await writeFile(join(folder, 'word.json.123'), '');
  }
  await symlink(elsewhere, file('linked'));
  await open();
  expect(await readdir(file('own'))).toEqual([]);
  expect((await readdir(elsewhere, { recursive: true })).sort()).toEqual([
    'session.lock',
    'session.lock/daemon-1',
    'word.json.123',
    'x.lock.daemon-1',
  ]);
});

test('a folder below a link into nowhere is a fault, and not waited for', async () => {
  const { open, path } = await place();
  await symlink(join(path, '..', 'gone'), path);
  const state = await open();
  expect(await state.document('accounts/home/word', wordCodec).write('x')).toBe(false);
  expect(state.fault?.message).toContain('ENOENT');
});
