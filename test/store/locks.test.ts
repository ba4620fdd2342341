// The lock between processes: one at a time, a holder that died, a directory that takes no lock. And two daemons that
// start at once.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { askDaemon, ClaimedDirectory, claimAlone, isDaemonRunning } from '../../src/store/locks.ts';
import { pathsBelow } from '../../src/store/privateFiles.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { logLines } from '../support/logLines.ts';
import { untilAtRest } from '../support/rest.ts';
import { openStack } from '../support/stack.ts';
import { modeOf } from './directory.ts';

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
    await untilAtRest();
    if (!isOver) clock.advance(100);
  }
  return (clock.monotonic() - began) / 1000;
}
/** Those that are held. */
const locks = async () =>
  (await pathsBelow(path)).flatMap((name) => name.match(/(.*\.lock)\/(daemon|command)-/)?.[1] ?? []);
/** As a process leaves it that dies. */
async function leaveLock(name = 'session.lock') {
  await mkdir(join(path, name));
  await writeFile(join(path, name, 'command-dead'), '');
}
/** Somebody touches a lock of that name for as long as the step takes. */
async function whileTouched(name: string, step: () => Promise<void>) {
  await leaveLock(name);
  const stop = new AbortController();
  const touching = (async () => {
    for (let at = 5_000_000_000; !stop.signal.aborted; at += 2) {
      await utimes(join(path, name, 'command-dead'), at, at);
      await clock.sleep(2_000, stop.signal);
    }
  })();
  await step();
  stop.abort();
  await touching;
}

test('two processes take their turns, however long the first takes', async () => {
  const told: string[] = [];
  const visit = (who: string, directory: StateDirectory, ms: number) =>
    directory.withLock('accounts/home/session', clock, async (isHeld) => {
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
    void directory.withLock('session', clock, () => new Promise(() => undefined));
    await expect.poll(locks).toHaveLength(1);
    await StateDirectory.open(path, logLines().log);
    expect(await locks()).toEqual(left);
  }
});

test.each<[string, () => unknown]>([
  ['a lock', () => leaveLock()],
  ['a lock of an earlier version', () => writeFile(join(path, 'session.lock'), 'daemon 1')],
  ['a pipe in the place of a lock', () => execFileSync('mkfifo', [join(path, 'session.lock')])],
  ['a link in the place of a lock', () => symlink('/nonexistent/x', join(path, 'session.lock'))],
  ['a link to a folder in the place of a lock', () => symlink('/usr', join(path, 'session.lock'))],
  ['a lock in which a folder lies', () => mkdir(join(path, 'session.lock/a/b'), { recursive: true })],
])('%s whose holder died is taken after ten seconds', async (_, leave) => {
  await leave();
  const taken = other.withLock('session', clock, async (isHeld) => isHeld);
  const waited = await seconds(taken);
  expect(await taken).toBe(true);
  expect(waited).toBeGreaterThanOrEqual(10);
  expect(waited).toBeLessThan(12);
});

test('a lock from the future, or that somebody else goes on touching, is respected for a minute', async () => {
  await whileTouched('session.lock', async () => {
    const waiting = other.withLock('session', clock, async () => undefined);
    const outcome = expect(waiting).rejects.toMatchObject({ code: 'state_busy' });
    expect(await seconds(waiting)).toBeGreaterThanOrEqual(60);
    await outcome;
  });
});

test('a daemon starts all the same when its lock is not given back for a minute', async () => {
  await whileTouched('daemon.lock', async () => {
    const claiming = ClaimedDirectory.claim(path, clock, logLines().log);
    expect(await seconds(claiming)).toBeGreaterThanOrEqual(60);
    const claimed = await claiming;
    expect(claimed.isAlone).toBe(true);
    await claimed.giveUp();
  });
});

test('where no lock can be made the step runs all the same, and knows', async () => {
  await writeFile(join(path, 'accounts'), 'a file in the place of the folder');
  expect(await one.withLock('accounts/home/session', clock, async (isHeld) => isHeld)).toBe(false);
});

test('a holder that was suspended for long leaves the lock to its successor', async () => {
  let wake = () => {};
  const first = one.withLock('session', clock, () => new Promise<void>((resolve) => (wake = resolve)));
  await expect.poll(locks).toHaveLength(1);
  const [file = ''] = await readdir(join(path, 'session.lock'));
  // Another process has found it stale.
  await rename(join(path, 'session.lock', file), join(path, 'session.lock', 'command-successor'));
  wake();
  await first;
  expect(await readdir(join(path, 'session.lock'))).toEqual(['command-successor']);
});

test('a step that fails frees the lock, and so does the end of the process', async () => {
  const failing = one.withLock('session', clock, async () => {
    throw new Error('refused');
  });
  await expect(failing).rejects.toThrow('refused');
  expect(await locks()).toEqual([]);
  await mkdir(join(path, 'accounts'));
  // Once the step runs, the lock is known to its holder; its file is there a moment earlier.
  await new Promise<void>((running) => {
    void one.withLock('accounts/session', clock, () => {
      running();
      return new Promise(() => undefined);
    });
  });
  await other.unlock();
  expect(await locks()).toHaveLength(1);
  await one.unlock();
  expect(await locks()).toEqual([]);
});

test('of two daemons that find the socket of a dead one at the same moment, one starts', async () => {
  const killed = createServer().listen(join(path, 'before.sock'));
  await once(killed, 'listening');
  await rename(join(path, 'before.sock'), join(path, 'daemon.sock'));
  await new Promise((resolve) => killed.close(resolve));
  const starts = Array.from({ length: 4 }, () => ClaimedDirectory.claim(path, systemClock, logLines().log));
  const outcomes = await Promise.allSettled(starts);
  const started = outcomes.filter(({ status }) => status === 'fulfilled');
  expect(started).toHaveLength(1);
  expect(outcomes.filter((one) => one.status === 'rejected').map((one) => one.reason.code)).toEqual(
    Array(3).fill('already_running'),
  );
  expect(await isDaemonRunning(path)).toBe(true);
  for (const one of outcomes) if (one.status === 'fulfilled') await one.value.giveUp();
});

test('a second daemon is refused until the first has given the directory up', async () => {
  const { log } = logLines();
  expect(await isDaemonRunning(path)).toBe(false);
  const claimed = await ClaimedDirectory.claim(path, systemClock, log);
  expect(await isDaemonRunning(path)).toBe(true);
  expect(await modeOf(join(path, 'daemon.sock'))).toBe('600');
  await expect(ClaimedDirectory.claim(path, systemClock, log)).rejects.toMatchObject({
    code: 'already_running',
    exitCode: 2,
    message: `heat2mqtt already runs with this state directory: ${path}.`,
  });
  await claimed.giveUp();
  expect(await readdir(path)).toEqual([]);
  await (await ClaimedDirectory.claim(path, systemClock, log)).giveUp();
});

test.each<[string, () => unknown]>([
  ['deleted', () => rm(path, { recursive: true })],
  ['moved away', () => rename(path, `${path}-before`)],
  ['moved away and made anew', () => rename(path, `${path}-before`).then(() => mkdir(path))],
  ['left without its socket', () => rm(join(path, 'daemon.sock'))],
])('a daemon listens again when its directory was %s', async (_, takeAway) => {
  const { log, lines } = logLines();
  const claimed = await ClaimedDirectory.claim(path, systemClock, log);
  claimed.answer(() => 'well');
  await claimed.claimAgain();
  expect(lines).toEqual([]);
  await takeAway();
  await claimed.claimAgain();
  expect([claimed.isAlone, await askDaemon(path, systemClock)]).toEqual([true, 'well']);
  expect(lines).toHaveLength(1);
  await expect(ClaimedDirectory.claim(path, systemClock, log)).rejects.toMatchObject({
    code: 'already_running',
  });
  await claimed.giveUp();
  expect(await readdir(path)).toEqual([]);
});

test('a daemon gives way, and leaves the socket alone, when another has its directory meanwhile', async () => {
  const { log } = logLines();
  const first = await ClaimedDirectory.claim(path, systemClock, log);
  await rename(path, `${path}-before`);
  const second = await ClaimedDirectory.claim(path, systemClock, log);
  // It says nothing while it starts, and may still end.
  await first.claimAgain();
  second.answer(() => 'well');
  await expect(first.claimAgain()).rejects.toMatchObject({ code: 'already_running', exitCode: 2 });
  await first.giveUp();
  expect(await askDaemon(path, systemClock)).toBe('well');
  await second.giveUp();
});

test('a daemon listens later where there could be no socket at first, and warns once', async () => {
  const { log, lines } = logLines();
  const place = join(path, 'place');
  await writeFile(place, 'a file');
  const claimed = await ClaimedDirectory.claim(place, systemClock, log);
  await claimed.claimAgain();
  expect([claimed.isAlone, lines.length]).toEqual([false, 1]);
  await rm(place);
  await claimed.claimAgain();
  expect([claimed.isAlone, await isDaemonRunning(place)]).toEqual([true, true]);
  await claimed.giveUp();
});

test.each<[string, string, (at: string) => unknown]>([
  ['a directory for the socket', 'daemon.sock', (at) => mkdir(join(at, 'more'), { recursive: true })],
  ['a pipe for the socket', 'daemon.sock', (at) => execFileSync('mkfifo', [at])],
  ['a file for the socket', 'daemon.sock', (at) => writeFile(at, 'x')],
  ['a link for the socket', 'daemon.sock', (at) => symlink('/nonexistent/x', at)],
  ['a pipe for the lock', 'daemon.lock', (at) => execFileSync('mkfifo', [at])],
  ['a full directory for the lock', 'daemon.lock', (at) => mkdir(join(at, 'a/b'), { recursive: true })],
])('%s keeps no daemon from starting', async (_, name, put) => {
  await put(join(path, name));
  const claiming = ClaimedDirectory.claim(path, clock, logLines().log);
  expect(await seconds(claiming)).toBeLessThan(12);
  const claimed = await claiming;
  expect(await isDaemonRunning(path)).toBe(true);
  await claimed.giveUp();
});

test('a directory is claimed whatever its path', async () => {
  const { log, lines } = logLines();
  const long = join(path, 'l'.repeat(200), 'state');
  const claimed = await ClaimedDirectory.claim(long, systemClock, log);
  expect(claimed.isAlone).toBe(true);
  claimed.answer(() => 'well');
  // The claim is for the directory itself, not for the words that lead there.
  await symlink(long, join(path, 'short'));
  for (const way of [long, join(path, 'short')]) {
    expect([await isDaemonRunning(way), await askDaemon(way, systemClock)]).toEqual([true, 'well']);
    await expect(ClaimedDirectory.claim(way, systemClock, log)).rejects.toMatchObject({
      code: 'already_running',
    });
  }
  expect(await modeOf(join(long, 'daemon.sock'))).toBe('600');
  await claimed.giveUp();
  expect([await isDaemonRunning(long), await readdir(long)]).toEqual([false, []]);
  expect(lines).toEqual([]);
});

test('where there can be no socket a daemon warns and goes on, and what needs the directory alone is refused unless forced', async () => {
  const { log, lines } = logLines();
  // Root may write everywhere, so a regular file stands where the directory should be.
  const file = join(path, 'file');
  await writeFile(file, 'a file');
  const claimed = await ClaimedDirectory.claim(file, systemClock, log);
  expect([claimed.isAlone, await isDaemonRunning(file)]).toEqual([false, false]);
  await claimed.giveUp();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', hint: expect.stringContaining('A second daemon with it would not be noticed') },
  ]);
  await expect(claimAlone(file, false, systemClock, log)).rejects.toMatchObject({
    code: 'may_be_running',
    exitCode: 2,
    hint: expect.stringContaining('--force'),
  });
  await (await claimAlone(file, true, systemClock, log)).giveUp();
  await (await claimAlone(path, false, systemClock, log)).giveUp();
});
