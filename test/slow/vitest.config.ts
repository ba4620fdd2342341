import { inMemory, suite } from '../support/suite.ts';

export default suite('slow', {
  testTimeout: 1_200_000,
  // Each file in a process of its own, on as many cores as there are.
  maxWorkers: '100%',
  pool: 'forks',
  // The year looks at the heap after a collection.
  execArgv: ['--expose-gc'],
  env: { TZ: 'America/St_Johns', ...inMemory() },
});
