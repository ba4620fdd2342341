// A state directory that refuses: told with path and reason, tried again, and never a reason to stop.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { place, wordCodec } from './directory.ts';

/** Root may write everywhere, so a regular file stands where the directory should be. */
async function blocked() {
  const { open, path, messages } = await place();
  await writeFile(path, 'a file');
  const state = await open();
  const document = state.document('accounts/home/word', wordCodec);
  expect(await document.write('first word')).toBe(false);
  return { state, document, refusal: state.fault, path, messages, unblock: () => rm(path) };
}

test('a directory that cannot be written is opened all the same; each change tells path and reason', async () => {
  const { state, document, refusal, path, messages } = await blocked();
  expect(refusal).toMatchObject({ code: 'state_unwritable', retry: 'later' });
  expect(String(refusal)).toContain(`The state directory cannot be written: ${path} (ENOTDIR).`);
  expect(String(refusal)).not.toContain('first word');
  expect([await document.write('again'), await document.remove()]).toEqual([false, false]);
  expect(await document.read()).toBeNull();
  expect(messages('error')).toEqual(['state document could not be saved', 'state document cannot be read']);
  expect(await state.list('accounts')).toEqual([]);
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
  await document.write('second');
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
  expect([await document.remove(), state.fault?.code]).toEqual([false, 'state_unwritable']);
  await rm(file('word.json'), { recursive: true });
  await document.read();
  await state.retry();
  expect(state.fault).toBeNull();
});
