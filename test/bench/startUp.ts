// How long from the start of a process to the first retained meter state, and how little `--version` costs.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Broker } from './broker.ts';
import { type Child, cpuMs, PIECES, PROGRAM, type Provider, start } from './children.ts';
import { type Home, openHome } from './home.ts';
import { ratios, spread } from './numbers.ts';

export interface Bench {
  readonly folder: string;
  readonly broker: Broker;
  readonly provider: Provider;
  readonly runs: number;
}

export interface Row {
  readonly what: string;
  readonly ours: string;
  readonly floor: string;
  readonly ratio: string;
  readonly limit: string;
}

/** Runs ours once from nothing, so that tokens, context and ledger are on disk; resolves to what it said. */
export async function prime(home: Home, { broker }: Pick<Bench, 'broker'>): Promise<[string, string][]> {
  const done = broker.heard(
    (topic) => topic.startsWith(`${home.base}/meter/`) && topic.endsWith('/usage/month'),
  );
  const child = home.run();
  await done;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await child.kill('SIGTERM');
  const said = [
    ...(await broker.retained(`${home.base}/#`)),
    ...(await broker.retained(`homeassistant/device/#`)),
  ];
  await home.keep();
  return said;
}

/** A task for the floor that makes the same requests and says the same, below its own base topic. */
export async function writeFloor(
  { folder, broker, provider }: Bench,
  home: Home,
  said: readonly [string, string][],
  requests: number,
  concurrency = 1,
): Promise<string> {
  const rename = (text: string) => text.replaceAll(home.base, `${home.base}-floor`);
  const messages = said.map(([topic, payload]) => [rename(topic), rename(payload)] as const);
  const day = (at: number) => new Date(at).toISOString();
  const body = JSON.stringify({
    size: 0,
    range: { gte: day(Date.now() - 15 * 86_400_000), lte: day(Date.now()) },
    padding: 'x'.repeat(900),
  });
  const path = join(folder, `${home.base}-floor-${requests}.json`);
  const request = {
    token: 'x'.repeat(500),
    body,
    messages: messages.filter(([topic]) => topic.includes('/meter/')),
  };
  const task = {
    broker: broker.url,
    api: `${provider.url}/api/v1`,
    concurrency,
    messages: requests === 0 ? messages : messages.filter(([topic]) => !topic.includes('/meter/')),
    requests: Array.from({ length: requests }, () => request),
  };
  await writeFile(path, JSON.stringify(task));
  return path;
}

export const startFloor = (task: string, nodeOptions: readonly string[] = []): Child =>
  start([...nodeOptions, join(PIECES, 'floor.mjs'), task]);

async function untilState(broker: Broker, base: string, begin: () => Child) {
  const heard = broker.heard((topic) => topic.startsWith(`${base}/meter/`) && topic.endsWith('/state'));
  const child = begin();
  const at = await heard;
  const cpu = cpuMs(child.pid);
  await child.kill();
  return { wall: at - child.startedAt, cpu };
}

export async function benchStart(bench: Bench): Promise<Row[]> {
  const { folder, broker, runs } = bench;
  const home = await openHome(folder, { ...bench, name: 'start', accounts: 1 });
  const said = await prime(home, bench);
  const rows: Row[] = [];
  for (const requests of [0, 1]) {
    const floor = await writeFloor(bench, home, said, requests);
    const ours: { wall: number; cpu: number }[] = [];
    const theirs: { wall: number; cpu: number }[] = [];
    for (let n = 0; n < runs; n += 1) {
      await home.restore();
      if (requests > 0) await home.forgetPolls();
      ours.push(await untilState(broker, home.base, () => home.run()));
      theirs.push(await untilState(broker, `${home.base}-floor`, () => startFloor(floor)));
    }
    const what = requests === 0 ? 'restart to the first meter state, poll fresh' : 'the same, poll due';
    for (const [kind, unit] of [
      ['wall', 'ms'],
      ['cpu', 'ms of CPU'],
    ] as const) {
      const mine = ours.map((run) => run[kind]);
      const others = theirs.map((run) => run[kind]);
      rows.push({
        what: `${what}, ${unit}`,
        ours: spread(mine),
        floor: spread(others),
        ratio: spread(ratios(mine, others), 2),
        limit: '1.5',
      });
    }
  }
  return rows;
}

export async function benchVersion({ runs }: Bench): Promise<Row> {
  const once = async (argv: readonly string[]) => {
    const child = start(argv);
    await new Promise((resolve) => child.process.once('exit', resolve));
    return performance.now() - child.startedAt;
  };
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let n = 0; n < runs * 2; n += 1) {
    ours.push(await once([PROGRAM, '--version']));
    theirs.push(await once(['-e', '0']));
  }
  return {
    what: '`--version`, ms (floor: `node -e 0`)',
    ours: spread(ours),
    floor: spread(theirs),
    ratio: spread(ratios(ours, theirs), 2),
    limit: '1.3',
  };
}
