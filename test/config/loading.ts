// Loads a configuration from text, with a clock that stands still and files from a table or the disk.
import { readFile as readDisk, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach } from 'vitest';
import { ConfigInvalid } from '../../src/config/faults.ts';
import { type Loaded, type LoadOptions, loadConfig } from '../../src/config/load.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { openStack } from '../support/stack.ts';

export const NOW = Date.UTC(2025, 5, 15, 12);

export const PROVIDER = `provider:
  issuer: https://id.example.org/auth/realms/energy
  api_url: https://api.example.org/api/v1
  client_id: self-care
`;

/** Loads as it is; add to it. */
export const BASE = `${PROVIDER}accounts:
  - username: me@example.org
    password: hunter2-of-the-heat
`;

type More = Partial<Omit<LoadOptions, 'path'>>;

/** `readFile`: of all other files than the configuration itself. */
export function load(
  yaml: string | undefined,
  env: Record<string, string> = {},
  { readFile = (path) => readDisk(path), ...more }: More = {},
): Promise<Loaded> {
  return loadConfig({
    path: yaml === undefined ? undefined : 'config.yaml',
    env,
    now: () => NOW,
    scrubber: createScrubber(),
    readFile: async (path) => (path === 'config.yaml' ? (yaml ?? '') : readFile(path)),
    ...more,
  });
}

/** The refusal; fails when there is none. */
export async function refusal(...given: Parameters<typeof load>): Promise<ConfigInvalid> {
  try {
    await load(...given);
  } catch (error) {
    if (error instanceof ConfigInvalid) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

/** The paths of its faults, in their order. */
export async function faultPaths(...given: Parameters<typeof load>): Promise<string[]> {
  return (await refusal(...given)).faults.map(({ path }) => path);
}

/** A directory for the tests of one file, made anew for each. Call it once at the top of the file. */
export function folderOfFiles() {
  let directory = '';
  beforeEach(async () => {
    directory = await openStack().folder();
  });
  return {
    path: () => directory,
    /** Resolves to its path. */
    async file(name: string, content: string | Uint8Array): Promise<string> {
      const path = join(directory, name);
      await writeFile(path, content);
      return path;
    },
  };
}
