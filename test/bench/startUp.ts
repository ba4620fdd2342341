// From the start of a process to the first retained meter state, resident memory after a quiet minute, and the requests of a day.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Child, cpuMs, PIECES, residentMb, start, wait } from './children.ts';
import { type Bench, compared, type Home, isStateBelow, openHome, type Row, untilHeard } from './home.ts';

/** Starts a floor that makes so many of the same requests and publishes the same, below a base topic of its own. */
export async function openFloor(
  { folder, broker, provider }: Bench,
  { base }: Home,
  published: readonly [string, string][],
  requests: number,
  concurrency = 1,
) {
  const ownBase = `${base}-floor`;
  const rename = (text: string) => text.replaceAll(base, ownBase);
  const messages = published.map(([topic, payload]) => [rename(topic), rename(payload)] as const);
  const ofMeter = messages.filter(([topic]) => topic.includes('/meter/'));
  const day = (at: number) => new Date(at).toISOString();
  const body = JSON.stringify({
    size: 0,
    range: { gte: day(Date.now() - 15 * 86_400_000), lte: day(Date.now()) },
    padding: 'x'.repeat(900),
  });
  const request = { token: 'x'.repeat(500), body, messages: ofMeter };
  const task = {
    broker: broker.url,
    api: `${provider.url}/api/v1`,
    concurrency,
    messages: requests === 0 ? messages : messages.filter((one) => !ofMeter.includes(one)),
    requests: Array.from({ length: requests }, () => request),
  };
  const path = join(folder, `${ownBase}-${requests}.json`);
  await writeFile(path, JSON.stringify(task));
  return { base: ownBase, run: () => start([join(PIECES, 'floor.mjs'), path]) };
}

/** Milliseconds until the first meter state, by the clock and of CPU. */
async function untilState(bench: Bench, base: string, begin: () => Child) {
  const { child, wall } = await untilHeard(bench, isStateBelow(base), begin);
  const cpu = cpuMs(child.pid);
  await child.kill();
  return { wall, cpu };
}

export async function benchStart(bench: Bench, runs: number): Promise<Row[]> {
  const home = await openHome(bench, 'start');
  const published = await home.prime();
  const rows: Row[] = [];
  for (const pollDue of [false, true]) {
    const floor = await openFloor(bench, home, published, pollDue ? 1 : 0);
    const ours: Awaited<ReturnType<typeof untilState>>[] = [];
    const theirs: typeof ours = [];
    for (let n = 0; n < runs; n += 1) {
      await home.restore({ pollDue });
      ours.push(await untilState(bench, home.base, home.run));
      theirs.push(await untilState(bench, floor.base, floor.run));
    }
    for (const kind of ['wall', 'cpu'] as const) {
      const what = `start to the first meter state, poll ${pollDue ? 'due' : 'recent'}, ms${kind === 'cpu' ? ' of CPU' : ''}`;
      const times = { ours: ours.map((run) => run[kind]), floor: theirs.map((run) => run[kind]) };
      rows.push(compared(what, { ...times, limit: pollDue ? '1.6' : '–' }));
    }
  }
  return rows;
}

/** Both run at the same time, so that both meet the same pressure on the memory of the machine. */
export async function benchMemory(bench: Bench, quietMs: number, runs: number): Promise<Row[]> {
  const home = await openHome(bench, 'memory');
  const floor = await openFloor(bench, home, await home.prime(), 1);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let n = 0; n < runs; n += 1) {
    await home.restore({ pollDue: true });
    const children = [home.run(), floor.run()] as const;
    await wait(quietMs);
    ours.push(residentMb(children[0].pid));
    theirs.push(residentMb(children[1].pid));
    for (const child of children) await child.kill();
  }
  const what = `resident, after a poll and ${quietMs / 1000} s of quiet, MB`;
  return [compared(what, { ours, floor: theirs, limit: '1.15' })];
}

/** What polls every two seconds ask for. */
export async function benchRequests(bench: Bench, polls: number): Promise<Row[]> {
  const home = await openHome(bench, 'requests', { schedule: '*/2 * * * * *' });
  await home.prime();
  await bench.provider.counts();
  // The state is published once at the start, and then after each poll.
  const done = bench.broker.heard(home.isState, polls + 1);
  const child = home.run();
  await done;
  await child.kill('SIGTERM');
  const { counts } = await bench.provider.counts();
  return [
    {
      what: `requests of ${polls} polls after a restart`,
      ours: Object.entries(counts)
        .map(([kind, count]) => `${count} ${kind}`)
        .join(', '),
      floor: `${polls} usage`,
      ratio: ((counts.usage ?? 0) / polls).toFixed(2),
      limit: '1',
    },
  ];
}
