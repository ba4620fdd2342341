import { SECOND_TRY, suite } from '../support/suite.ts';

export default suite('e2e-page', {
  ...SECOND_TRY,
  testTimeout: 120_000,
  env: { WAIT_TIMEOUT_MS: '30000' },
  fileParallelism: false,
});
