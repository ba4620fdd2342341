// Many accounts in one process: polls per second, memory for each further account, and how long the event loop is blocked.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cpuMs, PIECES, type Provider, residentMb, startProvider, wait } from './children.ts';
import { type Bench, type Home, openHome } from './home.ts';
import { median, ratios, table } from './numbers.ts';
import { openFloor } from './startUp.ts';

const CONCURRENCY = 16;
const TICKS = 4;

export async function benchAccounts(bench: Bench, sizes: readonly number[]): Promise<string> {
  const rows: string[][] = [];
  let before: { accounts: number; resident: number } | null = null;
  for (const accounts of sizes) {
    const { first, ours, floor, resident, delayMs, cpu } = await measure(bench, accounts);
    const each = before && ((resident - before.resident) / (accounts - before.accounts)) * 1000;
    before = { accounts, resident };
    const rates =
      accounts === 1
        ? ['–', '–', '–']
        : [median(ours).toFixed(0), median(floor).toFixed(0), median(ratios(ours, floor)).toFixed(2)];
    rows.push([
      ...[String(accounts), first.toFixed(1), ...rates, delayMs.toFixed(0), cpu.toFixed(2)],
      ...[resident.toFixed(0), each?.toFixed(1) ?? '–'],
    ]);
  }
  const head = [
    ...['accounts', 'first start to the last state, s', 'polls/s', 'floor', 'ratio (at least 0.5)'],
    ...['loop delay p99, ms (at most 50)', 'CPU for each later poll, ms', 'resident, MB'],
    'kB for each further account',
  ];
  return table(head, rows);
}

/** Polls per second of so many polls of all accounts; the first is left out, to warm up. */
async function ticksOf(
  provider: Provider,
  accounts: number,
  begin: (n: number) => unknown,
): Promise<number[]> {
  const rates: number[] = [];
  for (let n = 0; n < TICKS; n += 1) {
    begin(n);
    const { firstUsageAt, lastUsageAt } = await provider.asked(accounts);
    rates.push((accounts / (lastUsageAt - firstUsageAt)) * 1000);
  }
  return rates.slice(1);
}

async function measure(shared: Bench, accounts: number) {
  const provider = await startProvider();
  const bench = { ...shared, provider };
  const name = `many${accounts}`;
  const options = { accounts, concurrency: CONCURRENCY, historyMonths: 1 };
  const cold = await openHome(bench, name, options);
  const lastState = bench.broker.heard(cold.isState, accounts);
  const beginning = cold.run();
  const first = ((await lastState) - beginning.startedAt) / 1000;
  await wait(1_000);
  await beginning.kill('SIGTERM');
  const published = (await bench.broker.retained(`${name}/#`)).filter(([topic]) =>
    topic.includes('/meter/M0/'),
  );

  // The same home, polled again and again.
  const home = await openHome(bench, name, { ...options, schedule: '*/15 * * * * *' });
  // Those that were polled last would be left out at the start, and each tick would be counted as two.
  await home.forgetPolls();
  await provider.counts();
  const delayFile = join(bench.folder, `delay-${accounts}`);
  const child = home.run(['--import', join(PIECES, 'delay.mjs')], { BENCH_DELAY_FILE: delayFile });
  let cpuBefore = 0;
  const ours = await ticksOf(provider, accounts, (n) => {
    if (n === 1) cpuBefore = cpuMs(child.pid);
  });
  // The last replies are still being published.
  await wait(3_000);
  const figures = {
    resident: residentMb(child.pid),
    cpu: (cpuMs(child.pid) - cpuBefore) / accounts / (TICKS - 1),
  };
  await child.kill('SIGTERM');
  const delayMs = Number(await readFile(delayFile, 'utf8'));

  const floor = await runFloor(bench, home, published, accounts);
  provider.stop();
  return { first, ours, floor, delayMs, ...figures };
}

async function runFloor(
  bench: Bench,
  home: Home,
  published: readonly [string, string][],
  accounts: number,
): Promise<number[]> {
  const child = (await openFloor(bench, home, published, accounts, CONCURRENCY)).run();
  while (!child.output.includes('done') && child.process.exitCode === null) await wait(20);
  if (!child.output.includes('done')) throw new Error(`the floor failed: ${child.output.slice(0, 400)}`);
  await bench.provider.counts();
  const rates = await ticksOf(bench.provider, accounts, () => child.process.kill('SIGUSR2'));
  await child.kill();
  return rates;
}
