// A state directory that refuses: told with path and reason, and never a reason to stop.
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openStateDirectory, StateUnwritable } from '../../src/store/stateDirectory.ts';
import { place, wordCodec } from './directory.ts';

describe('a directory that cannot be written', () => {
  // Root may write everywhere, so a regular file stands where the directory should be.
  async function blocked() {
    const { path, log, messages } = await place();
    await writeFile(path, 'a file');
    return { path, messages, state: await openStateDirectory(join(path, 'state'), log) };
  }

  test('is opened all the same; each write tells path and reason', async () => {
    const { path, state } = await blocked();
    const document = state.document('accounts/home/tokens', wordCodec);
    const refusal = await document.write('secret word').catch((err: unknown) => err);
    expect(refusal).toBeInstanceOf(StateUnwritable);
    expect(refusal).toMatchObject({ code: 'state_unwritable', retry: 'later' });
    expect(String(refusal)).toContain(path);
    expect(String(refusal)).toContain('ENOTDIR');
    expect(String(refusal)).not.toContain('secret word');
    await expect(document.write('again')).rejects.toThrow('ENOTDIR');
  });

  test('has no documents to read, list or remove', async () => {
    const { state, messages } = await blocked();
    const document = state.document('word', wordCodec);
    expect(await document.read()).toBeNull();
    expect(messages('error')).toEqual(['state document cannot be read']);
    expect(await state.list('accounts')).toEqual([]);
    await expect(document.remove()).rejects.toBeInstanceOf(StateUnwritable);
  });

  test('a write that failed does not hold up the next', async () => {
    const { open, file, path } = await place();
    const document = (await open()).document('full', wordCodec);
    // A link into nowhere stands for a disk that was away: the folder cannot be made through it.
    await symlink(join(path, '..', 'gone', 'deeper'), path);
    await expect(document.write('lost')).rejects.toBeInstanceOf(StateUnwritable);
    await mkdir(join(path, '..', 'gone', 'deeper'), { recursive: true });
    await document.write('kept');
    expect(await document.read()).toBe('kept');
    expect(await readdir(file(''))).toEqual(['full.json']);
  });

  test('a value that cannot be encoded is refused like a full disk, and leaves the old one', async () => {
    const { open } = await place();
    const document = (await open()).document<unknown>('odd', {
      decode: (json) => json,
      encode: (value) => value,
    });
    await document.write({ fine: true });
    await expect(document.write({ big: 1n })).rejects.toBeInstanceOf(StateUnwritable);
    expect(await document.read()).toEqual({ fine: true });
  });
});
