import { inMemory, suite } from './support/suite.ts';

export default suite('unit', {
  dir: 'test',
  // What talks to a real part is a suite of its own.
  exclude: ['e2e*/**', 'image/**', 'slow/**', '**/node_modules/**'],
  // Nothing is mocked, so files need not be kept apart: it takes half the time.
  isolate: false,
  // By default one core is left to vitest itself, which has little to do: two cores would run one worker.
  maxWorkers: '100%',
  setupFiles: ['test/support/ownFolder.ts'],
  // What was compiled once, by its content: a fifth of the processor time of a second run.
  experimental: { fsModuleCache: true },
  testTimeout: 60_000,
  env: { TZ: 'America/St_Johns', ...inMemory() },
});
