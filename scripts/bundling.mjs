// How esbuild makes one program of ours and its packages; the bench bundles what it compares with in the same way.
import { readFile } from 'node:fs/promises';
import { transform } from 'esbuild';

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

export const bundling = {
  absWorkingDir: new URL('..', import.meta.url).pathname,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target,
  minify: true,
  // Short lines: the line and column of a stack trace then lead to the place.
  lineLimit: 160,
  plugins: [ownNames],
  legalComments: 'none',
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
  logLevel: 'warning',
};
