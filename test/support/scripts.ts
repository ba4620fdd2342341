// The scripts that get a real part onto this machine, before all tests of a suite.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './sources.ts';

/** What the script says on its output, its errors being shown; rejects with the last sentence of them. */
export async function told(name: string): Promise<string> {
  const script = promisify(execFile)(join(ROOT, 'scripts', name));
  script.child.stderr?.pipe(process.stderr);
  return script.then(
    ({ stdout }) => stdout.trim(),
    ({ stderr }) => {
      throw new Error(String(stderr).trim().split('\n').at(-1));
    },
  );
}
