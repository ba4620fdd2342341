// One version everywhere: package.json, its lock, about, discovery, the user agent, the image, and what --version prints.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { about } from '../../src/foundation/about.ts';
import { infoMessage } from '../../src/publication/bridge.ts';
import { Topics } from '../../src/publication/topics.ts';
import { bodyOf, bridgeView, discoveryBelow, discoveryOf } from '../support/inventedHome.ts';
import { typed } from '../support/typed.ts';

const read = async (path: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(new URL(`../../${path}`, import.meta.url), 'utf8'));
const { version, name, homepage } = await read('package.json');

test('is a version, and what the program knows of itself', () => {
  expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
  expect(about).toMatchObject({ name, version, url: homepage });
  expect(about.userAgent).toBe(`${name}/${version} (+${homepage})`);
});

test('is in the lock file', async () => {
  const lock = await read('package-lock.json');
  expect(lock).toMatchObject({ version, name, packages: { '': { version, name } } });
});

test('is the origin of every discovery document, and the software of the bridge', () => {
  const documents = discoveryOf(discoveryBelow('heat2mqtt')).map(bodyOf);
  expect(documents).toHaveLength(3);
  for (const { origin } of documents)
    expect(origin).toEqual({ name, sw_version: version, support_url: homepage });
  expect(documents[0]).toMatchObject({ device: { sw_version: version } });
});

test('is in bridge/info', () => {
  const info = bodyOf(infoMessage(new Topics('heat2mqtt'), bridgeView()));
  expect(info.version).toBe(version);
});

test('is all that --version prints', async () => {
  expect(await typed(['--version'])).toEqual({ out: `${version}\n`, err: '', exitCode: 0 });
});

test('is on the image', async () => {
  const dockerfile = await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8');
  expect(dockerfile).toContain(`org.opencontainers.image.version="${version}"`);
});
