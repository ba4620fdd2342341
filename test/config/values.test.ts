// Kinds of values: how close a schedule comes, addresses, and what is made from the schema.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { configReference } from '../../scripts/docs/configuration.ts';
import { exampleConfig } from '../../scripts/docs/example.ts';
import { allKeys, configJsonSchema, mappingOf, settableKeys } from '../../src/config/keys.ts';
import { pageAddress } from '../../src/config/pageAddress.ts';
import { timeZone } from '../../src/config/values.ts';
import { nextTimes } from '../../src/engine/schedule.ts';
import { BASE, load } from './loading.ts';

/** The names of the time zones as the database of this machine writes them. */
const TZDATA = '/usr/share/zoneinfo/tzdata.zi';

test.each([
  ['23 */4 * * *', null],
  ['5 */15 * * * *', null],
  ['30 1,2 * * 1-5', null],
  ['0 0 1 1 *', null],
  ['* * * * * *', 'at least 15 minutes'],
  ['*/25 * * * *', 'at least 15 minutes'],
  ['10-30/10 6-8 * * MON', 'at least 15 minutes'],
  ['55,5 0,23 * * *', 'at least 15 minutes'],
  // Ranges that go on after the last value.
  ['15-10 * * * *', 'at least 15 minutes'],
  ['*/5 22-2 * * *', 'at least 15 minutes'],
  // An hour of a Sunday in March that the clock leaves out.
  ['15 1 29 3 0', 'exist in Europe/Dublin'],
  ['99 * * * *', '5 or 6 fields'],
])('the schedule %s: %s', async (expression, mistake) => {
  const loading = load(`${BASE}usage: { schedule: '${expression}' }\n`, {}, { nextTimes });
  if (mistake === null) expect((await loading).config.usage.schedule).toBe(expression);
  else await expect(loading).rejects.toThrow(mistake);
});

test.each([
  ['http://homeassistant.local:8123', 'ws://homeassistant.local:8123/api/websocket'],
  ['http://192.168.1.7:8123/lovelace/0?edit=1', 'ws://192.168.1.7:8123/api/websocket'],
  ['http://[::1]:8123', 'ws://[::1]:8123/api/websocket'],
  ['ws://ha:8123', 'ws://ha:8123/api/websocket'],
  ['https://ha.example.org', 'wss://ha.example.org/api/websocket'],
  ['wss://ha.example.org/', 'wss://ha.example.org/api/websocket'],
  ['ws://supervisor/core/websocket', 'ws://supervisor/core/websocket'],
])('Home Assistant at %s', async (given, url) => {
  const { config } = await load(`${BASE}home_assistant: { url: '${given}', token: abcdef }\n`);
  expect(config.home_assistant?.url).toBe(url);
});

test.each([
  ['europe/dublin', 'Europe/Dublin'],
  ['EUROPE/DUBLIN', 'Europe/Dublin'],
  ['america/port_of_spain', 'America/Port_of_Spain'],
  ['antarctica/dumontdurville', 'Antarctica/DumontDUrville'],
  ['utc', 'UTC'],
  // An alias stays the name that was meant.
  ['asia/kolkata', 'Asia/Kolkata'],
  ['Asia/Kolkata', 'Asia/Kolkata'],
  ['ASIA/CALCUTTA', 'Asia/Calcutta'],
  ['europe/kyiv', 'Europe/Kyiv'],
  ['gb-eire', 'GB-Eire'],
  ['nz-chat', 'NZ-CHAT'],
  ['us/east-indiana', 'US/East-Indiana'],
  ['est5edt', 'EST5EDT'],
  ['etc/gmt+5', 'Etc/GMT+5'],
  ['america/argentina/comodrivadavia', 'America/Argentina/ComodRivadavia'],
])('the time zone %s is the one that the engine knows as %s', async (given, meant) => {
  const { config } = await load(`${BASE}usage: { timezone: ${given} }\n`);
  expect(config.usage.timezone).toBe(meant);
  const env = { HEAT2MQTT_USAGE_TIMEZONE: given };
  expect((await load(BASE, env)).config.usage.timezone).toBe(meant);
});

test.skipIf(!existsSync(TZDATA))(
  'every name of the time zone database is found whatever its case',
  async () => {
    const database = await readFile(TZDATA, 'utf8');
    const links = [...database.matchAll(/^L \S+ (\S+)$/gm)].map(([, name = '']) => name);
    const zones = [...database.matchAll(/^Z (\S+) /gm)].map(([, name = '']) => name);
    const names = [...links, ...zones].filter((name) => timeZone.safeParse(name).success);
    const known = new Set(names);
    expect(known.size).toBeGreaterThan(500);
    const isFound = (name: string) => known.has(timeZone.parse(name.toUpperCase()));
    expect(names.filter((name) => !isFound(name))).toEqual([]);
    expect(names.map((name) => timeZone.parse(name.toLowerCase()))).toEqual(names);
  },
);

test('rounded shares of what the heat is made from may add up to 101', async () => {
  const shares = [33.5, 33.5, 34].map((percent) => `{ name: x, percent: ${percent} }`);
  const { config } = await load(`${BASE}statement: { heat_source: [${shares}] }\n`);
  expect(config.statement.heat_source).toHaveLength(3);
});

const PI = { name: 'Pi', isApp: false };
const WITH_PASSWORD = 'web: { password: correct horse }';
const NAMED = 'web: { password: correct horse, hosts: [heat.example.org] }';
const INGRESS = 'homeassistant://hassio/ingress/a1b2c3d4_heat2mqtt';
const PROXIED = 'web: { password: correct horse, hosts: [heat.example.org], trusted_proxy: 127.0.0.1 }';
test.each<[string, string, string | null, typeof PI?]>([
  ["{ listen: '192.168.1.10:8099' }", WITH_PASSWORD, 'http://192.168.1.10:8099/'],
  ["{ listen: '[fd00::7]:8099' }", WITH_PASSWORD, 'http://[fd00::7]:8099/'],
  ["{ listen: '192.168.1.10:8099' }", '', null],
  ["{ listen: '192.168.1.10:8099' }", 'web: false', null],
  ["{ listen: '192.168.1.10:0' }", WITH_PASSWORD, null],
  ["{ listen: '127.0.0.1:8099' }", WITH_PASSWORD, null],
  ["{ listen: '0.0.0.0:8099' }", WITH_PASSWORD, 'http://pi.local:8099/'],
  ["{ listen: '[::]:8099' }", WITH_PASSWORD, 'http://pi.local:8099/'],
  ["{ listen: '0.0.0.0:8099' }", NAMED, 'http://heat.example.org:8099/'],
  ["{ listen: '127.0.0.1:8099' }", PROXIED, 'https://heat.example.org/'],
  ['false', WITH_PASSWORD, null],
  [
    "{ listen: '0.0.0.0:8099' }",
    WITH_PASSWORD,
    'http://pi.example.org:8099/',
    { ...PI, name: 'pi.example.org' },
  ],
  // The id of a container.
  ["{ listen: '0.0.0.0:8099' }", WITH_PASSWORD, null, { ...PI, name: '0a1b2c3d4e5f' }],
  ["{ listen: '0.0.0.0:8099' }", WITH_PASSWORD, INGRESS, { name: 'a1b2c3d4-heat2mqtt', isApp: true }],
])('http: %s and %s: the page is at %s', async (http, web, address, machine = PI) => {
  const { config } = await load(`${BASE}http: ${http}\n${web}\n`);
  expect(pageAddress(config, machine)).toBe(address);
});

it('docs/configuration.md is current', async () => {
  await expect(configReference()).toMatchFileSnapshot('../../docs/configuration.md');
});

it('each key is described and has an example', () => {
  for (const { path, schema } of allKeys())
    expect([path, schema.description]).toEqual([path, expect.stringMatching(/\.$/)]);
  for (const { path, schema } of settableKeys().filter((key) => mappingOf(key.schema) === undefined))
    expect([path, schema.examples ?? [schema.default]]).toEqual([path, [expect.anything()]]);
});

describe('the JSON Schema', () => {
  const schema = configJsonSchema();
  const validator = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);

  it('is plain JSON without words of our own, with both keys of a secret, descriptions and defaults', () => {
    const text = JSON.stringify(schema);
    expect(JSON.parse(text)).toEqual(schema);
    expect(text).not.toMatch(/"(private|readable|essential)":/);
    const reread_days = { type: 'integer', default: 14, description: expect.any(String) };
    const password = { examples: [expect.any(String)] };
    expect(schema).toMatchObject({
      $schema: expect.stringContaining('json-schema.org'),
      properties: {
        usage: { properties: { reread_days } },
        mqtt: { properties: { password, password_file: { type: 'string' } } },
      },
    });
  });

  it('accepts the example and refuses what the schema refuses', () => {
    const example = parse(exampleConfig());
    const isFine = (more: object) => validator.safeParse({ ...example, ...more }).success;
    expect([{}, { colour: 1 }, { http: { listen: 1 } }, { usage: { concurrency: 65 } }].map(isFine)).toEqual([
      ...[true, false, false, false],
    ]);
  });
});
