import { SECOND_TRY, suite } from '../support/suite.ts';

export default suite('e2e-home-assistant', {
  ...SECOND_TRY,
  globalSetup: 'test/e2e-home-assistant/installation.ts',
  testTimeout: 240_000,
  fileParallelism: false,
});
