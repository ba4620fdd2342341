// package.json: a package without dependencies, with an address for those who find it, and nothing that is private.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));

test('what the program needs is in the bundle: nothing is installed beside it', () => {
  for (const kind of ['dependencies', 'optionalDependencies', 'peerDependencies', 'bundleDependencies'])
    expect(manifest).not.toHaveProperty(kind);
});

test('can be published, but only after its tests', () => {
  expect(manifest).not.toHaveProperty('private');
  expect(manifest.scripts.prepublishOnly).toBe('npm test');
  expect(manifest.repository.url).toBe(`git+${manifest.homepage}.git`);
});
