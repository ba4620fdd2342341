// compose.yaml against the program and its image: every variable is known, and the container has no more rights than it needs.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { load } from '../config/loading.ts';

const read = async (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const { services, secrets, volumes, configs } = parse(await read('compose.yaml'));
const { version } = JSON.parse(await read('package.json'));

test('its variables are a whole configuration', async () => {
  const { environment } = services.heat2mqtt;
  const { config, origins } = await load(undefined, environment, { readFile: async () => 'secret\n' });
  expect(config.accounts[0]?.password?.origin).toBe('file /run/secrets/heat_password');
  expect(config.mqtt.url).toBe('mqtt://mosquitto:1883');
  const given = [...origins.values()].filter((origin) => origin.startsWith('environment'));
  expect(new Set(given).size).toBe(Object.keys(environment).length);
});

test('its secrets, volumes and configurations exist', () => {
  expect(Object.keys(secrets)).toEqual(services.heat2mqtt.secrets);
  expect(Object.keys(volumes)).toEqual(['heat2mqtt', 'mosquitto']);
  expect(services.heat2mqtt.volumes).toEqual(['heat2mqtt:/data']);
  expect(Object.keys(configs)).toEqual([services.mosquitto.configs[0].source]);
});

test.each(['heat2mqtt', 'mosquitto'])('%s: a read-only root, no capability, a pinned image', (name) => {
  expect(services[name]).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    image: expect.stringMatching(/:\d+\.\d+\.\d+$/),
  });
  expect(services[name].privileged).toBeUndefined();
});

test('names the image of this version', () => {
  expect(services.heat2mqtt.image).toBe(`ghcr.io/heat2mqtt/heat2mqtt:${version}`);
});
