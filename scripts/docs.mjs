// Bundles the generators of scripts/docs, since Node 20 runs no TypeScript, and runs them: every generated page is written anew.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { bundling } from './bundling.mjs';

const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-docs-'));
const outfile = join(folder, 'write.mjs');
try {
  await build({ ...bundling, entryPoints: ['scripts/docs/write.ts'], outfile });
  process.chdir(bundling.absWorkingDir);
  await import(pathToFileURL(outfile).href);
} finally {
  await rm(folder, { recursive: true, force: true });
}
