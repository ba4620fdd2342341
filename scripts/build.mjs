// Bundles the program and its packages into dist/: one entry file and a chunk for each lazily loaded part. Beside them the page.
import { chmod, copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';
import { bundling, pageBundling } from './bundling.mjs';
import { billOfMaterials, bundledPackages, licencesText } from './licences.mjs';

// The same bundle wherever it is built: modes of files are part of a package.
process.umask(0o022);

const outdir = new URL('../dist/', import.meta.url).pathname;
const manifest = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
await rm(outdir, { recursive: true, force: true });
const { metafile } = await build({
  ...bundling,
  entryPoints: { heat2mqtt: 'src/main.ts' },
  outdir,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  sourcemap: process.argv.includes('--sourcemap'),
  metafile: true,
});
await chmod(`${outdir}heat2mqtt.js`, 0o755);

const page = await build({ ...pageBundling, outdir: `${outdir}page`, metafile: true });
await copyFile(new URL('../src/web/page/index.html', import.meta.url), `${outdir}page/index.html`);

const packages = await bundledPackages({ outputs: { ...metafile.outputs, ...page.metafile.outputs } });
await writeFile(`${outdir}THIRD-PARTY-LICENCES.txt`, licencesText(packages));
await writeFile(`${outdir}sbom.cdx.json`, billOfMaterials(manifest, packages));
