// Many accounts in one process: polls per second, memory for each further account, and how long the loop is held up.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cpuMs, memoryOf, type Provider, startProvider } from './children.ts';
import { type Home, type HomeOptions, monthsAgo, openHome } from './home.ts';
import { mb, median, ratios, table } from './numbers.ts';
import { type Bench, startFloor, writeFloor } from './startUp.ts';

const CONCURRENCY = 16;
const LONGEST_MS = 300_000;
/** Of a daemon that has been running for some polls, and is warm. */
const STEADY_TICKS = 3;
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export async function benchAccounts(bench: Bench, sizes: readonly number[]): Promise<string> {
  const rows: string[][] = [];
  let before: { accounts: number; resident: number } | null = null;
  for (const accounts of sizes) {
    const { first, poll, steady, resident, delayMs } = await many(bench, accounts);
    const { floorPolls } = poll;
    const each = before && ((resident - before.resident) / (accounts - before.accounts) / 1000).toFixed(1);
    before = { accounts, resident };
    rows.push([
      String(accounts),
      first.toFixed(1),
      accounts === 1 ? '–' : poll.perSecond.toFixed(0),
      accounts === 1 ? '–' : floorPolls.toFixed(0),
      accounts === 1 ? '–' : (poll.perSecond / floorPolls).toFixed(2),
      accounts === 1 ? '–' : steady.perSecond.toFixed(0),
      accounts === 1 ? '–' : steady.ratio.toFixed(2),
      mb(resident).toFixed(0),
      each ?? '–',
      delayMs.toFixed(0),
      poll.cpuMs.toFixed(2),
    ]);
  }
  const head = [
    'accounts',
    'first start to the last state, s',
    'polls/s',
    'floor',
    'ratio',
    'polls/s of later ticks',
    'ratio',
    'resident, MB',
    'kB for each further account',
    'loop delay p99, ms',
    'CPU for each poll, ms',
  ];
  return table(head, rows);
}

async function oneTick(provider: Provider, accounts: number): Promise<number> {
  await provider.asked(accounts, LONGEST_MS);
  const { firstUsageAt, lastUsageAt } = await provider.counts();
  return (accounts / (lastUsageAt - firstUsageAt)) * 1000;
}

/** The same home for the same number of accounts, with another schedule if one is given. */
const crowdedHome = (
  { folder, broker }: Bench,
  options: Pick<HomeOptions, 'provider' | 'accounts' | 'schedule'>,
): Promise<Home> =>
  openHome(folder, {
    ...options,
    broker,
    name: `many${options.accounts}`,
    concurrency: CONCURRENCY,
    historySince: monthsAgo(1),
  });

/** Polls per second of each tick after the first two. */
async function steadily(bench: Bench, provider: Provider, accounts: number): Promise<number[]> {
  const seconds = accounts > 1_000 ? 60 : 15;
  const schedule = seconds === 60 ? '0 * * * * *' : `*/${seconds} * * * * *`;
  const home = await crowdedHome(bench, { provider, accounts, schedule });
  await provider.counts();
  const child = home.run();
  const ticks: number[] = [];
  for (let n = 0; n < STEADY_TICKS + 2; n += 1) ticks.push(await oneTick(provider, accounts));
  await child.kill('SIGTERM');
  return ticks.slice(2);
}

async function many(bench: Bench, accounts: number) {
  const { broker, folder } = bench;
  const provider = await startProvider();
  const home = await crowdedHome(bench, { provider, accounts });
  const delayFile = join(folder, `delay-${accounts}`);
  const env = { BENCH_DELAY_FILE: delayFile };
  const isState = (topic: string) => topic.startsWith(`${home.base}/meter/`) && topic.endsWith('/state');

  /** Runs until `count` messages of meter states have come. */
  async function until(count: number, child: ReturnType<typeof home.run>): Promise<number> {
    let states = 0;
    const heard = broker.heard((topic) => {
      if (isState(topic)) states += 1;
      return states >= count;
    });
    const late = wait(LONGEST_MS).then(() => Number.NaN);
    return ((await Promise.race([heard, late])) - child.startedAt) / 1000;
  }

  const beginning = home.run();
  const first = await until(accounts, beginning);
  await wait(1_000);
  await beginning.kill('SIGTERM');
  await home.forgetPolls();
  await provider.counts();
  const child = home.run(['--import', join(import.meta.dirname, 'delay.mjs')], env);
  await provider.asked(accounts, LONGEST_MS);
  const times = await provider.counts();
  const span = (times.lastUsageAt - times.firstUsageAt) / 1000;
  const cpu = cpuMs(child.pid);
  await wait(10_000);
  const { resident } = memoryOf(child.pid);
  await child.kill('SIGTERM');
  const steady = await steadily(bench, provider, accounts);
  const delayMs = Number(await readFile(delayFile, 'utf8').catch(() => 'NaN'));

  const said = (await broker.retained(`${home.base}/#`)).filter(([topic]) => topic.includes('/meter/M0/'));
  const floorBench = { ...bench, provider };
  const task = await writeFloor(floorBench, home, said, accounts, CONCURRENCY);
  await provider.counts();
  const floor = startFloor(task);
  while (!floor.output.includes('done') && floor.process.exitCode === null) await wait(20);
  if (!floor.output.includes('done')) throw new Error(`the floor failed: ${floor.output.slice(0, 400)}`);
  const floorTimes = await provider.counts();
  const floorSteady: number[] = [];
  for (let n = 0; n < STEADY_TICKS; n += 1) {
    floor.process.kill('SIGUSR2');
    floorSteady.push(await oneTick(provider, accounts));
  }
  await floor.kill();
  provider.stop();
  const floorSpan = (floorTimes.lastUsageAt - floorTimes.firstUsageAt) / 1000;
  return {
    first,
    resident,
    delayMs,
    steady: { perSecond: median(steady), ratio: median(ratios(steady, floorSteady)) },
    poll: { perSecond: accounts / span, floorPolls: accounts / floorSpan, cpuMs: cpu / accounts },
  };
}
