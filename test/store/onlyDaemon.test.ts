// One daemon for each state directory: a living one is noticed, and nothing else is taken for one.
import { once } from 'node:events';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { claimDirectory, isDaemonRunning } from '../../src/store/locks.ts';
import { modeOf, place } from './directory.ts';

test('a second daemon is refused until the first has given the directory up', async () => {
  const { path, file, log } = await place();
  expect(await isDaemonRunning(path)).toBe(false);
  const giveUp = await claimDirectory(path, systemClock, log);
  expect(await isDaemonRunning(path)).toBe(true);
  expect(await modeOf(file('daemon.sock'))).toBe('600');
  await expect(claimDirectory(path, systemClock, log)).rejects.toMatchObject({
    code: 'already_running',
    exitCode: 2,
    message: `heat2mqtt already runs with this state directory: ${path}.`,
  });
  await giveUp();
  expect(await readdir(path)).toEqual([]);
  await (await claimDirectory(path, systemClock, log))();
});

test('the socket of a daemon that was killed is no obstacle', async () => {
  const { path, file, log } = await place();
  await mkdir(path);
  const killed = createServer().listen(file('before.sock'));
  await once(killed, 'listening');
  await rename(file('before.sock'), file('daemon.sock'));
  await new Promise((resolve) => killed.close(resolve));
  expect(await readdir(path)).toEqual(['daemon.sock']);
  const giveUp = await claimDirectory(path, systemClock, log);
  expect(await isDaemonRunning(path)).toBe(true);
  await giveUp();
});

test('where there can be no socket it goes on without', async () => {
  const { path, log, lines } = await place();
  const long = `${path}/${'a'.repeat(100)}`;
  await (await claimDirectory(long, systemClock, log))();
  expect(await isDaemonRunning(long)).toBe(false);
  // Root may write everywhere, so a regular file stands where the directory should be.
  await writeFile(path, 'a file');
  await (await claimDirectory(path, systemClock, log))();
  expect(await isDaemonRunning(path)).toBe(false);
  expect(lines.map((line) => JSON.parse(line).level)).toEqual(['debug', 'debug']);
});
