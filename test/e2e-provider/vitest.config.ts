import { SECOND_TRY, suite } from '../support/suite.ts';

export default suite('e2e-provider', {
  ...SECOND_TRY,
  globalSetup: 'test/e2e-provider/parts.ts',
  testTimeout: 240_000,
  hookTimeout: 120_000,
  // What is waited for comes; how soon depends on what else the machine does.
  env: { WAIT_TIMEOUT_MS: process.env.WAIT_TIMEOUT_MS ?? '60000' },
  // Each test has a realm of its own, and most of its time is spent waiting for tokens to grow old.
  maxWorkers: 4,
});
