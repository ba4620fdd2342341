// Tests do not run in the root: a person who works here may have a configuration and a state directory of their own there.
import { join } from 'node:path';
import { ROOT } from './sources.ts';

process.chdir(join(ROOT, 'test'));
