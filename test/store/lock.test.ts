// The lock between processes: one at a time, a holder that died, a directory that takes no lock.
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { StateBusy } from '../../src/store/lock.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';

let clock: HandClock;
let path: string;
let one: StateDirectory;
let other: StateDirectory;
beforeEach(async () => {
  clock = handClock('2026-03-10T12:00:00Z');
  path = await openStack().folder();
  one = new StateDirectory(path, logLines().log);
  other = new StateDirectory(path, logLines().log);
});

/** Lets the clock go on in steps of a tenth of a second until the promise is settled. */
async function seconds(promise: Promise<unknown>): Promise<number> {
  const began = clock.monotonic();
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  void promise.then(over, over);
  while (!isOver) {
    // The file system has its turn.
    await readdir(path);
    await new Promise((resolve) => setImmediate(resolve));
    if (!isOver) clock.advance(100);
  }
  return (clock.monotonic() - began) / 1000;
}
const locks = async () => (await readdir(path, { recursive: true })).filter((name) => name.endsWith('.lock'));

test('two processes take their turns, however long the first takes', async () => {
  const told: string[] = [];
  const visit = (who: string, directory: StateDirectory, ms: number) =>
    directory.exclusively('accounts/home/session', clock, async (isHeld) => {
      told.push(`${who} in ${isHeld}`);
      await clock.sleep(ms);
      told.push(`${who} out`);
    });
  const first = visit('one', one, 45_000);
  await expect.poll(() => told).toHaveLength(1);
  const second = visit('other', other, 0);
  expect(await seconds(Promise.all([first, second]))).toBeGreaterThanOrEqual(45);
  expect(told).toEqual(['one in true', 'one out', 'other in true', 'other out']);
  expect(await locks()).toEqual([]);
});

test('a daemon that starts need not wait for one that was killed, but for a command', async () => {
  for (const [directory, left] of [
    [await StateDirectory.open(path, logLines().log), []],
    [one, ['session.lock']],
  ] as const) {
    void directory.exclusively('session', clock, () => new Promise(() => undefined));
    await expect.poll(locks).toHaveLength(1);
    await StateDirectory.open(path, logLines().log);
    expect(await locks()).toEqual(left);
  }
});

test('a lock whose holder died is taken after ten seconds', async () => {
  await writeFile(join(path, 'session.lock'), '');
  const taken = other.exclusively('session', clock, async (isHeld) => isHeld);
  const waited = await seconds(taken);
  expect(await taken).toBe(true);
  expect(waited).toBeGreaterThanOrEqual(10);
  expect(waited).toBeLessThan(12);
});

test('a lock from the future, or that somebody else goes on touching, is respected for a minute', async () => {
  const file = join(path, 'session.lock');
  await writeFile(file, '');
  let at = 5_000_000_000;
  const stop = new AbortController();
  const touching = (async () => {
    for (; !stop.signal.aborted; at += 2) {
      await utimes(file, at, at);
      await clock.sleep(2_000, stop.signal);
    }
  })();
  const waiting = other.exclusively('session', clock, async () => undefined);
  const outcome = expect(waiting).rejects.toBeInstanceOf(StateBusy);
  expect(await seconds(waiting)).toBeGreaterThanOrEqual(60);
  await outcome;
  stop.abort();
  await touching;
});

test('where no lock can be made the step runs all the same, and knows', async () => {
  await writeFile(join(path, 'accounts'), 'a file in the place of the folder');
  expect(await one.exclusively('accounts/home/session', clock, async (isHeld) => isHeld)).toBe(false);
});

test('a holder that was suspended for long leaves the lock to its successor', async () => {
  let wake = () => {};
  const first = one.exclusively('session', clock, () => new Promise<void>((resolve) => (wake = resolve)));
  await expect.poll(locks).toHaveLength(1);
  // Another process has found it stale.
  await writeFile(join(path, 'session.lock'), 'somebody else');
  wake();
  await first;
  expect(await locks()).toEqual(['session.lock']);
});

test('a step that fails frees the lock, and so does the end of the process', async () => {
  const failing = one.exclusively('session', clock, async () => {
    throw new Error('refused');
  });
  await expect(failing).rejects.toThrow('refused');
  expect(await locks()).toEqual([]);
  await mkdir(join(path, 'accounts'));
  // Once the step runs, the lock is known to its holder; its file is there a moment earlier.
  await new Promise<void>((running) => {
    void one.exclusively('accounts/session', clock, () => {
      running();
      return new Promise(() => undefined);
    });
  });
  await other.unlock();
  expect(await locks()).toHaveLength(1);
  await one.unlock();
  expect(await locks()).toEqual([]);
});
