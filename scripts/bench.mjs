// Bundles the bench and the floors it measures against into a folder of its own, and runs it on the built program.
// Goals: a start with a poll within 1.6 times the floor, resident memory after a minute within 1.15 times, 1,000 accounts at half the floor's
// polls per second or more, with at most 50 ms of event loop delay (p99).
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bundling } from './bundling.mjs';

const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-bench-'));
const pieces = ['bench', 'floor', 'provider', 'delay', 'greedy', 'syncs'];
await build({
  ...bundling,
  entryPoints: Object.fromEntries(pieces.map((name) => [name, `test/bench/${name}.ts`])),
  outdir: folder,
  outExtension: { '.js': '.mjs' },
  splitting: false,
});
const bench = spawn(process.execPath, [join(folder, 'bench.mjs'), ...process.argv.slice(2)], {
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => bench.kill(signal));
bench.once('exit', async (code) => {
  await rm(folder, { recursive: true, force: true });
  process.exitCode = code ?? 1;
});
