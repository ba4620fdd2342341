// A disk of its own of half a megabyte, which a test can fill up: for real, root included.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { mkdtemp, open, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
    /** After `fill`: room for a part of a document. */
    async giveBackBlock() {
      await truncate(filler, (await stat(filler)).size - BLOCK_BYTES);
    },
    free: () => rm(filler, { force: true }),
    async stop() {
      unmount(path);
      await rm(path, { recursive: true, force: true });
    },
  };
}
