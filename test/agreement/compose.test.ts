// compose.yaml and compose.fleet.yaml against the program and its image: every variable is known, and no container has more rights than it
// needs.
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { load } from '../config/loading.ts';

const read = async (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const { version } = JSON.parse(await read('package.json'));
const home = parse(await read('compose.yaml'));
const fleet = parse(await read('compose.fleet.yaml'), { merge: true });
const WORKERS = ['heat2mqtt-1', 'heat2mqtt-2', 'heat2mqtt-3'];
const KEY = 'aW52ZW50ZWQga2V5IG9mIDMyIGJ5dGVzLCBubyBtb3I=';
const secretOf = (path: string) =>
  path.endsWith('_url') ? 'postgresql://heat2mqtt:secret@postgres/heat2mqtt\n' : `${KEY}\n`;

describe.each([
  ['compose.yaml', home, ['heat2mqtt'], ['heat2mqtt', 'mosquitto']],
  ['compose.fleet.yaml', fleet, [...WORKERS, 'owner'], ['postgres', 'mosquitto']],
])('%s', (_, { services, secrets, volumes, configs }, programs, kept) => {
  test.each(programs)('%s: its variables are a whole configuration', async (name) => {
    const { environment } = services[name];
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

test('a worker has neither the password nor the address of the owner', () => {
  for (const name of WORKERS) expect(fleet.services[name].secrets).toEqual(['worker_url', 'fleet_key']);
});
