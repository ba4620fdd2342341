// What npm ships: only what is needed, no dependency, and a command that works once it is installed globally.
import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { freePort } from './mosquitto.ts';
import { run } from './program.ts';

const execute = promisify(execFile);
// A fifth of it is for a fleet.
const LARGEST_PACK_BYTES = 700_000;
const NEEDED =
  /^package\/(dist\/(page\/(index\.html|page\.css|page\.js)|chunks\/[\w.-]+\.js|heat2mqtt\.js|sbom\.cdx\.json|THIRD-PARTY-LICENCES\.txt)|systemd\/heat2mqtt\.service|package\.json|README\.md|LICENSE|docs\/[\w-]+\.md|examples\/[\w/.-]+|config\.example\.yaml)$/;

/** `npm pack` in a folder of its own, and what `npm install --global` makes of it without any network. */
async function installed() {
  const stack = openStack();
  const folder = await stack.folder();
  const npm = (...args: string[]) => execute('npm', args, { cwd: ROOT });
  // The program is built already; a second build would pull the files from under other tests.
  await npm('pack', '--silent', '--ignore-scripts', '--pack-destination', folder);
  const name = (await readdir(folder)).find((file) => file.endsWith('.tgz')) ?? '';
  const tarball = join(folder, name);
  const prefix = join(folder, 'prefix');
  const place = ['--cache', join(folder, 'cache'), '--prefix', prefix];
  await npm('install', '--global', '--offline', ...place, tarball);
  const heat2mqtt = (...args: string[]) => execute(join(prefix, 'bin/heat2mqtt'), args, { cwd: folder });
  return { stack, tarball, prefix, heat2mqtt };
}

test('a small tarball of needed files, which installs offline and runs', async () => {
  const { stack, tarball, prefix, heat2mqtt } = await installed();
  expect((await stat(tarball)).size).toBeLessThan(LARGEST_PACK_BYTES);
  const { stdout } = await execute('tar', ['tzf', tarball]);
  const files = stdout.trim().split('\n');
  expect(files.filter((file) => !NEEDED.test(file))).toEqual([]);
  expect(files).toContain('package/systemd/heat2mqtt.service');
  expect(files).toContain('package/dist/page/page.js');

  expect(await readdir(join(prefix, 'lib/node_modules'))).toEqual(['heat2mqtt']);
  const home = join(prefix, 'lib/node_modules/heat2mqtt');
  expect(await readdir(home)).not.toContain('node_modules');
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  expect((await heat2mqtt('--version')).stdout).toBe(`${version}\n`);
  const example = await readFile(join(ROOT, 'config.example.yaml'), 'utf8');
  expect((await heat2mqtt('config', 'example')).stdout).toBe(example);

  const entry = join(prefix, 'bin/heat2mqtt');
  const demo = stack.use(run(['demo', '--port', String(await freePort())], { entry }));
  await demo.says(/ kWh, .*This month so far/);
  expect((await demo.end('SIGINT')).code).toBe(0);
});
