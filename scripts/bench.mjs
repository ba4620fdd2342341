// Bundles the bench and the floors it measures against into a folder of its own, and runs it on the built program.
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
