// What the configurations of all suites share.
import { accessSync, constants } from 'node:fs';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

// Set by .ci/run, which adds up the results.
const report = process.env.TEST_REPORT_DIRECTORY;

/** Its tests are in `test/NAME`, unless `dir` says otherwise. */
export const suite = (name: string, options: ViteUserConfig['test']): ViteUserConfig =>
  defineConfig({
    test: {
      reporters: report ? ['default', ['json', { outputFile: `${report}/${name}.json` }]] : ['default'],
      dir: `test/${name}`,
      include: ['**/*.test.ts'],
      hookTimeout: 60_000,
      ...options,
    },
  });

/**
 * For suites beside real parts, which race with each other on a loaded machine: a test that fails is tried once more. `.ci/run` names those
 * that needed it. What talks to nothing but ourselves gets no second try.
 */
export const SECOND_TRY = { retry: 1 };

/** State directories in memory, where the machine has that: a story writes many small files, each of them synced. */
export function inMemory(): { TMPDIR?: string } {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return { TMPDIR: '/dev/shm' };
  } catch {
    return {};
  }
}
