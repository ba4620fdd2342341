// Every secret from every source, with odd characters, and files that change under our hands.
import { rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/schema.ts';
import { type Secret, SecretUnreadable } from '../../src/config/secret.ts';
import { EXIT } from '../../src/foundation/failure.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { BASE, load, PROVIDER, refusal } from './loading.ts';
import { ACCOUNT_ONLY, secretFiles } from './secretFiles.ts';

interface Place {
  readonly name: string;
  readonly section: (more: string) => string;
  readonly key: string;
  readonly variable: string;
  readonly credential: string;
  readonly pick: (config: Config) => Secret | undefined;
}

const { path: directory, file } = secretFiles();

const below =
  (head: string, indent = '  ') =>
  (more: string) =>
    more === '' ? head : `${head}${indent}${more}\n`;
const MQTT = below(`${ACCOUNT_ONLY}mqtt:\n  username: u\n`);

const PLACES: Place[] = [
  {
    name: 'account password',
    section: below(`${PROVIDER}accounts:\n  - username: u\n`, '    '),
    key: 'password',
    variable: 'HEAT2MQTT_PASSWORD',
    credential: 'password',
    pick: (config) => config.accounts[0]?.password,
  },
  {
    name: 'MQTT password',
    section: MQTT,
    key: 'password',
    variable: 'HEAT2MQTT_MQTT_PASSWORD',
    credential: 'mqtt_password',
    pick: (config) => config.mqtt.password,
  },
  {
    name: 'key password',
    section: MQTT,
    key: 'key_password',
    variable: 'HEAT2MQTT_MQTT_KEY_PASSWORD',
    credential: 'mqtt_key_password',
    pick: (config) => config.mqtt.key_password,
  },
  {
    name: 'Home Assistant token',
    section: below(`${ACCOUNT_ONLY}home_assistant:\n  url: ws://ha:8123\n`),
    key: 'token',
    variable: 'HEAT2MQTT_HOME_ASSISTANT_TOKEN',
    credential: 'home_assistant_token',
    pick: (config) => config.home_assistant?.token,
  },
  {
    name: 'password of the page',
    section: below(`${ACCOUNT_ONLY}web:\n  hosts: []\n`),
    key: 'password',
    variable: 'HEAT2MQTT_WEB_PASSWORD',
    credential: 'web_password',
    pick: ({ web }) => (web === false ? undefined : web.password),
  },
];

const ODD = [
  `p ä"$'#:%`,
  `\${HOME}`,
  '$(id)',
  'null',
  '!secret x',
  ' blank around ',
  'tab\there',
  '0123',
  '🔥\\n',
  '{{ x }}',
];
const single = (value: string) => `'${value.replaceAll("'", "''")}'`;

describe.each(PLACES)('$name', ({ section, key, variable, credential, pick }) => {
  it.each(ODD)('%j arrives unchanged from all five sources', async (value) => {
    const scrubber = createScrubber();
    const path = await file(credential, `${value}\n`);
    const sources: [string, string, Record<string, string>, string][] = [
      ['inline', section(`${key}: ${single(value)}`), {}, 'inline'],
      ['file', section(`${key}_file: ${path}`), {}, `file ${path}`],
      ['environment', section(''), { [variable]: value }, `environment ${variable}`],
      ['environment file', section(''), { [`${variable}_FILE`]: path }, `file ${path}`],
      ['credential', section(''), { CREDENTIALS_DIRECTORY: directory() }, `file ${path}`],
    ];
    for (const [source, yaml, env, origin] of sources) {
      const secret = pick((await load(yaml, env, { scrubber })).config);
      expect([source, await secret?.read(), secret?.origin]).toEqual([source, value, origin]);
    }
    expect(scrubber.scrub(`x ${value} y`)).toBe('x [secret] y');
  });

  it('given by two variables is a fault', async () => {
    const path = await file('x', 'x');
    const refused = await refusal(section(''), {
      [variable]: 'canary',
      [`${variable}_FILE`]: path,
    });
    expect(refused.message).toContain(`both ${variable} and ${variable}_FILE`);
    expect(refused.faults).toHaveLength(1);
  });

  it('the environment replaces the pair of the file', async () => {
    const path = await file('x', 'from the file');
    const fromText = await load(section(`${key}_file: /nowhere`), { [variable]: 'env' });
    expect(await pick(fromText.config)?.read()).toBe('env');
    const fromFile = await load(section(`${key}: inline`), { [`${variable}_FILE`]: path });
    expect(await pick(fromFile.config)?.read()).toBe('from the file');
    const both = await load(section(`${key}: inline`), { CREDENTIALS_DIRECTORY: directory() });
    expect(await pick(both.config)?.read()).toBe('inline');
  });

  it('a changed file counts at once; a vanished one is told as such, and comes back', async () => {
    const path = await file('x', 'before');
    const secret = pick((await load(section(`${key}_file: ${path}`))).config);
    await writeFile(path, 'after\n');
    expect(await secret?.read()).toBe('after');
    await rm(path);
    const gone = await secret?.read().catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(SecretUnreadable);
    expect(gone).toMatchObject({ code: 'secret_unreadable', retry: 'later', exitCode: EXIT.config });
    expect(String(gone)).toContain(`${path} cannot be read: no such file`);
    await writeFile(path, '\n');
    await expect(secret?.read()).rejects.toThrow('it is empty');
    await writeFile(path, 'back');
    expect(await secret?.read()).toBe('back');
  });

  it('a file that cannot be read is a fault at its key, without naming what may be the secret', async () => {
    for (const [path, says] of [
      ['/nowhere/canary', 'no such file'],
      [directory(), 'a directory'],
      [await file('empty', '\r\n'), 'it is empty'],
      [await file('latin1', Uint8Array.of(0x70, 0xe4)), 'not UTF-8 text'],
    ] as const) {
      const { faults, message } = await refusal(section(`${key}_file: ${path}`));
      expect(faults).toHaveLength(1);
      expect(faults[0]).toMatchObject({ path: expect.stringMatching(`${key}_file$`), found: says });
      expect(message).not.toContain('canary');
    }
  });
});

it('a missing file is named where its folder exists: that is no password', async () => {
  const missing = `${directory()}/heat_pasword`;
  const { faults } = await refusal(`${PROVIDER}accounts: [{ username: u, password_file: ${missing} }]\n`);
  expect(faults).toEqual([
    expect.objectContaining({ path: 'accounts.0.password_file', found: `no such file: ${missing}` }),
  ]);
});

describe('newlines', () => {
  it.each([
    ['a\n', 'a'],
    ['a\r\n', 'a'],
    ['a\n\n', 'a\n'],
    ['\na', '\na'],
    ['a ', 'a '],
    ['a\r', 'a\r'],
    ['\ufeffa', '\ufeffa'],
  ])('%j is %j', async (content, value) => {
    const path = await file('x', content);
    const { config } = await load(BASE, { HEAT2MQTT_PASSWORD_FILE: path });
    expect(await config.accounts[0]?.password?.read()).toBe(value);
  });
});

describe('YAML', () => {
  it.each([
    ['0123', '0123'],
    ['1e3', '1e3'],
    ['true', 'true'],
    [`p ä"$'#:%`, `p ä"$'#:%`],
    ['p#x', 'p#x'],
    [`\${HOME}`, `\${HOME}`],
  ])('an unquoted %s is taken as written', async (written, value) => {
    const { config } = await load(`${PROVIDER}accounts:\n  - username: 00420\n    password: ${written}\n`);
    expect(await config.accounts[0]?.password?.read()).toBe(value);
    expect(config.accounts[0]?.username).toBe('00420');
  });

  it.each([
    '*canary',
    '&canary',
    '&canary x',
    '!canary',
    '!canary x',
    '@canary',
    '{canary',
    '"\\canary"',
    '"canary',
    'canary: x',
  ])('an unquoted %s is refused with a place and without the text', async (written) => {
    const { message, faults } = await refusal(
      `${PROVIDER}accounts:\n  - username: u\n    password: ${written}\n`,
    );
    expect(faults).toHaveLength(1);
    expect(message).toMatch(/^config.yaml, line [678], column \d+: found .*single quotes/);
    expect(message).not.toContain('canary');
  });
});
