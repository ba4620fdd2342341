// The image: what is in it, what it says of itself, and that it lives on a read-only root without capabilities.
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../e2e/mosquitto.ts';
import { ME, openHomeWithBroker } from '../e2e/program.ts';
import { STATE } from '../support/homes.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { imageConfig, imageRoot, startContainer } from './container.ts';

const LARGEST_IMAGE_MB = 140;
const LONGEST_STOP_MS = 8_000;
const UID = 10_001;
const NEEDED = [
  /^etc\/(passwd|group|nsswitch\.conf)$/,
  /^usr\/(local\/bin\/(node|heat2mqtt)|bin\/env)$/,
  /^(usr\/local\/LICENSE|usr\/share\/doc\/(coreutils|libc6|libgcc-s1|libstdc\+\+6)\/copyright)$/,
  /^lib(64)?\/([\w-]+\/)?(ld-linux-[\w-]+|lib(c|dl|gcc_s|m|pthread|stdc\+\+))\.so\.\d+$/,
  /^app\/(LICENSE|config\.example\.yaml|package\.json)$/,
  /^app\/dist\/(heat2mqtt\.js|page\/(index\.html|page\.css|page\.js)|chunks\/[\w.-]+\.js|sbom\.cdx\.json|THIRD-PARTY-LICENCES\.txt)$/,
];

test('holds Node, the libraries it is linked with and one program; nothing belongs to its user but /data', async () => {
  const root = await imageRoot();
  const paths = await readdir(root, { recursive: true });
  const entries = await Promise.all(paths.map(async (path) => ({ path, is: await lstat(join(root, path)) })));
  const files = entries.filter(({ is }) => !is.isDirectory());
  expect(files.map(({ path }) => path).filter((path) => !NEEDED.some((one) => one.test(path)))).toEqual([]);
  expect(entries.filter(({ is }) => is.uid === UID).map(({ path }) => path)).toEqual(['data']);
  expect((await stat(join(root, 'data'))).mode & 0o777).toBe(0o700);
  const open = entries.filter(
    ({ is, path }) => !is.isSymbolicLink() && (is.mode & 0o6002) !== 0 && path !== 'tmp',
  );
  expect(open.map(({ path }) => path)).toEqual([]);
  const megabytes = files.reduce((sum, { is }) => sum + is.size, 0) / 1e6;
  expect(megabytes).toBeLessThan(LARGEST_IMAGE_MB);
});

test('says who it runs as, how its health is asked for, and which version it is', async () => {
  const { version, homepage } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  expect(await imageConfig()).toMatchObject({
    User: `${UID}:${UID}`,
    Entrypoint: ['heat2mqtt'],
    Cmd: ['run'],
    Volumes: { '/data': {} },
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: ['CMD', 'heat2mqtt', 'healthcheck'] },
    Labels: {
      'org.opencontainers.image.title': 'heat2mqtt',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'MIT',
      'org.opencontainers.image.source': homepage,
    },
  });
});

/** `more`: variables of its environment. */
async function livingContainer(more: Readonly<Record<string, string>> = {}) {
  const home = await openHomeWithBroker();
  const probe = await home.listen();
  const { issuer, api } = home.simulator.urls;
  const container = await startContainer(home.stack, {
    env: {
      HEAT2MQTT_PROVIDER_ISSUER: issuer,
      HEAT2MQTT_PROVIDER_API_URL: api,
      HEAT2MQTT_PROVIDER_CLIENT_ID: 'self-care',
      HEAT2MQTT_USERNAME: ME.username,
      HEAT2MQTT_PASSWORD_FILE: '/run/secrets/heat_password',
      HEAT2MQTT_MQTT_URL: home.broker.url,
      HEAT2MQTT_HTTP_LISTEN: `127.0.0.1:${home.httpPort}`,
      ...more,
    },
    files: { '/run/secrets/heat_password': `${ME.password}\n` },
  });
  await probe.until(STATE, () => true);
  return { probe, container };
}

test('lives on a read-only root without any capability, by environment and a secret file alone, until SIGTERM', async () => {
  const { container, probe } = await livingContainer();
  const status = await container.status();
  expect(status).toMatch(new RegExp(`^Uid:(\\s+${UID}){4}$`, 'm'));
  expect(status).toMatch(new RegExp(`^Gid:(\\s+${UID}){4}$`, 'm'));
  for (const set of ['Prm', 'Eff', 'Bnd', 'Amb'])
    expect(status).toMatch(new RegExp(`^Cap${set}:\\s+0+$`, 'm'));
  expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
  expect(await container.also(['heat2mqtt', 'healthcheck'])).toMatchObject({ code: 0 });
  const kept = await readdir(container.data, { recursive: true, withFileTypes: true });
  for (const entry of kept) {
    const { uid, mode } = await stat(join(entry.parentPath, entry.name));
    expect([entry.name, uid, mode & 0o077]).toEqual([entry.name, UID, 0]);
  }
  expect(kept.length).toBeGreaterThan(2);
  const show = await container.also(['heat2mqtt', 'config', 'show']);
  expect(show.output).toContain('state_dir: /data # environment STATE_DIRECTORY');

  const began = performance.now();
  await container.kill('TERM');
  expect(await container.exited).toBe(0);
  expect(performance.now() - began).toBeLessThan(LONGEST_STOP_MS);
  await waitFor('offline', () => probe.last('heat2mqtt/bridge/state')?.payload === 'offline');
});

test('is healthy without HTTP, too', async () => {
  const { container } = await livingContainer({ HEAT2MQTT_HTTP: 'false' });
  expect(await container.also(['heat2mqtt', 'healthcheck'])).toMatchObject({ code: 0, output: 'healthy\n' });
});

test('what docs/docker.md tells to type into the container works there', async () => {
  const { container } = await livingContainer();
  const page = await readFile(join(ROOT, 'docs/docker.md'), 'utf8');
  const told = [...page.matchAll(/^docker compose (?:exec|run --rm) heat2mqtt (?:heat2mqtt )?(.+)$/gm)];
  expect(told.map(([, words]) => words)).toEqual(['check --live', 'config show', 'usage', 'login']);
  for (const [, words = ''] of told) {
    const { code, output } = await container.also(['heat2mqtt', ...words.split(' ')]);
    expect([words, code, output]).toEqual([words, 0, expect.stringMatching(/\n/)]);
  }
});

test('without a daemon the healthcheck says 1, and a configuration that says nothing 3', async () => {
  const stack = openStack();
  const port = await freePort();
  const env = { HEAT2MQTT_CONSTITUENCIES_HOUSE_NO: '34', HEAT2MQTT_HTTP_LISTEN: `127.0.0.1:${port}` };
  const alone = await startContainer(stack, { command: ['healthcheck'], env });
  expect(await alone.exited).toBe(1);
  const empty = await startContainer(stack);
  expect([await empty.exited, empty.output]).toEqual([3, expect.stringContaining('accounts')]);
});
