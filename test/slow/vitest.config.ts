import { defineConfig } from 'vitest/config';

// Set by .ci/run, which adds up the results.
const report = process.env.TEST_REPORT_DIRECTORY;

export default defineConfig({
  test: {
    reporters: report ? ['default', ['json', { outputFile: `${report}/slow.json` }]] : ['default'],
    dir: 'test/slow',
    include: ['**/*.test.ts'],
    testTimeout: 1_200_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    pool: 'forks',
    // The year looks at the heap after a collection.
    execArgv: ['--expose-gc'],
    env: { TZ: 'America/St_Johns' },
  },
});
