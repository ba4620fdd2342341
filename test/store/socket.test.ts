// The socket of a process in a state directory: what it says, to whom, and where there can be none.
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { askIn, canListenIn, healthWords, listenIn } from '../../src/store/socket.ts';
import { handClock } from '../support/clock.ts';
import { openStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { modeOf } from './directory.ts';

const ask = (directory: string, name = 'one.sock') => askIn(directory, name, 5_000, systemClock);

test('who asks is told how it is at that moment; several share a directory', async () => {
  const path = join(await openStack().folder(), 'state');
  expect(await ask(path)).toBeNull();
  let isHealthy = true;
  const end = await listenIn(path, 'one.sock', () => healthWords(isHealthy));
  const endOther = await listenIn(path, 'other.sock', () => 'other');
  expect([await ask(path), await ask(path, 'other.sock')]).toEqual(['healthy', 'other']);
  isHealthy = false;
  expect(await ask(path)).toBe('not healthy');
  expect([await modeOf(path), await modeOf(join(path, 'one.sock'))]).toEqual(['700', '600']);
  await end();
  expect([await ask(path), await ask(path, 'other.sock')]).toEqual([null, 'other']);
  await endOther();
  expect(await readdir(path)).toEqual([]);
});

test('the socket of a successor stays when the one before it ends', async () => {
  const path = await openStack().folder();
  const end = await listenIn(path, 'one.sock', () => 'before');
  const endSuccessor = await listenIn(path, 'one.sock', () => 'after');
  await end();
  expect(await ask(path)).toBe('after');
  await endSuccessor();
  expect(await readdir(path)).toEqual([]);
});

test('a visitor who never leaves keeps no process from its end', async () => {
  const path = await openStack().folder();
  const end = await listenIn(path, 'one.sock', () => 'words');
  const visitor = connect({ path: join(path, 'one.sock'), allowHalfOpen: true });
  await once(visitor, 'connect');
  await end();
  visitor.destroy();
});

test('one that is connected and says nothing has said nothing, in time', async () => {
  const stack = openStack();
  const path = await stack.folder();
  const clock = handClock('2026-03-10T12:00:00Z');
  let visitors = 0;
  const silent = createServer(() => {
    visitors += 1;
  }).listen(join(path, 'one.sock'));
  stack.defer(() => void silent.close());
  await once(silent, 'listening');
  const asked = askIn(path, 'one.sock', 4_000, clock);
  await waitFor('the visitor', () => visitors === 1);
  clock.advance(4_000);
  expect(await asked).toBe('');
});

test('whether there can be a socket, also where the directory is not made yet; nothing is left behind', async () => {
  const folder = await openStack().folder();
  await writeFile(join(folder, 'file'), '');
  await mkdir(join(folder, 'state'));
  for (const name of ['state', 'none', 'none/at/all'])
    expect(await canListenIn(join(folder, name))).toBe(true);
  for (const name of ['file', 'file/below']) expect(await canListenIn(join(folder, name))).toBe(false);
  expect(await canListenIn('/proc/heat')).toBe(false);
  expect((await readdir(folder, { recursive: true })).sort()).toEqual(['file', 'state']);
});
