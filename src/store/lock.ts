// A lock between processes on one state directory: a file that its holder touches while it holds it.
// No process ids: two containers on one volume count their processes separately.
import { readFile, rm, stat, utimes } from 'node:fs/promises';
import type { Clock } from '../foundation/clock.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { create } from './privateFiles.ts';

export class StateBusy extends Failure {
  readonly code = 'state_busy';
  readonly exitCode = EXIT.unexpected;

  constructor() {
    super('Another heat2mqtt on this state directory is signing in at the moment.', {
      retry: 'soon',
      hint: 'Wait until it is done, or end it.',
    });
  }
}

export interface LockHolder {
  /** Of this process, and no other. */
  readonly id: string;
  /** The locks that it holds. */
  readonly held: Set<string>;
}

const LOOK_MS = 100;
const TOUCH_MS = 2_000;
// Whoever died while holding it touches it no more.
const STALE_MS = 10_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Runs the step while no other process runs one under the lock `file`. `isHeld` is false where no lock can be made,
 * such as on a full disk or without the permission to write. Rejects with StateBusy after a minute.
 */
export async function exclusively<T>(
  file: string,
  clock: Clock,
  { id, held }: LockHolder,
  step: (isHeld: boolean) => Promise<T>,
): Promise<T> {
  if (!(await acquire(file, id, clock))) return step(false);
  held.add(file);
  const released = new AbortController();
  const touching = touch(file, clock, released.signal);
  try {
    return await step(true);
  } finally {
    released.abort();
    await touching;
    held.delete(file);
    // Whoever was suspended for long may have lost it to another process.
    const isOurs = (await readFile(file, 'utf8').catch(() => '')) === id;
    if (isOurs) await rm(file, { force: true }).catch(() => undefined);
  }
}

async function acquire(file: string, id: string, clock: Clock): Promise<boolean> {
  const began = clock.monotonic();
  let touched: number | null = null;
  let touchedAt = began;
  for (;;) {
    const code = await create(file, id).then(
      () => null,
      (err: NodeJS.ErrnoException) => err.code,
    );
    if (code !== 'EEXIST') return code === null;
    const now = clock.monotonic();
    // Compared with itself only: the clock of the file system may be another one, and ours may jump.
    const seen = await stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
    if (seen !== touched) [touched, touchedAt] = [seen, now];
    else if (now - touchedAt >= STALE_MS) await rm(file, { force: true }).catch(() => undefined);
    if (now - began >= LONGEST_WAIT_MS) throw new StateBusy();
    await clock.sleep(LOOK_MS);
  }
}

async function touch(file: string, clock: Clock, released: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(TOUCH_MS, released);
    if (released.aborted) return;
    const now = clock.now() / 1000;
    await utimes(file, now, now).catch(() => undefined);
  }
}
