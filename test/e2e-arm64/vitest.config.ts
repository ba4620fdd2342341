import { suite } from '../support/suite.ts';

// Emulation is some ten times slower.
export default suite('e2e-arm64', {
  testTimeout: 300_000,
  env: { WAIT_TIMEOUT_MS: '240000' },
  fileParallelism: false,
});
