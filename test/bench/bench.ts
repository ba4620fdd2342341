// The bench: `npm run bench`, shorter with `--quick`, single parts by name (start, memory, requests, slow,
// flood, accounts, day, history, insight, size, peer, fleet, statements). The last two, which need PostgreSQL, only by name.
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { about } from '../../src/foundation/about.ts';
import { benchAccounts } from './accounts.ts';
import { startBroker } from './broker.ts';
import { startProvider } from './children.ts';
import { benchDay } from './day.ts';
import { benchFleet } from './fleet.ts';
import { benchStatements } from './fleetStatements.ts';
import { benchFlood } from './flood.ts';
import { benchHistory } from './history.ts';
import type { Row } from './home.ts';
import { benchInsight } from './insight.ts';
import { table } from './numbers.ts';
import { benchPeer } from './peer.ts';
import { benchSize } from './size.ts';
import { benchSlow } from './slow.ts';
import { benchMemory, benchRequests, benchStart } from './startUp.ts';

const args = process.argv.slice(2);
const isQuick = args.includes('--quick');
const wanted = args.filter((arg) => !arg.startsWith('-'));
const wants = (part: string) => wanted.length === 0 || wanted.includes(part);
const say = (text: string) => process.stdout.write(`${text}\n`);

const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-bench-'));
const broker = await startBroker();
const provider = await startProvider();
const bench = { folder, broker, provider };
try {
  say(`${about.name} ${about.version}, Node ${process.version}`);
  const memory = (totalmem() / 1_000_000).toFixed(0);
  say(`${type()} ${release()}, ${cpus().length} × ${cpus()[0]?.model}, ${memory} MB\n`);
  const rows: Row[] = [];
  if (wants('start')) rows.push(...(await benchStart(bench, isQuick ? 5 : 15)));
  if (wants('memory')) rows.push(...(await benchMemory(bench, isQuick ? 15_000 : 60_000, isQuick ? 2 : 5)));
  if (wants('requests')) rows.push(...(await benchRequests(bench, isQuick ? 3 : 10)));
  if (wants('slow')) rows.push(...(await benchSlow(bench, isQuick ? 3 : 5)));
  if (wants('flood')) rows.push(...(await benchFlood(bench, isQuick ? 1 : 5)));
  if (wants('size')) rows.push(...(await benchSize()));
  const cells = rows.map(({ what, ours, floor, ratio, limit }) => [
    what,
    ours,
    floor ?? '–',
    ratio ?? '–',
    limit,
  ]);
  if (rows.length > 0) say(`${table(['what', 'heat2mqtt', 'floor', 'ratio', 'at most'], cells)}\n`);
  if (wants('history')) say(`${await benchHistory([1, 20], isQuick ? 10 : 50)}\n`);
  if (wants('insight')) say(`${benchInsight(isQuick ? 60 : 200)}\n`);
  if (wants('day')) say(`${await benchDay(bench, isQuick ? 30_000 : 120_000)}\n`);
  if (wants('peer')) say(`${await benchPeer(bench, isQuick ? 5_000 : 60_000, isQuick ? 2 : 3)}\n`);
  const sizes = wanted.map(Number).filter((size) => size > 0);
  const usual = isQuick ? [1, 100] : [1, 100, 1_000];
  if (wanted.includes('fleet')) {
    const most = isQuick ? 1_000 : 10_000;
    for (const size of sizes.length > 0 ? sizes : [most]) say(`${await benchFleet(bench, size)}\n`);
  }
  if (wanted.includes('statements'))
    say(`${await benchStatements(sizes[0] ?? (isQuick ? 5_000 : 50_000))}\n`);
  if (wants('accounts')) say(await benchAccounts(bench, sizes.length > 0 ? sizes : usual));
} finally {
  provider.stop();
  await broker.stop();
  await rm(folder, { recursive: true, force: true });
}
