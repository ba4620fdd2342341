// How esbuild makes one program of ours and its packages; the bench bundles what it compares with in the same way.
import { readFile } from 'node:fs/promises';

/**
 * Our classes keep their names, since people read the type of an error in a log. esbuild's own keepNames does it for
 * every function as well: 55 kB more of bundle, and a quarter of a kilobyte of memory for each closure.
 */
const classNames = {
  name: 'class names',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/[^.]*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const named = "$1 static { Object.defineProperty(this, 'name', { value: '$2' }); }";
      return { contents: text.replace(/(\bclass (\w+) extends [\w.]+ \{)/g, named), loader: 'ts' };
    });
  },
};

export const bundling = {
  absWorkingDir: new URL('..', import.meta.url).pathname,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  minify: true,
  // With the line and column of a stack trace, `npm run build -- --sourcemap` tells the place. One line alone would fill a
  // terminal where Node prints it; lines of 160 make the package 17 kB larger than these do.
  lineLimit: 2_000,
  plugins: [classNames],
  legalComments: 'none',
  // CommonJS packages inside an ES module bundle still ask for these two names. Loaded with `await import()` they have their own names on
  // `default` once bundled: `const { default: x } = await import(…)`. Tests from source do not notice, the e2e tests do.
  banner: {
    js: [
      "import { createRequire as __createRequire } from 'node:module';",
      'const require = __createRequire(import.meta.url);',
      'const __dirname = import.meta.dirname;',
    ].join('\n'),
  },
  alias: {
    // The package is Node's own stream, copied out for other runtimes.
    'readable-stream': 'node:stream',
    socks: './scripts/absent.cjs',
    // The list of all public suffixes, which tough-cookie brings: 130 kB. Tests from source have the real one.
    tldts: './scripts/absent.cjs',
    'worker-timers': './scripts/absent.cjs',
    // Of pg: files of passwords, and another runtime's sockets.
    pgpass: './scripts/absent.cjs',
    'pg-cloudflare': './scripts/absent.cjs',
    // The same code as ES modules, of which the bundler leaves out what is not used.
    yaml: './node_modules/yaml/browser/index.js',
    // Files and threads that pino and pino-pretty write to: our lines go through a scrubber first, in this thread.
    'thread-stream': './scripts/absent.cjs',
    'sonic-boom': './scripts/absent.cjs',
    'pino-abstract-transport': './scripts/absent.cjs',
    pump: './scripts/absent.cjs',
    'on-exit-leak-free': './scripts/absent.cjs',
  },
  // Optional native helpers of ws: never installed here.
  external: ['bufferutil', 'utf-8-validate', 'pg-native'],
  logLevel: 'warning',
};

/** The page that the program serves. */
export const pageBundling = {
  absWorkingDir: bundling.absWorkingDir,
  entryPoints: [
    { in: 'src/web/page/main.tsx', out: 'page' },
    { in: 'src/web/page/style.css', out: 'page' },
  ],
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome109', 'firefox115', 'safari16'],
  minify: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
};
