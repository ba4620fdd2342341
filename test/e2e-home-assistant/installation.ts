// Before all tests: gets a Home Assistant onto this machine, or fails with the sentence that says why there is none.
import { spawn } from 'node:child_process';
import { basename, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ROOT } from '../support/sources.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The Python that has Home Assistant. */
    python: string;
    /** Such as `2026.11.0`. */
    release: string;
  }
}

export async function setup(project: TestProject): Promise<void> {
  const script = spawn(join(ROOT, 'scripts/home-assistant.sh'), { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  script.stdout.on('data', (bytes) => (output += String(bytes)));
  script.stderr.on('data', (bytes) => {
    errors += String(bytes);
    process.stderr.write(bytes);
  });
  const code = await new Promise((resolve, reject) => {
    script.once('error', reject);
    script.once('close', resolve);
  });
  if (code !== 0) throw new Error(errors.trim().split('\n').at(-1));
  const python = output.trim();
  project.provide('python', python);
  // It lives in a virtual environment that is named after the release.
  project.provide('release', basename(join(python, '../..')));
}
