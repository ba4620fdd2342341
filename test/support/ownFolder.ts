// Where tests run: not in the root, in which whoever works here may have a configuration and a state directory of their own.
import { join } from 'node:path';
import { ROOT } from './sources.ts';

process.chdir(join(ROOT, 'test'));
