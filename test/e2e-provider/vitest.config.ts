import { defineConfig } from 'vitest/config';

// Set by .ci/run, which adds up the results.
const report = process.env.TEST_REPORT_DIRECTORY;

export default defineConfig({
  test: {
    reporters: report ? ['default', ['json', { outputFile: `${report}/e2e-provider.json` }]] : ['default'],
    dir: 'test/e2e-provider',
    include: ['**/*.test.ts'],
    globalSetup: 'test/e2e-provider/parts.ts',
    testTimeout: 240_000,
    hookTimeout: 120_000,
    // What is waited for comes; how soon depends on what else the machine does.
    env: { WAIT_TIMEOUT_MS: process.env.WAIT_TIMEOUT_MS ?? '60000' },
    // Each test has a realm of its own, and most of its time is spent waiting for tokens to grow old.
    maxWorkers: 4,
  },
});
