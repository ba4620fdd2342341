// Where the file is looked for, what is said when it cannot be used, and where the paths in it lead.
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigInvalid } from '../../src/config/faults.ts';
import { findConfigFile, loadConfig } from '../../src/config/load.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { LOCALHOST } from '../support/certificate.ts';
import { BASE, faultPaths, folderOfFiles, load, NOW, PROVIDER, refusal } from './loading.ts';

const { path: directory, file } = folderOfFiles();
const MORE = { now: () => NOW, scrubber: createScrubber() };

describe('findConfigFile', () => {
  const find = (explicit: string | undefined, named: string | undefined, ...there: string[]) =>
    findConfigFile(explicit, { HEAT2MQTT_CONFIG: named }, (path) => there.includes(path));

  it.each([
    ['a', 'b', ['a', 'b', 'config.yaml'], 'a'],
    [undefined, '', ['/data/config.yaml', 'config.yaml'], 'config.yaml'],
    [undefined, undefined, ['/etc/heat2mqtt/config.yaml', '/data/config.yaml'], '/data/config.yaml'],
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
    const path = await file('c.yaml', `\ufeff${BASE}`);
    expect((await loadConfig({ ...MORE, env: {}, path })).path).toBe(path);
    const refuses = (at: string, words: string) =>
      expect(loadConfig({ ...MORE, env: {}, path: at })).rejects.toThrow(words);
    await refuses(directory(), `${directory()}: found a directory (Docker`);
    await refuses(`${path}.no`, 'found no such file; allowed');
    await refuses(await file('utf16', Buffer.from(BASE, 'utf16le')), 'found no mapping');
    await refuses(await file('latin1', Uint8Array.of(0xff, 0xfe, 0x61)), 'not UTF-8 text');
  });

  it.each([
    ['- a\n- b\n', /^config.yaml: found no mapping; allowed: keys and values/],
    [`${BASE}mqtt:\n\turl: x\n`, /^config.yaml, line 9, column 1: found a tab/],
    [`${BASE}mqtt: { url: [ }\n`, /^config.yaml, line 8, column \d+: found /],
    [`${BASE}---\na: b\n`, /^config.yaml, line 8, column 1: found a second document/],
    [
      `${BASE}mqtt: &m\n  url: *m\n`,
      /^config.yaml, line 9, column 8: found a value starting with \* that is within/,
    ],
    [
      `${BASE}http: &h\n  <<: *h\n`,
      /^config.yaml, line 9, column 7: found a value starting with \* that is within/,
    ],
    [
      `${BASE}x: &x\n  - &y [*x]\n`,
      /^config.yaml, line 9, column 9: found a value starting with \* that is within/,
    ],
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

  it('may be empty, and have anchors', async () => {
    await load('# nothing\n', { HEAT2MQTT_CONSTITUENCIES_CHAMBER: 'seanad' });
    const yaml = BASE.replace('issuer: ', 'issuer: &id ').replace(/client_id: .*/, 'client_id: *id');
    const { config } = await load(yaml);
    expect(config.provider?.client_id).toBe(config.provider?.issuer);
  });

  it('has names of meters as they are written', async () => {
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

  it('has unknown keys where they mean something to JavaScript', async () => {
    const paths = await faultPaths(`${BASE}__proto__: { a: 1 }\nconstructor: 1\nmqtt: { toString: 1 }\n`);
    expect(paths.sort()).toEqual(['__proto__', 'constructor', 'mqtt.toString']);
  });
});

describe('relative paths', () => {
  const loadFrom = async (yaml: string, env: Record<string, string> = {}) =>
    loadConfig({ ...MORE, env, path: await file('config.yaml', `${PROVIDER}${yaml}`) });

  it('in the file count from its folder, in the environment from the working directory', async () => {
    await file('heat-password', 'word of the heat\n');
    await mkdir(join(directory(), 'tls'));
    await writeFile(join(directory(), 'tls/ca.pem'), LOCALHOST.cert);
    const secret = 'accounts: [{ username: me, password_file: ./heat-password }]\n';
    const { config, warnings } = await loadFrom(
      `${secret}mqtt: { ca_file: tls/ca.pem }\nstate_dir: ./state\n`,
    );
    expect(await config.accounts[0]?.password?.read()).toBe('word of the heat');
    expect(config.mqtt.ca_file).toBe(join(directory(), 'tls/ca.pem'));
    expect([config.state_dir, warnings]).toEqual([join(directory(), 'state'), []]);
    // Also where there is one of that name in both.
    await mkdir(join(directory(), 'fixtures'));
    const both = await loadFrom(`${secret}state_dir: fixtures\n`);
    expect([both.config.state_dir, both.warnings]).toEqual([join(directory(), 'fixtures'), []]);

    const HEAT2MQTT_PASSWORD_FILE = join(relative('.', directory()), 'heat-password');
    const env = { HEAT2MQTT_PASSWORD_FILE, HEAT2MQTT_STATE_DIR: 'state-of-the-environment' };
    const other = (await loadFrom('accounts: [{ username: me }]\n', env)).config;
    expect(await other.accounts[0]?.password?.read()).toBe('word of the heat');
    expect(other.state_dir).toBe('state-of-the-environment');
  });

  it('to what is in the working directory only are taken from there, with a warning', async () => {
    const { config, warnings } = await loadFrom(
      'accounts: [{ username: me, password: x of y }]\nstate_dir: fixtures\n',
    );
    expect(config.state_dir).toBe(resolve('fixtures'));
    expect(warnings).toEqual([expect.stringMatching(/^state_dir is taken from the working directory/)]);
  });

  it('with a ~ that no shell has read are warned of', async () => {
    const { warnings } = await loadFrom(
      'accounts: [{ username: me, password: x of y }]\nstate_dir: ~/state\n',
    );
    expect(warnings).toEqual([expect.stringMatching(/^state_dir has a folder called ~/)]);
  });

  it('are not told where they may be a password in the wrong key', async () => {
    const refused = loadFrom('accounts: [{ username: me, password_file: hunter2-of-the-heat }]\n');
    await expect(refused).rejects.toThrow(
      /^accounts\.0\.password_file: found no such file of this name in [^;]*; allowed/,
    );
    await expect(refused).rejects.not.toThrow('hunter2');
    const path = loadFrom('accounts: [{ username: me, password_file: ./heat-password }]\n');
    await expect(path).rejects.toThrow(/found no such file: "\/[^"]*\/heat-password"/);
  });
});
