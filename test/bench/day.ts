// A household's day, from its parts: an idle minute, a poll without news, and a refresh. What each costs is the difference to the idle one.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cpuMs, PIECES, residentMb, startProvider, wait } from './children.ts';
import { type Bench, openHome } from './home.ts';
import { table } from './numbers.ts';

const MINUTES_A_DAY = 24 * 60;
const POLLS_A_DAY = 6;
// Access tokens of five minutes, refreshed at 84 % of their life.
const REFRESHES_A_DAY = Math.round((MINUTES_A_DAY / 5) * (1 / 0.84));
const LONG_SECONDS = 86_400;
const SHORT_SECONDS = 10;
const SETTLING_MS = 10_000;
const NEVER = '23 3 1 1 *';
const EVERY_FIVE_SECONDS = '*/5 * * * * *';

interface Costs {
  readonly cpu: number;
  readonly syncs: number;
  readonly bytes: number;
  readonly resident: number;
  readonly usage: number;
  readonly refreshes: number;
}

export async function benchDay(bench: Bench, ms: number): Promise<string> {
  const idle = await measure(bench, 'idle', ms, { schedule: NEVER, tokenSeconds: LONG_SECONDS });
  const polling = await measure(bench, 'polling', ms, {
    schedule: EVERY_FIVE_SECONDS,
    tokenSeconds: LONG_SECONDS,
  });
  const refreshing = await measure(bench, 'refreshing', ms, { schedule: NEVER, tokenSeconds: SHORT_SECONDS });
  const minutes = ms / 60_000;
  const costs = (['cpu', 'syncs', 'bytes'] as const).map((kind) => {
    const minute = idle[kind] / minutes;
    const poll = (polling[kind] - idle[kind]) / polling.usage;
    const refresh = (refreshing[kind] - idle[kind]) / refreshing.refreshes;
    const day = minute * MINUTES_A_DAY + poll * POLLS_A_DAY + refresh * REFRESHES_A_DAY;
    return [kind, ...[minute, poll, refresh, day].map((value) => value.toFixed(1))];
  });
  const head = [
    'CPU ms, fsyncs, bytes',
    'an idle minute',
    'a poll without news',
    'a refresh',
    'a day (six polls, tokens of 5 minutes)',
  ];
  const resident = ['resident, MB', idle.resident, polling.resident, refreshing.resident, '–'].map(String);
  return table(head, [...costs, resident]);
}

async function measure(
  shared: Bench,
  name: string,
  ms: number,
  { schedule, tokenSeconds }: { readonly schedule: string; readonly tokenSeconds: number },
): Promise<Costs> {
  const provider = await startProvider({ TOKEN_SECONDS: String(tokenSeconds) });
  const bench = { ...shared, provider };
  const home = await openHome(bench, `day-${name}`, { schedule, historyMonths: 36 });
  await home.prime();
  await home.restore({ pollDue: false });
  const file = join(bench.folder, `syncs-${name}`);
  const child = home.run(['--import', join(PIECES, 'syncs.mjs')], { BENCH_SYNCS_FILE: file });
  await wait(SETTLING_MS);
  const before = { cpu: cpuMs(child.pid), ...(await syncsIn(file)) };
  await provider.counts();
  await wait(ms);
  const { counts } = await provider.counts();
  const after = { cpu: cpuMs(child.pid), ...(await syncsIn(file)) };
  const resident = Math.round(residentMb(child.pid));
  await child.kill('SIGTERM');
  provider.stop();
  return {
    cpu: after.cpu - before.cpu,
    syncs: after.syncs - before.syncs,
    bytes: after.bytes - before.bytes,
    resident,
    usage: counts.usage ?? 0,
    refreshes: counts.refreshes ?? 0,
  };
}

/** The program has written nothing yet: none. */
const syncsIn = (file: string): Promise<{ readonly syncs: number; readonly bytes: number }> =>
  readFile(file, 'utf8').then(JSON.parse, () => ({ syncs: 0, bytes: 0 }));
