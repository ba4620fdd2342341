// Before all tests: gets a Home Assistant onto this machine, or fails with the sentence that says why there is none.
import { basename, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { told } from '../support/scripts.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The Python that has Home Assistant. */
    python: string;
    /** Such as `2026.11.0`. */
    release: string;
  }
}

export async function setup(project: TestProject): Promise<void> {
  const python = await told('home-assistant.sh');
  project.provide('python', python);
  // It lives in a virtual environment that is named after the release.
  project.provide('release', basename(join(python, '../..')));
}
