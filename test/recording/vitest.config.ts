import { suite } from '../support/suite.ts';

// Not a suite of tests: scripts/upgrade-recording.sh runs it to make fixtures.
export default suite('recording', {
  include: ['**/*.record.ts'],
  testTimeout: 600_000,
  env: { WAIT_TIMEOUT_MS: '60000' },
  fileParallelism: false,
});
