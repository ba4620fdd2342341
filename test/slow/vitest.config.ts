import { defineConfig } from 'vitest/config';

// Set by .ci/run, which adds up the results.
const report = process.env.TEST_REPORT_DIRECTORY;

export default defineConfig({
  test: {
    reporters: report ? ['default', ['json', { outputFile: `${report}/slow.json` }]] : ['default'],
    dir: 'test/slow',
    include: ['**/*.test.ts'],
    // A machine that is busy with something else may be late once; a fault is there twice.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 1_200_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    pool: 'forks',
    // The year looks at the heap after a collection.
    execArgv: ['--expose-gc'],
    env: { TZ: 'America/St_Johns' },
  },
});
