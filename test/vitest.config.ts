import { availableParallelism } from 'node:os';
import { inMemory, suite } from './support/suite.ts';

// Most code of a test runs a few times, and its optimization costs more than it brings: an eighth of the processor time. Node 22 and later
// have a compiler in between for that, and do not start with this option.
const isLateOptimizer = process.versions.node.startsWith('20.');
const execArgv = isLateOptimizer ? ['--interrupt-budget=1000000'] : [];

export default suite('unit', {
  dir: 'test',
  // What talks to a real part is a suite of its own.
  exclude: ['e2e*/**', 'image/**', 'slow/**', '**/node_modules/**'],
  // Nothing is mocked, so files need not be kept apart: it takes half the time.
  isolate: false,
  execArgv,
  // vitest itself has little to do, and now and then a test waits for the file system, for another process or for a real timer.
  maxWorkers: availableParallelism() + 1,
  setupFiles: ['test/support/ownFolder.ts'],
  // What was compiled once, by its content: a fifth of the processor time of a second run.
  experimental: { fsModuleCache: true },
  testTimeout: 60_000,
  env: { TZ: 'America/St_Johns', ...inMemory() },
});
