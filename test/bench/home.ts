// The home of a bench: a folder with a configuration for any number of accounts, and a state directory that can be put back.
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Broker } from './broker.ts';
import { type Child, PROGRAM, type Provider, start, wait } from './children.ts';
import { ratios, spread } from './numbers.ts';

export interface Bench {
  readonly folder: string;
  readonly broker: Broker;
  readonly provider: Provider;
}

/** `what` as a row of the table of results. */
export interface Row {
  readonly what: string;
  readonly ours: string;
  readonly floor?: string;
  readonly ratio?: string;
  readonly limit: string;
}

/** A row for pairs of runs. */
export const compared = (
  what: string,
  { ours, floor, limit }: { ours: readonly number[]; floor: readonly number[]; limit: string },
): Row => ({
  what,
  ours: spread(ours),
  floor: spread(floor),
  ratio: spread(ratios(ours, floor), 2),
  limit,
});

export type Home = Awaited<ReturnType<typeof openHome>>;

export async function openHome(
  { folder, broker, provider }: Bench,
  name: string,
  { accounts = 1, concurrency = 4, historyMonths = 24, schedule = '23 3 1 1 *', httpPort = 0 } = {},
) {
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
      allow_fast_schedule: true,
      timezone: 'UTC',
      reading_closes: 'same_day',
      jitter_seconds: 0,
      history_since: monthsAgo(historyMonths),
      concurrency,
    },
    mqtt: { url: broker.url, base_topic: name },
    http: httpPort === 0 ? false : { listen: `127.0.0.1:${httpPort}` },
    state_dir: state,
    log: { level: 'info' },
  };
  // JSON is YAML.
  await writeFile(config, JSON.stringify(settings));
  const run = (nodeOptions: readonly string[] = [], env: NodeJS.ProcessEnv = {}) =>
    start([...nodeOptions, PROGRAM, 'run', '--config', config], env);
  async function forgetPolls(): Promise<void> {
    const path = join(state, 'journal.json');
    // Without the check value of what it was.
    const { check: _, ...journal } = JSON.parse(await readFile(path, 'utf8'));
    for (const record of Object.values<object>(journal.accounts))
      Object.assign(record, { lastPollAt: null, lastSuccessAt: null });
    await writeFile(path, JSON.stringify(journal));
  }
  return {
    /** Its base topic. */
    base: name,
    run,
    isState: isStateBelow(name),
    /** The next start polls all accounts at once. */
    forgetPolls,
    /** Runs once from nothing, so that tokens, context and ledger are on disk; resolves to what was published. */
    async prime(): Promise<[string, string][]> {
      const isMonth = (topic: string) => topic.startsWith(`${name}/meter/`) && topic.endsWith('/usage/month');
      const done = broker.heard(isMonth);
      const child = run();
      await done;
      await wait(1_000);
      await child.kill('SIGTERM');
      await cp(state, `${state}.primed`, { recursive: true });
      return broker.retained(`${name}/#`, 'homeassistant/device/#');
    },
    /** The state directory as it was after `prime`; with `pollDue` the next start polls at once. */
    async restore({ pollDue }: { readonly pollDue: boolean }) {
      await rm(state, { recursive: true, force: true });
      await cp(`${state}.primed`, state, { recursive: true });
      if (pollDue) await forgetPolls();
    },
  };
}

/** Starts a program, and resolves to the milliseconds until it has said what is waited for. */
export async function untilHeard({ broker }: Bench, isIt: (topic: string) => boolean, begin: () => Child) {
  const heard = broker.heard(isIt);
  const child = begin();
  return { child, wall: (await heard) - child.startedAt };
}

export const isStateBelow = (base: string) => (topic: string) =>
  topic.startsWith(`${base}/meter/`) && topic.endsWith('/state');

export function monthsAgo(months: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)).toISOString().slice(0, 10);
}
