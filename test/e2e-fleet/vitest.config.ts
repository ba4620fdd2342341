import { SECOND_TRY, suite } from '../support/suite.ts';

export default suite('e2e-fleet', {
  ...SECOND_TRY,
  // 1,000 faults take an hour.
  testTimeout: 4 * 3_600_000,
  hookTimeout: 120_000,
  // What is waited for comes; how soon depends on what else the machine does.
  env: { WAIT_TIMEOUT_MS: '120000' },
  fileParallelism: false,
});
