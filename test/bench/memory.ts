// Resident memory after a minute of quiet, and the requests of a day of polls.
import type { Child } from './children.ts';
import { cpuMs, memoryOf } from './children.ts';
import { openHome } from './home.ts';
import { mb, ratios, spread } from './numbers.ts';
import { type Bench, prime, type Row, startFloor, writeFloor } from './startUp.ts';

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Both run side by side, so that both meet the same pressure on the machine's memory. */
export async function benchMemory(bench: Bench, quietMs: number, runs: number): Promise<Row[]> {
  const home = await openHome(bench.folder, { ...bench, name: 'memory', accounts: 1 });
  const floor = await writeFloor(bench, home, await prime(home, bench), 1);
  const measured: Record<'ours' | 'floor', { resident: number; own: number; cpu: number }[]> = {
    ours: [],
    floor: [],
  };
  for (let n = 0; n < runs; n += 1) {
    await home.restore();
    await home.forgetPolls();
    const children: ['ours' | 'floor', Child][] = [
      ['ours', home.run()],
      ['floor', startFloor(floor)],
    ];
    await wait(quietMs);
    for (const [whose, child] of children) {
      measured[whose].push({ ...memoryOf(child.pid), cpu: cpuMs(child.pid) });
      await child.kill();
    }
  }
  return (['resident', 'own'] as const).map((kind) => {
    const ours = measured.ours.map((one) => mb(one[kind]));
    const theirs = measured.floor.map((one) => mb(one[kind]));
    const what = kind === 'resident' ? 'resident' : 'resident, without what is mapped from files';
    return {
      what: `${what}, after a poll and ${quietMs / 1000} s of quiet, MB`,
      ours: spread(ours),
      floor: spread(theirs),
      ratio: spread(ratios(ours, theirs), 2),
      limit: '1.25',
    };
  });
}

/** Polls every two seconds: what does each of them ask for? */
export async function benchRequests(bench: Bench, polls: number): Promise<Row> {
  const { broker, provider } = bench;
  const home = await openHome(bench.folder, {
    ...bench,
    name: 'requests',
    accounts: 1,
    schedule: '*/2 * * * * *',
  });
  await prime(home, bench);
  await provider.counts();
  const child = home.run();
  let states = 0;
  const done = broker.heard((topic) => {
    if (topic.startsWith(`${home.base}/meter/`) && topic.endsWith('/state')) states += 1;
    return states === polls + 1;
  });
  await done;
  await child.kill('SIGTERM');
  const { counts } = await provider.counts();
  const others = Object.entries(counts).filter(([kind]) => kind !== 'usage');
  return {
    what: `requests of ${polls} polls after a restart`,
    ours: [`${counts.usage ?? 0} usage`, ...others.map(([kind, count]) => `${count} ${kind}`)].join(', '),
    floor: `${polls} usage`,
    ratio: ((counts.usage ?? 0) / polls).toFixed(2),
    limit: '1',
  };
}
