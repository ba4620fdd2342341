import { defineConfig } from 'vitest/config';

// Set by .ci/run, which adds up the results.
const report = process.env.TEST_REPORT_DIRECTORY;

export default defineConfig({
  test: {
    reporters: report ? ['default', ['json', { outputFile: `${report}/image.json` }]] : ['default'],
    dir: 'test/image',
    include: ['**/*.test.ts'],
    globalSetup: 'test/image/build.ts',
    testTimeout: 60_000,
    fileParallelism: false,
  },
});
