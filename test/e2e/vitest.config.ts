import { defineConfig } from 'vitest/config';

// Set by .ci/run, which adds up the results.
const report = process.env.TEST_REPORT_DIRECTORY;

export default defineConfig({
  test: {
    reporters: report ? ['default', ['json', { outputFile: `${report}/e2e.json` }]] : ['default'],
    dir: 'test/e2e',
    include: ['**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
