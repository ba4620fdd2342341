// Writing and reading documents: private, whole, in order; damaged ones set aside; leftovers and owners.
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { owned } from '../../src/store/stateStore.ts';
import { modeOf, place, wordCodec } from './directory.ts';

describe('writing', () => {
  test('makes the directory with the first document only; all of it private', async () => {
    const { path, open, file } = await place();
    const state = await open();
    expect(state.path).toBe(path);
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
    await (await open()).document('loose', wordCodec).write('second');
    expect(await modeOf(file('loose.json'))).toBe('600');
  });

  test('replaces the file whole: a reader finds the old word or the new one, never half of one', async () => {
    const { open, file } = await place();
    const document = (await open()).document('word', wordCodec);
    const words = ['a', 'b', 'c'].map((letter) => letter.repeat(300_000));
    await document.write(words[0] ?? '');
    const inode = async () => (await stat(file('word.json'))).ino;
    let isWriting = true;
    const seen = new Set<string>();
    const reading = (async () => {
      while (isWriting) seen.add(JSON.parse(await readFile(file('word.json'), 'utf8')).word);
    })();
    for (const word of words) {
      const before = await inode();
      await document.write(word);
      expect(await inode()).not.toBe(before);
    }
    isWriting = false;
    await reading;
    expect(words).toEqual(expect.arrayContaining([...seen]));
    expect(await readdir(file(''))).toEqual(['word.json']);
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
});

describe('reading', () => {
  test('a document that was never written is null, without a line in the log', async () => {
    const { open, lines } = await place();
    const state = await open();
    expect(await state.document('none', wordCodec).read()).toBeNull();
    expect(await state.list('accounts')).toEqual([]);
    expect(lines).toEqual([]);
  });

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

  test('a damaged file never takes the new one with it', async () => {
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

  test('a directory in place of the file is no document', async () => {
    const { open, file, messages } = await place();
    await mkdir(file('word.json'), { recursive: true });
    expect(await (await open()).document('word', wordCodec).read()).toBeNull();
    expect(messages('error')).toEqual(['state document cannot be read']);
  });
});

test('leftovers of a killed write are swept away on opening, other files stay', async () => {
  const { open, file } = await place();
  await mkdir(file('accounts/home'), { recursive: true });
  const kept = ['word.json', 'word.json.damaged', 'notes.txt', 'word.json.bak', 'accounts/home/tokens.json'];
  const leftovers = ['word.json.3141592', 'accounts/home/tokens.json.42'];
  for (const name of [...kept, ...leftovers]) await writeFile(file(name), '{}');
  await open();
  const files = await readdir(file(''), { recursive: true });
  expect(files.filter((name) => name !== 'accounts' && name !== 'accounts/home').sort()).toEqual(kept.sort());
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
