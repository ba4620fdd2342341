// Out of the rights of root, which the Home Assistant app is started with because /data and its options belong to root.
import { lchown, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The user of the container image. */
const USER = 10_001;

/** To be called when the options have been read: they can be read by root only. Does nothing for anyone else than root. */
export async function leaveRoot(stateDirectory: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  await mkdir(stateDirectory, { recursive: true });
  const within = await readdir(stateDirectory, { recursive: true });
  for (const path of ['', ...within]) await lchown(join(stateDirectory, path), USER, USER);
  process.setgroups?.([USER]);
  process.setgid?.(USER);
  process.setuid?.(USER);
}
