// Real processes that all find one stale lock: one after the other has it.
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { openStack } from '../support/stack.ts';

const PROCESSES = 4;
const TURNS = 3;
// Ten seconds without a touch become half a second.
const SPEED = 20;

test('of real processes that find stale locks, one after the other holds it', async () => {
  const folder = await openStack().folder();
  const outfile = join(folder, 'lockTaker.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, 'lockTaker.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: {
      js: [
        "import { createRequire } from 'node:module';",
        'const require = createRequire(import.meta.url);',
        'const __filename = import.meta.filename;',
      ].join('\n'),
    },
  });
  const args = [outfile, join(folder, 'session.lock'), String(TURNS), String(SPEED)];
  const children = Array.from({ length: PROCESSES }, () => startChild(process.execPath, args));
  expect(await Promise.all(children.map(({ exited }) => exited))).toEqual(Array(PROCESSES).fill(0));
  const turns = children
    .flatMap(({ output }) => output.trim().split('\n'))
    .map((line) => JSON.parse(line) as { isHeld: boolean; from: number; to: number })
    .sort((a, b) => a.from - b.from);
  expect(turns).toHaveLength(PROCESSES * TURNS);
  expect(turns.every(({ isHeld }) => isHeld)).toBe(true);
  // Two hold it when a turn begins before the one ahead of it has ended. A holder that the machine let wait for half of
  // the time after which a lock is stale proves nothing.
  const overlaps = turns.slice(1).filter(({ from }, index) => {
    const before = turns[index];
    return before !== undefined && before.to - before.from < 250 && from < before.to;
  });
  expect(overlaps).toEqual([]);
});
