// A private file is replaced whole: after a crash there is the old one or the new one, never a part.
import { open, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import writeFileAtomic from 'write-file-atomic';

/** `brief`: whole and private, but a power cut may bring the previous one back. It costs a tenth of a durable write. */
export type Care = 'durable' | 'brief';

const PRIVATE_FILE = 0o600;

/** Its folder is there. Rejects with the system's error. */
export async function replaceWhole(file: string, text: string, care: Care): Promise<void> {
  if (care === 'durable') {
    await writeFileAtomic(file, text, { mode: PRIVATE_FILE });
    await syncDirectory(dirname(file));
    return;
  }
  // Written with each poll of each account: write-file-atomic makes eight more calls, about the path and the old file.
  const draft = `${file}.0`;
  await writeFile(draft, text, { mode: PRIVATE_FILE });
  await rename(draft, file);
}

// The rename itself is only durable once the directory is synced: after a power cut the old pair of tokens would be back.
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}
