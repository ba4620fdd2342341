// compose.yaml and compose.fleet.yaml against the program and its image: every variable is known, and no container has more rights than it
// needs.
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { load } from '../config/loading.ts';
import { openStack } from '../support/stack.ts';

const read = async (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const { version } = JSON.parse(await read('package.json'));
const home = parse(await read('compose.yaml'));
const fleet = parse(await read('compose.fleet.yaml'), { merge: true });
const WORKERS = ['heat2mqtt-1', 'heat2mqtt-2', 'heat2mqtt-3'];
const KEY = 'aW52ZW50ZWQga2V5IG9mIDMyIGJ5dGVzLCBubyBtb3I=';
const secretOf = (path: string) =>
  path.endsWith('_url') ? 'postgresql://heat2mqtt:secret@postgres/heat2mqtt\n' : `${KEY}\n`;

/** As it was installed before variables had a file of their own, and then edited. */
const EDITED = `services:
  heat2mqtt:
    environment:
      HEAT2MQTT_PROVIDER_ISSUER: https://heat.example.com/auth/realms/energy
      HEAT2MQTT_USAGE_SCHEDULE: "23 */6 * * *"
      HEAT2MQTT_PASSWORD_FILE: /run/secrets/heat_password
    secrets: [heat_password]
`;

/** What is in .env, as its example says it. */
async function userVariables(name: string): Promise<Record<string, string>> {
  const variables = parseEnv(await read('.env.example')) as Record<string, string>;
  if (name !== 'heat2mqtt') delete variables.HEAT2MQTT_USERNAME;
  return variables;
}

/** As Compose does where .env has none of them. */
const interpolated = (environment: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(/^\$\{([A-Z0-9_]+):?-(.*)\}$/, (_, variable, usual) => {
        expect(variable).toBe(name);
        return usual;
      }),
    ]),
  );

describe.each([
  ['compose.yaml', home, ['heat2mqtt'], ['heat2mqtt', 'mosquitto']],
  ['compose.fleet.yaml', fleet, [...WORKERS, 'owner'], ['postgres', 'mosquitto']],
])('%s', (_, { services, secrets, volumes, configs }, programs, kept) => {
  test.each(programs)('%s: its variables and those of .env are a whole configuration', async (name) => {
    expect(services[name].env_file).toEqual(['.env']);
    const environment = { ...(await userVariables(name)), ...interpolated(services[name].environment) };
    const { config, origins } = await load(undefined, environment, {
      readFile: async (path) => secretOf(path),
    });
    const given = [...origins.values()].filter((origin) => origin.startsWith('environment'));
    expect(new Set(given).size).toBe(Object.keys(environment).length);
    const origin = config.fleet?.database_url.origin ?? config.accounts[0]?.password?.origin;
    const secret = { owner: 'owner_url', heat2mqtt: 'heat_password' }[name] ?? 'worker_url';
    expect(origin).toBe(`file /run/secrets/${secret}`);
    expect(config.provider?.keep_alive).toBe(config.fleet === undefined);
  });

  test('its secrets, volumes and configurations exist, and each is used', () => {
    const all = Object.values<Record<string, readonly string[]>>(services);
    expect(new Set(all.flatMap((one) => one.secrets ?? []))).toEqual(new Set(Object.keys(secrets)));
    expect(Object.keys(volumes)).toEqual(kept);
    const sources = Object.values<{ configs?: readonly { source: string }[] }>(services).flatMap((one) =>
      (one.configs ?? []).map(({ source }) => source),
    );
    expect(new Set(sources)).toEqual(new Set(Object.keys(configs)));
  });

  test.each(Object.keys(services))('%s: a read-only root, no capability, a pinned image', (name) => {
    const isOurs = programs.includes(name) && name !== 'owner';
    expect(services[name]).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      image: isOurs ? `ghcr.io/heat2mqtt/heat2mqtt:${version}` : expect.stringMatching(/:\d+\.\d+(\.\d+)?$/),
    });
    expect(services[name].privileged).toBeUndefined();
  });
});

test('what Compose reads by itself is known to git as what is not its own, and nothing of it stands in the files', async () => {
  const ignored = (await read('.gitignore')).split('\n');
  for (const own of ['/.env', '/compose.override.yaml', '/fleet/', '/accounts.csv', 'heat_password'])
    expect(ignored).toContain(own);
  for (const name of ['compose.yaml', 'compose.fleet.yaml'])
    expect(await read(name)).not.toMatch(/example\.org|accounts\.csv/);
});

test('the commands for an edited compose.yaml take its variables over, and git pulls the new one', async () => {
  const page = await read('docs/upgrading.md');
  const [, block = ''] = /## If you have edited compose.yaml\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(page) ?? [];
  const folder = await openStack().folder();
  const shell = (script: string) => execFileSync('sh', ['-euc', script], { cwd: folder, encoding: 'utf8' });
  const git = 'git -c user.name=A -c user.email=a@example.org -c init.defaultBranch=main';
  await writeFile(join(folder, 'old.yaml'), EDITED.replace('heat.example.com', 'id.example.org'));
  await writeFile(join(folder, 'edited.yaml'), EDITED);
  await writeFile(join(folder, 'new.yaml'), await read('compose.yaml'));
  shell(`mkdir theirs && cd theirs && ${git} init -q && cp ../old.yaml compose.yaml && ${git} add . && ${git} commit -qm old
    cd .. && ${git} clone -q theirs mine && cp edited.yaml mine/compose.yaml
    cp new.yaml theirs/compose.yaml && cd theirs && ${git} commit -qam new`);
  expect(() => shell('cd mine && git pull -q 2>/dev/null')).toThrow();
  shell(`cd mine\n${block}`);
  expect(await readFile(join(folder, 'mine/compose.yaml'), 'utf8')).toBe(await read('compose.yaml'));
  expect(parseEnv(await readFile(join(folder, 'mine/.env'), 'utf8'))).toEqual({
    HEAT2MQTT_PROVIDER_ISSUER: 'https://heat.example.com/auth/realms/energy',
    HEAT2MQTT_USAGE_SCHEDULE: '23 */6 * * *',
    HEAT2MQTT_PASSWORD_FILE: '/run/secrets/heat_password',
  });
  expect(await readFile(join(folder, 'mine/my-compose-changes.diff'), 'utf8')).toContain('heat.example.com');
});

test('a worker has neither the password nor the address of the owner', () => {
  for (const name of WORKERS) expect(fleet.services[name].secrets).toEqual(['worker_url', 'fleet_key']);
});
