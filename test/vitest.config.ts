import { accessSync, constants } from 'node:fs';
import { defineConfig } from 'vitest/config';

// Set by .ci/run, which adds up the results.
const report = process.env.TEST_REPORT_DIRECTORY;

export default defineConfig({
  test: {
    reporters: report ? ['default', ['json', { outputFile: `${report}/unit.json` }]] : ['default'],
    dir: 'test',
    include: ['**/*.test.ts'],
    exclude: [
      'e2e/**',
      'e2e-home-assistant/**',
      'e2e-provider/**',
      'image/**',
      'slow/**',
      '**/node_modules/**',
    ],
    // Nothing is mocked, so files need not be kept apart: it takes half the time.
    isolate: false,
    // By default one core is left to vitest itself, which has little to do: two cores would run one worker.
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    env: { TZ: 'America/St_Johns', ...inMemory() },
  },
});

/** State directories in memory, where the machine has that: a story writes many small files, each of them synced. */
function inMemory(): { TMPDIR?: string } {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return { TMPDIR: '/dev/shm' };
  } catch {
    return {};
  }
}
