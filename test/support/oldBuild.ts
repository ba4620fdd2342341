// The program of an earlier commit, built from the history of this clone, where that has it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './sources.ts';

const CANNOT_BE_HAD = 69;

/** What is run; or, in a sentence, why it cannot be had. Rejects with any other fault. */
export async function oldBuild(
  commit: string,
): Promise<{ readonly entry: string | null; readonly why: string }> {
  try {
    const { stdout } = await promisify(execFile)(join(ROOT, 'scripts/old-build.sh'), [commit]);
    return { entry: stdout.trim(), why: '' };
  } catch (err) {
    const { code, stderr } = Object(err);
    if (code !== CANNOT_BE_HAD) throw err;
    return { entry: null, why: String(stderr).trim() };
  }
}
