#!/usr/bin/env node
// Tells the version; what anything else needs is read only when it is wanted.

/** From package.json, written in by the build. */
declare const PROGRAM_VERSION: string;

if (process.argv.length === 3 && process.argv[2] === '--version') {
  // Making a stream of the standard output takes 3 ms, a tenth of all that `node` itself needs.
  process.getBuiltinModule('node:fs').writeSync(1, `${PROGRAM_VERSION}\n`);
} else {
  const { begin } = await import('./cli/begin.ts');
  await begin();
}
