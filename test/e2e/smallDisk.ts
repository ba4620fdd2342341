// A disk of its own of half a megabyte, which a test can fill up or make read-only: for real, root included.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../support/waitFor.ts';

export type SmallDisk = Awaited<ReturnType<typeof openSmallDisk>>;

const SIZE = 'size=512k';
const BLOCK_BYTES = 4096;

const mount = (...args: string[]) => execFileSync('mount', args, { stdio: 'pipe' });
const unmount = (path: string) => execFileSync('umount', ['-l', path], { stdio: 'pipe' });

/** Whether this machine lets us mount one; says so where it does not. */
export function canMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'heat2mqtt-mount-'));
  try {
    mount('-t', 'tmpfs', '-o', SIZE, 'heat2mqtt', path);
    unmount(path);
    return true;
  } catch {
    process.stderr.write('\nSKIPPED: no right to mount a small disk here, so none is filled up\n\n');
    return false;
  } finally {
    execFileSync('rmdir', [path], { stdio: 'pipe' });
  }
}

export async function openSmallDisk() {
  const path = await mkdtemp(join(tmpdir(), 'heat2mqtt-disk-'));
  mount('-t', 'tmpfs', '-o', SIZE, 'heat2mqtt', path);
  const filler = join(path, 'filler');
  return {
    path,
    /** Until not one more byte fits. */
    async fill() {
      const file = await open(filler, 'a');
      try {
        for (;;) await file.write(Buffer.alloc(BLOCK_BYTES));
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== 'ENOSPC') throw err;
      } finally {
        await file.close();
      }
    },
    free: () => rm(filler, { force: true }),
    /** The kernel refuses it while a file is open for writing. */
    readOnly: (isReadOnly: boolean) =>
      waitFor('a moment without a write', () => {
        try {
          mount('-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, path);
          return true;
        } catch (err) {
          if (!String(err).includes('busy')) throw err;
          return false;
        }
      }),
    async stop() {
      unmount(path);
      await rm(path, { recursive: true, force: true });
    },
  };
}
