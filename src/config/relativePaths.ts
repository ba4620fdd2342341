// Relative paths in a configuration file count from the folder that it is in; those of the environment from the working
// directory.
import { existsSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import type { Origins } from './faults.ts';

/**
 * Where a path in the file `configuration` leads. A file that is in the working directory only is taken from there:
 * that is what version 0.1.0 did.
 */
export function pathIn(configuration: string, given: string): string {
  if (given === '' || isAbsolute(given) || given.includes('\0')) return given;
  const beside = resolve(dirname(configuration), given);
  return !existsSync(beside) && existsSync(given) ? resolve(given) : beside;
}

/** A path below the folder of the file `configuration`, as it is written there so that both can move; any other as it is. */
export function relativeTo(configuration: string, given: string): string {
  const below = relative(resolve(dirname(configuration)), given);
  return isAbsolute(given) && below !== '' && !below.startsWith('..') ? `./${below}` : given;
}

/** Where the path that a key gives leads; `warnings` grows by those that are not where the file is. */
export type Locate = (key: string, given: string) => string;

export function locateFrom(configuration: string | undefined, origins: Origins, warnings: string[]): Locate {
  return (key, given) => {
    if (configuration === undefined || origins.get(key) !== 'file') return given;
    const path = pathIn(configuration, given);
    if (path !== given && path === resolve(given) && path !== resolve(dirname(configuration), given))
      warnings.push(
        `${key} is taken from the working directory. A relative path counts from the folder of the configuration: move it there, or write the whole path.`,
      );
    return path;
  };
}
