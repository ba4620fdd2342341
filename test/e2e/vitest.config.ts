import { SECOND_TRY, suite } from '../support/suite.ts';

export default suite('e2e', {
  ...SECOND_TRY,
  testTimeout: 240_000,
  hookTimeout: 120_000,
  // What is waited for comes; how soon depends on what else the machine does.
  env: { WAIT_TIMEOUT_MS: '60000' },
  fileParallelism: false,
});
