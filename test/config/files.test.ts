// Where the file is looked for, and what is said when it cannot be used.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigInvalid, findConfigFile, loadConfig } from '../../src/config/load.ts';
import { EXIT } from '../../src/foundation/failure.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { openStack } from '../support/stack.ts';
import { BASE, faultPaths, load, NOW, refusal } from './loading.ts';

describe('findConfigFile', () => {
  const find = (explicit: string | undefined, named: string | undefined, ...there: string[]) =>
    findConfigFile(explicit, { HEAT2MQTT_CONFIG: named }, (path) => there.includes(path));

  it.each([
    ['a', 'b', ['a', 'b', 'config.yaml'], 'a'],
    [undefined, 'b', ['b', 'config.yaml'], 'b'],
    [undefined, '', ['/data/config.yaml', 'config.yaml'], 'config.yaml'],
    [undefined, undefined, ['/etc/heat2mqtt/config.yaml', '/data/config.yaml'], '/data/config.yaml'],
    [undefined, undefined, ['/etc/heat2mqtt/config.yaml'], '/etc/heat2mqtt/config.yaml'],
    [undefined, undefined, [], undefined],
  ])('--config %s, $HEAT2MQTT_CONFIG %s, of %j takes %s', (explicit, named, there, path) => {
    expect(find(explicit, named, ...there)).toBe(path);
  });

  it.each([
    ['a', 'b', '--config: found no such file: a; allowed: the path of a readable file'],
    [undefined, 'b', 'HEAT2MQTT_CONFIG: found no such file: b; allowed: the path of a readable file'],
  ])('a named file must be there (%s, %s)', (explicit, named, message) => {
    expect(() => find(explicit, named, 'config.yaml')).toThrow(message);
    expect(() => find(explicit, named)).toThrow(ConfigInvalid);
  });
});

describe('the file', () => {
  it('is read from the disk', async () => {
    const directory = await openStack().folder();
    const path = join(directory, 'c.yaml');
    const options = { env: {}, now: () => NOW, scrubber: createScrubber() };
    await writeFile(path, `\ufeff${BASE}`);
    expect((await loadConfig({ ...options, path })).path).toBe(path);
    const refuses = (at: string, words: string) =>
      expect(loadConfig({ ...options, path: at })).rejects.toThrow(words);
    await refuses(directory, `${directory}: found a directory (Docker`);
    await refuses(`${path}.no`, 'found no such file; allowed');
    await writeFile(path, Buffer.from(BASE, 'utf16le'));
    await refuses(path, 'found no mapping');
    await writeFile(path, Uint8Array.of(0xff, 0xfe, 0x61));
    await refuses(path, 'not UTF-8 text');
  });

  it.each([
    ['- a\n- b\n', /^config.yaml: found no mapping; allowed: keys and values/],
    ['just text', /^config.yaml: found no mapping/],
    [`${BASE}mqtt:\n\turl: x\n`, /^config.yaml, line 9, column 1: found a tab/],
    [`${BASE}mqtt: { url: [ }\n`, /^config.yaml, line 8, column \d+: found /],
    [`${BASE}---\na: b\n`, /^config.yaml, line 8, column 1: found a second document/],
    [`${BASE}  mqtt: x\n`, /^config.yaml, line 8, column \d+: found /],
    [
      'a: &a [x, x, x, x, x, x, x, x, x]\n'.concat(
        ...[...'bcdefg'].map((c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdef'[i]}`)}]\n`),
      ),
      /^config.yaml: found no mapping/,
    ],
  ])('%#: one line with its place', async (yaml, says) => {
    const { message } = await refusal(yaml);
    expect(message).toMatch(says);
    expect(message).not.toContain('\n');
  });

  it('an empty one leaves the word to the environment', async () => {
    await load('# nothing\n', { HEAT2MQTT_CONSTITUENCIES_CHAMBER: 'seanad' });
  });

  it('anchors and aliases work', async () => {
    const { config } = await load(
      BASE.replace('issuer: ', 'issuer: &id ').replace(/client_id: .*/, 'client_id: *id'),
    );
    expect(config.provider?.client_id).toBe(config.provider?.issuer);
  });

  it('names of meters stay as they are written', async () => {
    const names = [`🔥 "1" '2' {{ x }}`, '7', '0x10', 'ä'.repeat(64)];
    const keys = ['007', '12345678901234567890', "'toString'", 'HM-7'];
    const lines = keys.map((key, at) => `  ${key}: { name: ${JSON.stringify(names[at])} }`);
    const { config } = await load(`${BASE}meters:\n${lines.join('\n')}\n  8: { name: ' 0123 ' }\n`);
    expect(config.meters).toEqual({
      '007': { name: names[0] },
      '12345678901234567890': { name: names[1] },
      toString: { name: names[2] },
      'HM-7': { name: names[3] },
      '8': { name: '0123' },
    });
    expect((await load(`${BASE}meters:\n`)).config.meters).toEqual({});
  });

  it('keys that mean something to JavaScript are unknown keys', async () => {
    expect(
      (await faultPaths(`${BASE}__proto__: { a: 1 }\nconstructor: 1\nmqtt: { toString: 1 }\n`)).sort(),
    ).toEqual(['__proto__', 'constructor', 'mqtt.toString']);
  });

  it('a failure is final, and leads to exit code 3', async () => {
    expect(await refusal('')).toMatchObject({
      code: 'config_invalid',
      retry: 'never',
      exitCode: EXIT.config,
    });
  });
});
