// A state directory that refuses: told with path and reason, tried again, and never a reason to stop.
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { place, wordCodec } from './directory.ts';

/** Root may write everywhere, so a regular file stands where the directory should be. */
async function blocked() {
  const { open, path, messages } = await place();
  await writeFile(path, 'a file');
  const state = await open();
  const document = state.document('accounts/home/word', wordCodec);
  const refusal: unknown = await document.write('first word').catch((err: unknown) => err);
  return { state, document, refusal, path, messages, unblock: () => rm(path) };
}

test('a directory that cannot be written is opened all the same; each change tells path and reason', async () => {
  const { state, document, refusal, path, messages } = await blocked();
  expect(refusal).toMatchObject({ code: 'state_unwritable', retry: 'later' });
  expect(String(refusal)).toContain(`The state directory cannot be written: ${path} (ENOTDIR).`);
  expect(String(refusal)).not.toContain('first word');
  await expect(document.write('again')).rejects.toThrow('ENOTDIR');
  await expect(document.remove()).rejects.toMatchObject({ code: 'state_unwritable' });
  expect(await document.read()).toBeNull();
  expect(messages('error')).toEqual(['state document cannot be read']);
  expect(await state.list('accounts')).toEqual([]);
});

test('a write that failed does not hold up the next', async () => {
  const { open, file, path } = await place();
  const document = (await open()).document('full', wordCodec);
  // A link into nowhere stands for a disk that was away: the folder cannot be made through it.
  await symlink(join(path, '..', 'gone', 'deeper'), path);
  await expect(document.write('lost')).rejects.toMatchObject({ code: 'state_unwritable' });
  await mkdir(join(path, '..', 'gone', 'deeper'), { recursive: true });
  await document.write('kept');
  expect(await document.read()).toBe('kept');
  expect(await readdir(file(''))).toEqual(['full.json']);
});

test('a value that cannot be encoded is refused like a full disk, and leaves the old one', async () => {
  const codec = { decode: (json: unknown) => json, encode: (value: unknown) => value };
  const document = (await (await place()).open()).document('odd', codec);
  await document.write({ fine: true });
  await expect(document.write({ big: 1n })).rejects.toMatchObject({ code: 'state_unwritable' });
  expect(await document.read()).toEqual({ fine: true });
});

test('what could not be written is a fault of the directory until that document has been', async () => {
  const { state, document, refusal, unblock } = await blocked();
  expect(state.fault).toBe(refusal);
  await unblock();
  await state.document('other', wordCodec).write('fine');
  expect(state.fault).toBe(refusal);
  await document.write('second');
  expect(state.fault).toBeNull();
});

test('it is tried again, in vain or not, with the newest value', async () => {
  const { state, document, unblock } = await blocked();
  await state.retry();
  expect(state.fault).not.toBeNull();
  await document.write('second').catch(() => undefined);
  await unblock();
  await state.retry();
  expect([state.fault, await document.read()]).toEqual([null, 'second']);
});

test('it does not come back over something newer', async () => {
  const { state, document, unblock } = await blocked();
  await unblock();
  await Promise.all([document.write('second'), state.retry(), state.retry()]);
  expect([state.fault, await document.read()]).toEqual([null, 'second']);
});

test('a removal is tried again as well', async () => {
  const { open, file } = await place();
  const state = await open();
  const document = state.document('word', wordCodec);
  await mkdir(join(file('word.json'), 'full'), { recursive: true });
  await expect(document.remove()).rejects.toMatchObject({ code: 'state_unwritable' });
  await rm(file('word.json'), { recursive: true });
  await document.read();
  await state.retry();
  expect(state.fault).toBeNull();
});
