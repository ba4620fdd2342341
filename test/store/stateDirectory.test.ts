// Documents in a state directory: private, whole, in order; damaged ones set aside; a directory that refuses, or is not ours; and
// links that have been put into it.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { directoryNotices } from '../../src/store/directoryNotices.ts';
import { installationCodec } from '../../src/store/documents.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { owned } from '../../src/store/stateStore.ts';
import { handClock } from '../support/clock.ts';
import { modeOf, place, wordCodec } from './directory.ts';

/** A damaged disk, or somebody else, can put these where a file should be. */
const NO_FILES: readonly (readonly [string, (path: string) => Promise<unknown> | unknown])[] = [
  ['a directory', (path) => mkdir(path)],
  ['a full directory', (path) => mkdir(join(path, 'more'), { recursive: true })],
  ['a pipe', (path) => execFileSync('mkfifo', [path])],
  [
    'a socket',
    async (path) => {
      const server = createServer().listen(`${path}.s`);
      await once(server, 'listening');
      await rename(`${path}.s`, path);
      server.close();
    },
  ],
];

describe('writing', () => {
  test('makes the directory with the first document only; all of it private', async () => {
    const { path, open, file, lines } = await place();
    const state = await open();
    expect(state.path).toBe(path);
    expect(await state.document('none', wordCodec).read()).toBeNull();
    expect([await state.list('accounts'), lines]).toEqual([[], []]);
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
    await state.document('accounts/home/tokens', wordCodec).write('first');
    for (const folder of ['', 'accounts', 'accounts/home']) expect(await modeOf(file(folder))).toBe('700');
    expect(await modeOf(file('accounts/home/tokens.json'))).toBe('600');
  });

  test('stays private whatever the umask, and whatever the file was before', async () => {
    const { open, file } = await place();
    const before = process.umask(0);
    try {
      const document = (await open()).document('open', wordCodec);
      await document.write('first');
      expect([await modeOf(file('')), await modeOf(file('open.json'))]).toEqual(['700', '600']);
    } finally {
      process.umask(before);
    }
    await writeFile(file('loose.json'), '{}', { mode: 0o644 });
    const { ino } = await stat(file('loose.json'));
    await (await open()).document('loose', wordCodec).write('second');
    expect(await modeOf(file('loose.json'))).toBe('600');
    // Another file in its place, not the old one written over: no reader or power cut finds half of it.
    expect((await stat(file('loose.json'))).ino).not.toBe(ino);
  });

  test('concurrent writes end with the word given last, and a removal keeps its turn', async () => {
    const { open, file } = await place();
    const document = (await open()).document('word', wordCodec);
    const words = Array.from({ length: 50 }, (_, index) => `${index}`.repeat(50 - index));
    await Promise.all(words.map((word) => document.write(word)));
    expect(await document.read()).toBe(words.at(-1));
    await Promise.all([document.write('one'), document.remove()]);
    expect(await document.read()).toBeNull();
    await Promise.all([document.remove(), document.write('two')]);
    expect(await document.read()).toBe('two');
    expect(await readFile(file('word.json'), 'utf8')).toMatch(/\n$/);
    expect([await document.remove(), await document.remove()]).toEqual([true, true]);
  });

  test('writes a document twice at most when it changes again and again at one moment', async () => {
    const { open } = await place();
    const written: string[] = [];
    const encode = (word: string) => {
      written.push(word);
      return wordCodec.encode(word);
    };
    const document = (await open()).document('word', { ...wordCodec, encode });
    const words = Array.from({ length: 30 }, (_, at) => `word ${at}`);
    const first = document.write('first');
    await Promise.resolve();
    expect(await Promise.all([first, ...words.map((word) => document.write(word))])).not.toContain(false);
    expect(written.length).toBeLessThanOrEqual(2);
    expect(written.at(-1)).toBe(words.at(-1));
  });
});

test('tries the next write at once when a link was in the way of the one before', async () => {
  const { path, open, file } = await place();
  const document = (await open()).document('accounts/home/word', wordCodec);
  await mkdir(path, { recursive: true });
  await symlink(tmpdir(), file('accounts'));
  expect(await document.write('first')).toBe(false);
  await rm(file('accounts'));
  expect(await document.write('second')).toBe(true);
  expect(await document.read()).toBe('second');
});

describe('reading', () => {
  test.each([
    ['empty', ''],
    ['cut off', '{"version":1,"wor'],
    ['zeros after a power cut', '\0'.repeat(64)],
    ['of another version', '{"version":2,"word":"x"}'],
    ['of another shape', '[]'],
    ['null', 'null'],
    ['not even text', Buffer.from([0xff, 0xfe, 0x00, 0xd8])],
  ])('a file that is %s is set aside, and life goes on', async (_, content) => {
    const { open, file, lines, messages } = await place();
    const state = await open();
    await state.document('other', wordCodec).write('untouched');
    await writeFile(file('word.json'), content);
    const document = state.document('word', wordCodec);
    expect(await document.read()).toBeNull();
    expect(await readFile(file('word.json.damaged'))).toEqual(Buffer.from(content));
    expect(messages('error')).toEqual([expect.stringContaining('damaged')]);
    if (content.length > 0) expect(lines.join()).not.toContain('"word":');
    await document.write('new');
    expect(await document.read()).toBe('new');
    expect(await state.document('other', wordCodec).read()).toBe('untouched');
    expect(await state.list('')).toEqual(expect.arrayContaining(['other', 'word']));
  });

  test('sets a document of a newer version aside as that', async () => {
    const { open, file, messages } = await place();
    const state = await open();
    await state.document('other', wordCodec).write('untouched');
    await writeFile(file('installation.json'), '{"version":99}');
    expect(await state.document('installation', installationCodec).read()).toBeNull();
    expect(await readFile(file('installation.json.newer'), 'utf8')).toBe('{"version":99}');
    expect(messages('error')).toEqual([expect.stringContaining('set aside as .newer')]);
  });

  test('a command leaves a damaged file to the daemon, until it has to write its own', async () => {
    const { path, file, log } = await place();
    await mkdir(path);
    await writeFile(file('word.json'), '{');
    const document = new StateDirectory(path, log).document('word', wordCodec);
    expect(await document.read()).toBeNull();
    expect(await readFile(file('word.json'), 'utf8')).toBe('{');
    await document.write('new');
    expect(await readFile(file('word.json.damaged'), 'utf8')).toBe('{');
    expect(await document.read()).toBe('new');
  });

  test('keeps the new file when a damaged one is set aside', async () => {
    const { open, file } = await place();
    const state = await open();
    for (let round = 0; round < 20; round += 1) {
      const document = state.document(`word${round}`, wordCodec);
      await mkdir(file(''), { recursive: true });
      await writeFile(file(`word${round}.json`), '{');
      await Promise.all([document.read(), document.write('new')]);
      expect(await document.read()).toBe('new');
    }
  });

  test.each(NO_FILES)('%s in the place of the file is set aside, whatever was before it', async (_, put) => {
    const { open, path, file, messages } = await place();
    await mkdir(file('second.json.damaged/full'), { recursive: true });
    await writeFile(file('third.json.damaged'), '{');
    const state = await open();
    for (const name of ['first', 'second', 'third']) {
      await put(file(`${name}.json`));
      const document = state.document(name, wordCodec);
      expect(await document.read()).toBeNull();
      expect(await document.write(name)).toBe(true);
      expect(await document.read()).toBe(name);
    }
    expect(messages('error')).toEqual(Array(3).fill(expect.stringContaining('damaged: set aside')));
    const names = ['first.json', 'second.json', 'third.json'];
    expect((await readdir(path)).sort()).toEqual(names.flatMap((name) => [name, `${name}.damaged`]));
    expect(state.fault).toBeNull();
  });

  test.each(NO_FILES)('%s hangs no command beside the daemon', async (_, put) => {
    const { path, file, log } = await place();
    await mkdir(path);
    await put(file('word.json'));
    const document = new StateDirectory(path, log).document('word', wordCodec);
    expect(await document.read()).toBeNull();
    expect(await readdir(path)).toEqual(['word.json']);
    expect([await document.write('new'), await document.read()]).toEqual([true, 'new']);
  });

  test('reads no file that is too large for any document', async () => {
    const { open, path, file } = await place();
    await mkdir(path);
    await writeFile(file('word.json'), '');
    await truncate(file('word.json'), 3_000_000_000);
    expect(await (await open()).document('word', wordCodec).read()).toBeNull();
    expect(await readdir(path)).toEqual(['word.json.damaged']);
  });

  test.each(['accounts', 'accounts/home'])(
    'what is no folder in the place of %s makes way',
    async (folder) => {
      const { open, file, path } = await place();
      await mkdir(join(file(folder), '..'), { recursive: true });
      execFileSync('mkfifo', [file(folder)]);
      const state = await open();
      const document = state.document('accounts/home/word', wordCodec);
      expect(await document.read()).toBeNull();
      expect([await document.write('new'), await document.read()]).toEqual([true, 'new']);
      expect(state.fault).toBeNull();
      expect(await readdir(path, { recursive: true })).toContain(`${folder}.damaged`);
    },
  );
});

test('a document that belongs to another owner counts as absent, and is not set aside', async () => {
  const { open, file } = await place();
  const raw = (await open()).document<{ owner: string; value: string }>('mine', {
    decode: (json) => json as { owner: string; value: string },
    encode: (value) => value,
  });
  await owned(raw, 'me').write('secret');
  expect(await owned(raw, 'me').read()).toBe('secret');
  expect(await owned(raw, 'another').read()).toBeNull();
  expect(await readdir(file(''))).toEqual(['mine.json']);
  await owned(raw, 'another').write('other');
  expect(await owned(raw, 'me').read()).toBeNull();
  await owned(raw, 'another').remove();
  expect(await readdir(file(''))).toEqual([]);
});

test('what could not be written does not come back over something newer', async () => {
  const { open, path } = await place();
  // Root may write everywhere, so a regular file stands where the directory should be.
  await writeFile(path, 'a file');
  const state = await open();
  const document = state.document('accounts/home/word', wordCodec);
  expect([await document.write('first word'), await document.remove()]).toEqual([false, false]);
  expect(await document.read()).toBeNull();
  expect(String(state.fault)).not.toContain('first word');
  await rm(path);
  await Promise.all([document.write('second'), state.retry(), state.retry()]);
  expect([state.fault, await document.read()]).toEqual([null, 'second']);
});

const OWN = process.getuid?.() ?? 0;
const codes = async (path: string, uid: number) =>
  (await directoryNotices(path, uid)).map(({ code }) => code);

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

test('a command is told when its user cannot look into the directory, and the daemon goes on without', async () => {
  const { open, path, log } = await place();
  await writeFile(path, 'no directory');
  const daemon = await open();
  expect(await daemon.document('word', wordCodec).read()).toBeNull();
  for (const place of [path, join(path, 'below')]) {
    const command = new StateDirectory(place, log);
    await expect(command.document('word', wordCodec).read()).rejects.toMatchObject({
      code: 'state_unreadable',
      message: `The state directory cannot be read: ${place} (ENOTDIR).`,
    });
  }
});

test('a ledger that cannot be read or written is named without the number of the customer', async () => {
  const { open, file, lines } = await place();
  const state = await open();
  const name = (id: number) => `accounts/home/ledger-${id}`;
  // No file, and a damaged one, which make way for the new one; a link.
  await mkdir(file(`${name(410004)}.json`), { recursive: true });
  await writeFile(file(`${name(410005)}.json`), '{');
  await symlink('elsewhere', file(`${name(410006)}.json`));
  for (const id of [410004, 410005, 410006]) {
    const document = state.document(name(id), wordCodec);
    expect([await document.read(), await document.write('new')]).toEqual([null, id !== 410006]);
  }
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(line).toContain('accounts/home/ledger-…');
  expect(lines.join('')).not.toContain('41000');
});

test('what a killed daemon has left is cleared away, but neither other files nor behind a link', async () => {
  const { open, path, file } = await place();
  const elsewhere = join(path, '..', 'elsewhere');
  const kept = ['notes.txt', 'word.json', 'word.json.bak', 'word.json.damaged'];
  for (const folder of [elsewhere, file('own')]) {
    await mkdir(join(folder, 'session.lock'), { recursive: true });
    await mkdir(join(folder, 'x.lock.daemon-1'));
    for (const name of ['session.lock/daemon-1', 'word.json.123', ...kept])
      await writeFile(join(folder, name), '');
  }
  await symlink(elsewhere, file('linked'));
  const before = await readdir(elsewhere, { recursive: true });
  await open();
  expect((await readdir(file('own'))).sort()).toEqual(kept);
  expect(await readdir(elsewhere, { recursive: true })).toEqual(before);
});

test('a folder below a link into nowhere is a fault, and not waited for', async () => {
  const { open, path } = await place();
  await symlink(join(path, '..', 'gone'), path);
  const state = await open();
  expect(await state.document('accounts/home/word', wordCodec).write('x')).toBe(false);
  expect(state.fault?.message).toContain('ENOENT');
});
