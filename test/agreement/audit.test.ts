// The audit of the bundle: what it makes of what npm says. npm itself is asked before a release.
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';

const advisory = { severity: 'high', title: 'Reads too far', url: 'https://example.org/1' };
const weak = (name: string, node: string, via: readonly unknown[]) => ({
  [name]: { name, nodes: [node], via },
});

/** With a program in the place of npm that prints this. */
async function audit(said: string) {
  const folder = await openStack().folder();
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'said'), said);
  await writeFile(join(folder, 'bin/npm'), `#!/bin/sh\ncat ${folder}/said\nexit 1\n`);
  await chmod(join(folder, 'bin/npm'), 0o755);
  const components = [
    { name: 'ws', version: '8.0.0' },
    { name: '@a/b', version: '1.0.0' },
  ];
  const packages = {
    'node_modules/ws': { version: '8.0.0' },
    'node_modules/c/node_modules/ws': { version: '7.0.0' },
    'node_modules/@a/b': { version: '1.0.0' },
    'node_modules/vite': { version: '1.0.0' },
  };
  await writeFile(join(folder, 'bom.json'), JSON.stringify({ components }));
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages }));
  const PATH = `${join(folder, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`;
  const args = [join(ROOT, 'scripts/audit.mjs'), 'bom.json'];
  const child = startChild(process.execPath, args, { cwd: folder, env: { PATH } });
  return { code: await child.exited, said: child.output + child.errors };
}

test.each([
  ['in the bundle', weak('ws', 'node_modules/ws', [advisory]), 1],
  ['in one with a scope', weak('@a/b', 'node_modules/@a/b', [advisory]), 1],
  [
    'in another version, in a tool, or in something that it needs',
    {
      ...weak('ws', 'node_modules/c/node_modules/ws', [advisory]),
      ...weak('vite', 'node_modules/vite', [advisory]),
      ...weak('@a/b', 'node_modules/@a/b', ['vite']),
    },
    0,
  ],
])('a weakness %s', async (_, vulnerabilities, expected) => {
  const { code, said } = await audit(JSON.stringify({ vulnerabilities }));
  expect(code).toBe(expected);
  expect(said).toMatch(expected === 0 ? /weaknesses: 0/ : /(ws 8|@a\/b 1)\.0\.0: high, Reads too far/);
});

test('npm that cannot ask is no answer', async () => {
  const said = '{"message":"request failed, reason: no route"}';
  expect(await audit(said)).toMatchObject({ code: 2, said: expect.stringContaining('could not look') });
});
