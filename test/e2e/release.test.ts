// A release rehearsed on clones of this repository, up to where the network begins: the version's script, and the steps of the workflow.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../support/sources.ts';

const execute = promisify(execFile);

// Beside the packages, so that they can be linked instead of copied.
await mkdir(join(ROOT, 'coverage'), { recursive: true });
const work = await mkdtemp(join(ROOT, 'coverage/release-'));
afterAll(() => rm(work, { recursive: true, force: true }));

/** A clone with its packages, in a folder of its own. `testCommand`: what `npm test` does there. */
async function clone(name: string, testCommand = 'true') {
  const folder = join(work, name);
  const sh = (script: string, env: Readonly<Record<string, string>> = {}) =>
    execute('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: folder,
      // The tests that run in there are not counted with ours.
      env: { ...process.env, TEST_REPORT_DIRECTORY: '', ...AUTHOR, ...env },
      maxBuffer: 1e8,
    });
  await mkdir(folder, { recursive: true });
  await sh(`git clone --quiet --no-hardlinks "${ROOT}" . && cp -al "${ROOT}node_modules" .`);
  const manifest = await readFile(join(folder, 'package.json'), 'utf8');
  const test = JSON.stringify(testCommand);
  await writeFile(
    join(folder, 'package.json'),
    manifest.replace(/(?<="test": )".*"/, () => test),
  );
  await sh('git commit --quiet --all --allow-empty --message "test: what npm test does"');
  const release = async (...args: string[]) =>
    sh(`node scripts/release.mjs ${args.join(' ')}`).then(
      ({ stdout }) => ({ code: 0, said: stdout }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, said: stderr }),
    );
  return { folder, sh, release, read: (path: string) => readFile(join(folder, path), 'utf8') };
}

const AUTHOR = {
  GIT_AUTHOR_NAME: 'A maintainer',
  GIT_AUTHOR_EMAIL: 'maintainer@example.org',
  GIT_COMMITTER_NAME: 'A maintainer',
  GIT_COMMITTER_EMAIL: 'maintainer@example.org',
};

const sha256 = async (path: string) =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

test('a version is not written into a dirty or failing tree, twice, or as anything else', async () => {
  const { folder, release, sh } = await clone('refused', 'echo one test failed >&2; exit 1');
  const head = await sh('git rev-parse HEAD');
  for (const nonsense of ['1.2', '01.2.3', '1.2.3-rc.1'])
    expect(await release('bump', nonsense)).toEqual({
      code: 1,
      said: `Not released: "${nonsense}" is no version such as 1.2.3.\n`,
    });
  expect((await release('bump', '0.0.9')).said).toMatch(/^Not released: 0\.0\.9 is older than \d/);
  await writeFile(join(folder, 'left.txt'), 'left over');
  expect((await release('bump', '1.2.3')).said).toBe(
    'Not released: the tree is dirty: commit or stash first.\n',
  );
  await rm(join(folder, 'left.txt'));
  expect(await release('bump', '1.2.3')).toEqual({
    code: 1,
    said: expect.stringContaining('Not released: "npm test" failed.\n'),
  });
  await sh('git tag v1.2.3');
  expect((await release('bump', '1.2.3')).said).toBe('Not released: the tag v1.2.3 exists already.\n');
  expect((await release('check', 'v1.2.4')).said).toMatch(
    /^Not released: the tag is v1\.2\.4, and package\.json says \d/,
  );
  expect((await release('publish')).code).toBe(2);
  expect(await sh('git status --porcelain')).toEqual({ stdout: '', stderr: '' });
  expect(await sh('git rev-parse HEAD')).toEqual(head);
});

test('a version that cannot be written everywhere is written nowhere', async () => {
  const { release, sh } = await clone('stopped');
  await sh(
    'sed -i "s#heat2mqtt/heat2mqtt:#somebody/else:#" compose.yaml && git commit --quiet --all --message "test: a fork"',
  );
  const head = await sh('git rev-parse HEAD');
  expect((await release('bump', '7.8.9')).said).toContain(
    'Not released: "npm run --silent unit -- agreement" failed.\n',
  );
  expect(await sh('git status --porcelain')).toEqual({ stdout: '', stderr: '' });
  expect(await sh('git rev-parse HEAD')).toEqual(head);
});

test('a version is everywhere, and the steps of the workflow make a release of it', async () => {
  const { folder, release, sh, read } = await clone('made');
  const bumped = await release('bump', '7.8.9');
  expect(bumped.said).toContain('git push. Once ci is green: git tag --sign v7.8.9');
  expect((await sh('git status --porcelain')).stdout).toBe('');
  expect((await sh('git log -1 --format=%s')).stdout).toBe('chore: release 7.8.9\n');
  for (const file of ['package.json', 'package-lock.json', 'Dockerfile', 'compose.yaml', 'app/config.yaml'])
    expect(await read(file), file).toContain('7.8.9');
  expect(await read('CHANGELOG.md')).toMatch(/^## 7\.8\.9 \(\d{4}-\d\d-\d\d\)$/m);
  expect(await release('bump', '7.9.0')).toEqual({
    code: 1,
    said: 'Not released: CHANGELOG.md has no section "Unreleased".\n',
  });

  expect((await release('check', 'v7.8.9')).said).toBe('Not released: this commit is not on origin/main.\n');
  // As after the push of main.
  await sh('git update-ref refs/remotes/origin/main HEAD');
  const { jobs } = parse(await read('.github/workflows/release.yml'));
  const steps: { run?: string; env?: object }[] = jobs.pack.steps;
  // What asks GitHub has an environment of its own; the packages are there.
  const local = steps.filter(({ run, env }) => run !== undefined && !env && run !== 'npm ci');
  expect(local.map(({ run }) => run?.split('\n')[0])).toEqual([
    'node scripts/release.mjs check "$GITHUB_REF_NAME"',
    'mkdir release',
  ]);
  for (const { run = '' } of local) await sh(run, { GITHUB_REF_NAME: 'v7.8.9' });
  expect((await readdir(join(folder, 'release'))).sort()).toEqual([
    'SHA256SUMS',
    'heat2mqtt-7.8.9.tgz',
    'sbom.cdx.json',
  ]);
  expect((await sh('cd release && sha256sum --check --strict SHA256SUMS')).stdout).toBe(
    'heat2mqtt-7.8.9.tgz: OK\nsbom.cdx.json: OK\n',
  );
  const notes = await read('notes.md');
  expect(notes).toMatch(/^\S/);
  expect(notes).toMatch(/^### /m);
  expect(notes).not.toMatch(/^## /m);
  // GitHub breaks each line of a release, and has no folder for links.
  expect(notes).not.toMatch(/^ /m);
  expect(notes.match(/\]\([^)]+/g)).toContain(
    '](https://github.com/heat2mqtt/heat2mqtt/blob/v7.8.9/docs/verify.md',
  );
  expect(notes).not.toMatch(/\]\((?!https:)/);
  expect((await release('image-tags', 'ghcr.io/Someone/heat2mqtt')).said).toBe(
    'tags=ghcr.io/someone/heat2mqtt:7.8.9,ghcr.io/someone/heat2mqtt:7.8,ghcr.io/someone/heat2mqtt:latest\n',
  );

  // The same commit, in another folder, by somebody who lets nobody read their files.
  const twin = join(work, 'elsewhere/deeper');
  await sh(`git clone --quiet . "${twin}" && cp -al node_modules "${twin}"`);
  await sh(`umask 077 && cd "${twin}" && npm pack --silent`);
  expect(await sha256(join(twin, 'heat2mqtt-7.8.9.tgz'))).toBe(
    await sha256(join(folder, 'release/heat2mqtt-7.8.9.tgz')),
  );
});

test('every package of the bundle is in its bill of materials, with version and licence, which is told in full', async () => {
  const bill = JSON.parse(await readFile(join(ROOT, 'dist/sbom.cdx.json'), 'utf8'));
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
  const licences = await readFile(join(ROOT, 'dist/THIRD-PARTY-LICENCES.txt'), 'utf8');
  const names = bill.components.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['mqtt', 'pino', 'openid-client', 'aedes', 'yaml']));
  expect(names).not.toContain('vitest');
  // What actions/attest looks for before it signs one.
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: expect.stringMatching(
      /^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-a[\da-f]{3}-[\da-f]{12}$/,
    ),
  });
  for (const { name, version, purl, licenses } of bill.components) {
    const locked = Object.entries<{ version: string }>(lock.packages)
      .filter(([path]) => path.endsWith(`node_modules/${name}`))
      .map(([, entry]) => entry.version);
    expect(locked, name).toContain(version);
    expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`);
    expect(licenses, name).toEqual([{ expression: expect.stringMatching(/\w/) }]);
    expect(licences).toContain(`\n${name} ${version} (${licenses[0].expression})\n`);
  }
});
