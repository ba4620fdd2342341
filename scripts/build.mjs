// Bundles the program and its packages into dist/: one entry file and a chunk for each lazily loaded part.
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';
import { billOfMaterials, bundledPackages, licencesText } from './licences.mjs';

const outdir = new URL('../dist/', import.meta.url).pathname;
await rm(outdir, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { heat2mqtt: 'src/main.ts' },
  absWorkingDir: new URL('..', import.meta.url).pathname,
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  minifySyntax: true,
  legalComments: 'none',
  chunkNames: 'chunks/[name]-[hash]',
  // CommonJS packages inside an ES module bundle still ask for these three names.
  banner: {
    js: [
      "import { createRequire as __createRequire } from 'node:module';",
      'const require = __createRequire(import.meta.url);',
      'const __filename = import.meta.filename;',
      'const __dirname = import.meta.dirname;',
    ].join('\n'),
  },
  // Optional native helpers of ws: never installed here.
  external: ['bufferutil', 'utf-8-validate'],
  metafile: true,
  logLevel: 'warning',
});
await chmod(`${outdir}heat2mqtt.js`, 0o755);

const manifest = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
const packages = await bundledPackages(metafile);
await writeFile(`${outdir}THIRD-PARTY-LICENCES.txt`, licencesText(packages));
await writeFile(`${outdir}sbom.cdx.json`, billOfMaterials(manifest, packages));
