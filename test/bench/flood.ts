// What 200 connections cost that ask thousands of times and read nothing, and how long health takes meanwhile.
import { request } from 'node:http';
import { join } from 'node:path';
import { PIECES, residentMb, start, wait } from './children.ts';
import { type Bench, openHome, type Row } from './home.ts';
import { spread } from './numbers.ts';

const PORT = 18_099;
const CONNECTIONS = 200;
const LOOK_MS = 10_000;
const FLOODS = [
  ['/page.js', 5_000],
  ['/page.js', 20_000],
  ['/events', 5_000],
] as const;

/** Milliseconds until the path has been answered with 200, on a connection of its own; else infinite. */
function answered(path: string): Promise<number> {
  const began = performance.now();
  return new Promise((resolve) => {
    const asked = request({ port: PORT, host: '127.0.0.1', path, agent: false }, (response) => {
      response
        .resume()
        .on('end', () => resolve(response.statusCode === 200 ? performance.now() - began : Infinity));
    });
    asked.on('error', () => resolve(Infinity)).end();
  });
}

export async function benchFlood(bench: Bench, runs: number): Promise<Row[]> {
  const home = await openHome(bench, 'flood', { httpPort: PORT });
  await home.prime();
  const rows: Row[] = [];
  for (const [path, requests] of FLOODS) {
    const grown: number[] = [];
    const slowest: number[] = [];
    for (let n = 0; n < runs; n += 1) {
      await home.restore({ pollDue: false });
      const child = home.run();
      while ((await answered('/page.js')) === Infinity) await wait(200);
      await wait(2_000);
      const before = residentMb(child.pid);
      const greedy = start([
        join(PIECES, 'greedy.mjs'),
        String(PORT),
        path,
        String(CONNECTIONS),
        String(requests),
      ]);
      let most = 0;
      let slow = 0;
      for (const end = performance.now() + LOOK_MS; performance.now() < end; await wait(20)) {
        slow = Math.max(slow, await answered('/healthz'));
        most = Math.max(most, residentMb(child.pid) - before);
      }
      await greedy.kill();
      await child.kill();
      grown.push(most);
      slowest.push(slow);
    }
    const what = `${CONNECTIONS} connections, ${requests} times ${path} each, nothing read:`;
    rows.push({ what: `${what} MB more`, ours: spread(grown), limit: '100' });
    rows.push({ what: `${what} slowest /healthz, ms`, ours: spread(slowest), limit: '1000' });
  }
  return rows;
}
