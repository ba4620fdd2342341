// A state directory that refuses: told with path and reason, and never a reason to stop.
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { StateDirectory, StateUnwritable } from '../../src/store/stateDirectory.ts';
import { place, wordCodec } from './directory.ts';

describe('a directory that cannot be written', () => {
  // Root may write everywhere, so a regular file stands where the directory should be.
  async function blocked() {
    const { path, log, messages } = await place();
    await writeFile(path, 'a file');
    return { path, messages, state: await StateDirectory.open(join(path, 'state'), log) };
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

describe('what could not be done', () => {
  async function blocked() {
    const { open, file, path } = await place();
    const state = await open();
    await writeFile(path, 'a file');
    const document = state.document('accounts/home/word', wordCodec);
    await document.write('first').catch(() => undefined);
    return { state, document, file, path, unblock: () => rm(path) };
  }

  test('is a fault of the directory until it has been done', async () => {
    const { state, document, path, unblock } = await blocked();
    expect(state.fault).toBeInstanceOf(StateUnwritable);
    expect(state.fault?.message).toBe(`The state directory cannot be written: ${path} (ENOTDIR).`);
    await unblock();
    await state.document('other', wordCodec).write('fine');
    expect(state.fault).not.toBeNull();
    await document.write('second');
    expect(state.fault).toBeNull();
  });

  test('is tried again, in vain or not, with the newest value', async () => {
    const { state, document, unblock } = await blocked();
    await state.retry();
    expect(state.fault).not.toBeNull();
    await document.write('second').catch(() => undefined);
    await unblock();
    await state.retry();
    expect([state.fault, await document.read()]).toEqual([null, 'second']);
  });

  test('does not come back over something newer', async () => {
    const { state, document, unblock } = await blocked();
    await unblock();
    await Promise.all([document.write('second'), state.retry(), state.retry()]);
    expect([state.fault, await document.read()]).toEqual([null, 'second']);
  });

  test('may be a removal', async () => {
    const { open, file } = await place();
    const state = await open();
    const document = state.document('word', wordCodec);
    await mkdir(join(file('word.json'), 'full'), { recursive: true });
    await expect(document.remove()).rejects.toBeInstanceOf(StateUnwritable);
    await rm(file('word.json'), { recursive: true });
    await document.read();
    await state.retry();
    expect(state.fault).toBeNull();
  });
});
