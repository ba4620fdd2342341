// Bundles the program and its packages into dist/: one entry file and a chunk for each lazily loaded part.
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { build, transform } from 'esbuild';
import { billOfMaterials, bundledPackages, licencesText } from './licences.mjs';

const outdir = new URL('../dist/', import.meta.url).pathname;
const target = 'node20.19';

/** Names of our own functions and classes stay: stack traces and the types of errors in a log are read by people. */
const ownNames = {
  name: 'own names',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/[^.]*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const { code } = await transform(text, { loader: 'ts', target, keepNames: true, sourcefile: path });
      return { contents: code, loader: 'js' };
    });
  },
};

await rm(outdir, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { heat2mqtt: 'src/main.ts' },
  absWorkingDir: new URL('..', import.meta.url).pathname,
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target,
  minify: true,
  // Short lines: the line and column of a stack trace then lead to the place.
  lineLimit: 160,
  plugins: [ownNames],
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
  alias: {
    // The package is Node's own stream, copied out for other runtimes.
    'readable-stream': 'node:stream',
    socks: './scripts/absent.cjs',
    'worker-timers': './scripts/absent.cjs',
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
