// The home of a bench: a folder with a configuration for any number of accounts, and a state directory that can be put back.
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Broker } from './broker.ts';
import { type Child, PROGRAM, type Provider, start } from './children.ts';

export interface HomeOptions {
  readonly name: string;
  readonly accounts: number;
  readonly broker: Broker;
  readonly provider: Provider;
  readonly concurrency?: number;
  readonly historySince?: string;
  readonly schedule?: string;
}

export interface Home {
  /** Its base topic. */
  readonly base: string;
  readonly state: string;
  run(nodeOptions?: readonly string[], env?: NodeJS.ProcessEnv): Child;
  /** Keeps the state directory as it is now, for `restore`. */
  keep(): Promise<void>;
  restore(): Promise<void>;
  /** Makes the next start poll at once: what was done when is forgotten. */
  forgetPolls(): Promise<void>;
}

export async function openHome(folder: string, options: HomeOptions): Promise<Home> {
  const { name, accounts, broker, provider, concurrency = 4, schedule = '23 3 1 1 *' } = options;
  const here = join(folder, name);
  const state = join(here, 'state');
  const config = join(here, 'config.yaml');
  await mkdir(here, { recursive: true });
  const settings = {
    version: 1,
    provider: {
      issuer: `${provider.url}/realms/bench`,
      api_url: `${provider.url}/api/v1`,
      client_id: 'bench',
    },
    accounts: Array.from({ length: accounts }, (_, n) => ({
      id: accounts === 1 ? 'home' : `a${n}`,
      username: `user${n}`,
      password: `invented-password-${n}`,
    })),
    usage: {
      schedule,
      timezone: 'UTC',
      jitter_seconds: 0,
      history_since: options.historySince ?? monthsAgo(24),
      concurrency,
    },
    mqtt: { url: broker.url, base_topic: name },
    http: false,
    state_dir: state,
    log: { level: 'info' },
  };
  // JSON is YAML.
  await writeFile(config, JSON.stringify(settings));
  return {
    base: name,
    state,
    run: (nodeOptions = [], env = {}) => start([...nodeOptions, PROGRAM, 'run', '--config', config], env),
    keep: () => cp(state, `${state}.kept`, { recursive: true }),
    async restore() {
      await rm(state, { recursive: true, force: true });
      await cp(`${state}.kept`, state, { recursive: true });
    },
    async forgetPolls() {
      const path = join(state, 'journal.json');
      const journal = JSON.parse(await readFile(path, 'utf8'));
      for (const record of Object.values<object>(journal.accounts))
        Object.assign(record, { lastPollAt: null, lastSuccessAt: null });
      await writeFile(path, JSON.stringify(journal));
    },
  };
}

export function monthsAgo(months: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)).toISOString().slice(0, 10);
}
