// The two locks between processes on one state directory. A socket says that a daemon lives here; a lock says whose turn
// it is, such as with the refresh token.
//
// A lock is a directory with one file in it, whose name only its holder has. A process takes the lock by renaming a
// directory of its own onto it, which the file system allows only while the lock is absent or empty. A stale lock is
// emptied by removing the dead holder's file by its name: that can never remove the file of a successor, however late it
// happens. So of any number of processes that find one stale lock, one gets it.
// There are no process ids in it: two containers on one volume count their processes separately.
import { randomUUID } from 'node:crypto';
import { lstat, readdir, rename, rm, rmdir, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure, failure, faultOf } from '../foundation/failure.ts';
import type { Log } from '../foundation/log.ts';
import { makePrivateDirectory, PRIVATE_FILE } from './privateFiles.ts';
import { askIn, canListenIn, connectIn, listenIn } from './socket.ts';

const stateBusy = () =>
  failure('state_busy', 'Another heat2mqtt on this state directory is signing in at the moment.', {
    exit: EXIT.unexpected,
    retry: 'soon',
    hint: 'Wait until it is done, or end it.',
  });

export const alreadyRunning = (directory: string) =>
  failure('already_running', `heat2mqtt already runs with this state directory: ${directory}.`, {
    exit: EXIT.usage,
    retry: 'never',
    hint: 'Stop the other one first, or give this one a state_dir and an mqtt.base_topic of its own.',
  });

/** Nothing may be changed there beside a daemon, and whether there is one is not known. */
export const mayBeRunning = (directory: string) =>
  failure(
    'may_be_running',
    `Whether heat2mqtt runs with this state directory cannot be told: there can be no socket in ${directory}.`,
    {
      exit: EXIT.usage,
      retry: 'never',
      hint: 'Nothing was changed. Be sure that nothing runs with it, then give --force.',
    },
  );

export interface LockHolder {
  readonly kind: 'command' | 'daemon' | 'start';
  /** The files of the locks that it holds. */
  readonly held: Set<string>;
}

const LOOK_MS = 100;
const TOUCH_MS = 2_000;
// A holder touches its file: untouched for that long means that it is dead.
const STALE_MS = 10_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Runs the step while no other process runs one under the lock at this path. `isHeld` is false where no lock can be
 * made, such as on a full disk or without the permission to write. Rejects with state_busy after a minute.
 */
export async function withLock<T>(
  lock: string,
  clock: Clock,
  { kind, held }: LockHolder,
  step: (isHeld: boolean) => Promise<T>,
): Promise<T> {
  const file = await acquire(lock, kind, clock);
  if (file === null) return step(false);
  held.add(file);
  const released = new AbortController();
  const touching = touch(file, clock, released.signal);
  try {
    return await step(true);
  } finally {
    released.abort();
    await touching;
    held.delete(file);
    await release(file);
  }
}

/** Does nothing where another process has found the lock stale meanwhile. Never rejects. */
export async function release(file: string): Promise<void> {
  await unlink(file).catch(() => undefined);
  await rmdir(dirname(file)).catch(() => undefined);
}

/** The file of a lock that a daemon holds, and what any process has left behind while it took one; from their paths. */
export const DAEMON_LOCK = /\.lock\/daemon-[^/]+$/;
export const HALF_TAKEN = /\.lock\.[a-z]+-[^/]+$/;

/** Resolves to the holder's file in the lock, `null` where no lock can be made. */
async function acquire(lock: string, kind: string, clock: Clock): Promise<string | null> {
  const began = clock.monotonic();
  let lastTouched: string | null = null;
  let lookedSince = began;
  for (;;) {
    const holder = await holderOf(lock);
    if (holder === null) {
      const file = await take(lock, `${kind}-${randomUUID()}`);
      if (file !== undefined) return file;
    } else {
      const lookedAt = clock.monotonic();
      // Compared with itself only: the clock of the file system may be another one, and ours may jump.
      const touched = `${holder} ${await stat(holder).then(
        ({ mtimeMs }) => mtimeMs,
        () => null,
      )}`;
      // This process may have been suspended during the look: it counts from its end, and to the beginning of the next.
      if (touched !== lastTouched) [lastTouched, lookedSince] = [touched, clock.monotonic()];
      else if (lookedAt - lookedSince >= STALE_MS) await removeHolder(holder);
    }
    if (clock.monotonic() - began >= LONGEST_WAIT_MS) throw stateBusy();
    await clock.sleep(LOOK_MS);
  }
}

async function holderOf(lock: string): Promise<string | null> {
  const entry = await lstat(lock).catch(() => null);
  if (entry === null) return null;
  // Builds before 0.1.0 made a file. Whatever else is in the place of a lock is nobody's either, once it is stale.
  if (!entry.isDirectory()) return lock;
  const [name] = await readdir(lock).catch(() => []);
  return name === undefined ? null : join(lock, name);
}

/** No holder makes a folder: one that has got there is removed with what is in it. */
const removeHolder = (holder: string): Promise<void> =>
  unlink(holder)
    .catch(() => rm(holder, { recursive: true, force: true }))
    .catch(() => undefined);

/** `undefined` when another process was quicker, `null` where no lock can be made. */
async function take(lock: string, name: string): Promise<string | null | undefined> {
  const candidate = `${lock}.${name}`;
  const drop = () => rm(candidate, { recursive: true, force: true }).catch(() => undefined);
  try {
    await makePrivateDirectory(candidate);
    await writeFile(join(candidate, name), '', { flag: 'wx', mode: PRIVATE_FILE });
  } catch {
    await drop();
    return null;
  }
  return rename(candidate, lock).then(
    () => join(lock, name),
    async ({ code }: NodeJS.ErrnoException) => {
      await drop();
      // ENOENT: a daemon that starts has removed what it took for a remnant.
      return ['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ENOENT'].includes(code ?? '') ? undefined : null;
    },
  );
}

async function touch(file: string, clock: Clock, released: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(TOUCH_MS, released);
    if (released.aborted) return;
    const now = clock.now() / 1000;
    await utimes(file, now, now).catch(() => undefined);
  }
}

const SOCKET = 'daemon.sock';
const NOT_NOTICED =
  'A second daemon with it would not be noticed, and neither would this one by restore. Choose another state_dir.';
const ASK_MS = 4_000;

/** False as well where there can be no socket, such as on a read-only disk: see `canListenIn`. */
export async function isDaemonRunning(directory: string): Promise<boolean> {
  const socket = await connectIn(directory, SOCKET);
  socket?.destroy();
  return socket !== null;
}

/** Resolves to the daemon's words about itself; `null`: none answers. */
export const askDaemon = (directory: string, clock: Clock): Promise<string | null> =>
  askIn(directory, SOCKET, ASK_MS, clock);

/** A state directory that no other daemon uses meanwhile. */
export class ClaimedDirectory {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #words = () => '';
  /** Somebody has been told the words since the last look. */
  #isVisited = false;
  /** Ends the socket; `null`: there is none. */
  #end: (() => Promise<void>) | null = null;
  #isWarned = false;
  #isGoneTold = false;

  /** Rejects with already_running, and never for a daemon that is dead or a socket that cannot be made: then it goes on without. */
  static async claim(directory: string, clock: Clock, log: Log): Promise<ClaimedDirectory> {
    const claimed = new ClaimedDirectory(directory, clock, log);
    await claimed.#claim();
    return claimed;
  }

  private constructor(directory: string, clock: Clock, log: Log) {
    this.#directory = directory;
    this.#clock = clock;
    this.#log = log;
  }

  /** False where there can be no socket: others can be there without anybody noticing. */
  get isAlone(): boolean {
    return this.#end !== null;
  }

  /** `askDaemon` is told these words from now on. */
  answer(words: () => string): void {
    this.#words = words;
  }

  async giveUp(): Promise<void> {
    await this.#end?.();
  }

  /**
   * Listens again where the directory was taken away meanwhile, or where there could be no socket before. Rejects with
   * already_running when another daemon has it.
   */
  async claimAgain(): Promise<void> {
    const directory = this.#directory;
    this.#isVisited = false;
    const answer = await askDaemon(directory, this.#clock);
    // One that says nothing is starting, or was suspended: the next look tells.
    if (this.#isVisited || answer === '') return;
    if (answer !== null) throw alreadyRunning(directory);
    // The lock would be written to a disk that takes no socket, at each look.
    if (!this.isAlone && !(await canListenIn(directory))) return;
    await this.giveUp();
    this.#end = null;
    await this.#claim();
    if (!this.isAlone || this.#isGoneTold) return;
    // Two machines on one network disk would tell so at each look.
    this.#isGoneTold = true;
    this.#log.warn({ directory }, 'the socket of the state directory was gone, and is made again');
  }

  async #claim(): Promise<void> {
    const directory = this.#directory;
    try {
      await alone(directory, this.#clock, () => this.#listen());
    } catch (err) {
      if (err instanceof Failure) throw err;
      const about = { fault: faultOf(err), directory, hint: NOT_NOTICED };
      if (!this.#isWarned) this.#log.warn(about, 'there can be no socket in the state directory');
      this.#isWarned = true;
    }
  }

  async #listen(): Promise<void> {
    const directory = this.#directory;
    if (await isDaemonRunning(directory)) throw alreadyRunning(directory);
    this.#end = await listenIn(directory, SOCKET, () => {
      this.#isVisited = true;
      return this.#words();
    });
  }
}

/** Without the lock, two daemons that start together would both remove the socket of a dead one. */
async function alone(directory: string, clock: Clock, listen: () => Promise<void>): Promise<void> {
  const start: LockHolder = { kind: 'start', held: new Set() };
  await withLock(join(directory, 'daemon.lock'), clock, start, listen).catch((err) => {
    // Nobody needs a minute to start: the lock is one that cannot be taken away.
    if (!(err instanceof Failure) || err.code !== 'state_busy') throw err;
    return listen();
  });
}

/** The same for what must not be done beside a daemon: rejects with may_be_running as well, unless forced. */
export async function claimAlone(
  directory: string,
  isForced: boolean,
  clock: Clock,
  log: Log,
): Promise<ClaimedDirectory> {
  const claimed = await ClaimedDirectory.claim(directory, clock, log);
  if (claimed.isAlone || isForced) return claimed;
  await claimed.giveUp();
  throw mayBeRunning(directory);
}
