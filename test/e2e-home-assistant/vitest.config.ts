import { defineConfig } from 'vitest/config';

// Set by .ci/run, which adds up the results.
const report = process.env.TEST_REPORT_DIRECTORY;

export default defineConfig({
  test: {
    reporters: report
      ? ['default', ['json', { outputFile: `${report}/e2e-home-assistant.json` }]]
      : ['default'],
    dir: 'test/e2e-home-assistant',
    include: ['**/*.test.ts'],
    globalSetup: 'test/e2e-home-assistant/installation.ts',
    testTimeout: 240_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
