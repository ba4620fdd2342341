import { suite } from '../support/suite.ts';

export default suite('image', {
  globalSetup: 'test/image/build.ts',
  testTimeout: 60_000,
  fileParallelism: false,
});
