// compose.fleet.yaml against the program and its image: every variable is known, and no container has more rights than it needs.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { load } from '../config/loading.ts';

const read = async (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const { services, secrets, volumes, configs } = parse(await read('compose.fleet.yaml'), { merge: true });
const { version } = JSON.parse(await read('package.json'));
const WORKERS = ['heat2mqtt-1', 'heat2mqtt-2', 'heat2mqtt-3'];
const KEY = 'aW52ZW50ZWQga2V5IG9mIDMyIGJ5dGVzLCBubyBtb3I=';

test.each([...WORKERS, 'owner'])('%s: its variables are a whole configuration', async (name) => {
  const { environment } = services[name];
  const readSecret = async (path: string) =>
    path.endsWith('key') ? `${KEY}\n` : 'postgresql://heat2mqtt:secret@postgres/heat2mqtt\n';
  const { config, origins } = await load(undefined, environment, { readFile: readSecret });
  expect(config.fleet?.database_url.origin).toBe(
    `file /run/secrets/${name === 'owner' ? 'owner' : 'worker'}_url`,
  );
  expect(config.provider?.keep_alive).toBe(false);
  const given = [...origins.values()].filter((origin) => origin.startsWith('environment'));
  expect(new Set(given).size).toBe(Object.keys(environment).length);
});

test('its secrets, volumes and configurations exist, and each is used', () => {
  const all = Object.values<Record<string, readonly string[]>>(services);
  expect(new Set(all.flatMap((one) => one.secrets ?? []))).toEqual(new Set(Object.keys(secrets)));
  expect(Object.keys(volumes)).toEqual(['postgres', 'mosquitto']);
  const sources = [...services.postgres.configs, ...services.mosquitto.configs];
  expect(new Set(sources.map(({ source }) => source))).toEqual(new Set(Object.keys(configs)));
});

test('a worker has neither the password nor the address of the owner', () => {
  for (const name of WORKERS) expect(services[name].secrets).toEqual(['worker_url', 'fleet_key']);
});

test.each([...WORKERS, 'owner', 'postgres', 'mosquitto'])(
  '%s: a read-only root, no capability, a pinned image',
  (name) => {
    expect(services[name]).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      image: expect.stringMatching(/:\d+\.\d+(\.\d+)?$/),
    });
    expect(services[name].privileged).toBeUndefined();
  },
);

test('names the image of this version', () => {
  for (const name of WORKERS) expect(services[name].image).toBe(`ghcr.io/heat2mqtt/heat2mqtt:${version}`);
});
