// package.json: one version everywhere, an address for those who find it, no dependency, and nothing that is private.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { about } from '../../src/foundation/about.ts';
import { typed } from '../support/typed.ts';

const read = async (path: string) =>
  JSON.parse(await readFile(new URL(`../../${path}`, import.meta.url), 'utf8'));
const manifest = await read('package.json');
const { version, name, homepage } = manifest;

test('the version is one: of the lock file, of the image, and what the program knows of itself', async () => {
  const lock = await read('package-lock.json');
  expect(lock).toMatchObject({ version, name, packages: { '': { version, name } } });
  const dockerfile = await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8');
  expect(dockerfile).toContain(`org.opencontainers.image.version="${version}"`);
  expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
  expect(about).toMatchObject({ name, version, url: homepage });
  expect(about.userAgent).toBe(`${name}/${version} (+${homepage})`);
});

test('the image, the release and those who build it themselves have the same Node', async () => {
  const text = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
  const found = async (path: string, pattern: RegExp) =>
    [...(await text(path)).matchAll(pattern)].map(([, node]) => node);
  const nodes = [
    ...(await found('Dockerfile', /^FROM .*node:([\d.]+)/gm)),
    ...(await found('.github/workflows/release.yml', /node-version: '([\d.]+)'/g)),
    ...(await found('docs/verify.md', /Node of the release \(([\d.]+)\)/g)),
  ];
  expect(nodes).toHaveLength(5);
  expect(new Set(nodes).size, nodes.join()).toBe(1);
});

test('the version is all that --version prints', async () => {
  expect(await typed(['--version'])).toEqual({ out: `${version}\n`, err: '', exitCode: 0 });
});

test('what the program needs is in the bundle: nothing is installed beside it', () => {
  for (const kind of ['dependencies', 'optionalDependencies', 'peerDependencies', 'bundleDependencies'])
    expect(manifest).not.toHaveProperty(kind);
});

test('can be published, but only after its tests', () => {
  expect(manifest).not.toHaveProperty('private');
  expect(manifest.scripts.prepublishOnly).toBe('npm test');
  expect(manifest.repository.url).toBe(`git+${manifest.homepage}.git`);
});
