// Every secret from every source, with odd characters, and files that change under our hands.
import { rm, writeFile } from 'node:fs/promises';
import { describe, expect, it, test } from 'vitest';
import { keysIn, type Secret, totpParameters } from '../../src/config/secret.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { EXIT } from '../../src/foundation/failure.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { brokerAddress, startEmbedded } from '../../src/mqtt/broker.ts';
import { LOCALHOST } from '../support/certificate.ts';
import { logLines } from '../support/logLines.ts';
import { BASE, faultPaths, folderOfFiles, load, PROVIDER, refusal } from './loading.ts';

const { path: directory, file } = folderOfFiles();
const credentials = () => ({ CREDENTIALS_DIRECTORY: directory() });

const ACCOUNT_ONLY = `${PROVIDER}accounts: [{ username: u, password: 'account' }]\n`;
const TOTP = 'HEAT2MQTTEXAMPLEABCDEFGHIJKLMNOP';
const KEY = 'aW52ZW50ZWQga2V5IG9mIDMyIGJ5dGVzLCBubyBtb3I=';
const DATABASE = 'postgresql://worker:pass%20word-of-db@localhost/heat';
const ANY = [`p ä"$'#:%`, `\${HOME}`, 'null', '!secret x', ' blank around ', 'tab\there', '0123', '🔥\\n'];

const ACCOUNT = `${PROVIDER}accounts:\n  - username: u\n`;
const FLEET = `${PROVIDER}fleet:\n`;
const BROKER = `${ACCOUNT_ONLY}mqtt:\n`;
const inBoth = (name: string): [string, string, string[]] => [name.toUpperCase(), name, ['of the heat']];
const AT = 'home_assistant:\n  url: ws://ha:8123\n';
/** The file without the secret, where it is, its name in the environment and among the credentials, and values. */
const PLACES: [yaml: string, path: string, variable: string, credential: string, values: string[]][] = [
  [ACCOUNT, 'accounts.0.password', 'PASSWORD', 'password', ANY],
  [ACCOUNT, 'accounts.0.password', 'ACCOUNTS_0_PASSWORD', 'heat2mqtt.ACCOUNTS-0.password', ['of the heat']],
  [`${ACCOUNT}    password: p\n`, 'accounts.0.totp_secret', 'TOTP_SECRET', 'totp_secret', [TOTP]],
  [`${BROKER}  embedded:\n    username: u\n`, 'mqtt.embedded.password', ...inBoth('mqtt_embedded_password')],
  [`${ACCOUNT_ONLY}web:\n`, 'web.password', ...inBoth('web_password')],
  [`${FLEET}  key: ${KEY}\n`, 'fleet.database_url', 'FLEET_DATABASE_URL', 'fleet_database_url', [DATABASE]],
];

describe.each(PLACES.map(([yaml, ...rest]) => [...rest, yaml] as const))(
  '%s as %s',
  (path, name, credential, values, yaml) => {
    const key = path.split('.').at(-1) ?? '';
    const indent = '  '.repeat(path.split('.').length - 1);
    const variable = `HEAT2MQTT_${name}`;
    const inFile = (line: string) => `${yaml}${indent}${line}\n`;
    const secretOf = async (...given: Parameters<typeof load>): Promise<Secret | undefined> => {
      const { config } = await load(...given);
      const at = path.split('.').reduce<unknown>((value, part) => Object(value)[part], config);
      return at as Secret | undefined;
    };

    it.each(values)('%j arrives unchanged from all five sources', async (value) => {
      const scrubber = createScrubber();
      const there = await file(credential, `${value}\n`);
      const sources: [string, Record<string, string>, string][] = [
        [inFile(`${key}: '${value.replaceAll("'", "''")}'`), {}, 'inline'],
        [inFile(`${key}_file: ${there}`), {}, `file ${there}`],
        [yaml, { [variable]: value }, `environment ${variable}`],
        [yaml, { [`${variable}_FILE`]: there }, `file ${there}`],
        [yaml, credentials(), `file ${there}`],
      ];
      for (const [text, env, origin] of sources) {
        const secret = await secretOf(text, env, { scrubber });
        expect([await secret?.read(), secret?.origin]).toEqual([value, origin]);
      }
      expect(scrubber.scrub(`x ${value} y`)).toBe('x [secret] y');
    });

    it('one key in the environment replaces both of the file, two are a fault', async () => {
      const [value = ''] = values;
      const there = await file('x', value);
      expect(await (await secretOf(inFile(`${key}_file: /nowhere`), { [variable]: value }))?.read()).toBe(
        value,
      );
      const fromFile = await secretOf(inFile(`${key}: not this`), { [`${variable}_FILE`]: there });
      expect(await fromFile?.read()).toBe(value);
      const refused = await refusal(yaml, { [variable]: value, [`${variable}_FILE`]: there });
      expect(refused.message).toContain(`both ${variable} and ${variable}_FILE`);
      expect(refused.faults).toHaveLength(1);
    });

    it('a file that cannot be read is a fault at its key, without naming what may be the secret', async () => {
      for (const [there, says] of [
        ['/nowhere/canary', 'no such file'],
        [`${directory()}/none`, `no such file: "${directory()}/none"`],
        [directory(), 'a directory (Docker'],
        [await file('empty', '\r\n'), 'it is empty: '],
        [await file('latin1', Uint8Array.of(0x70, 0xe4)), 'not UTF-8 text: '],
      ] as const) {
        const { faults, message } = await refusal(inFile(`${key}_file: ${there}`));
        expect(faults).toMatchObject([{ path: `${path}_file`, found: expect.stringContaining(says) }]);
        expect(message).not.toContain('canary');
      }
    });
  },
);

test('a changed file counts at once; a vanished one is told as such, and comes back', async () => {
  const path = await file('x', 'before');
  const { config } = await load(`${ACCOUNT}    password_file: ${path}\n`);
  const secret = config.accounts[0]?.password;
  await writeFile(path, 'after\n');
  expect(await secret?.read()).toBe('after');
  await rm(path);
  const gone = await secret?.read().catch((error: unknown) => error);
  expect(gone).toMatchObject({ code: 'secret_unreadable', retry: 'later', exitCode: EXIT.config });
  expect(String(gone)).toContain(`${path} cannot be read: no such file`);
  await writeFile(path, '\n');
  await expect(secret?.read()).rejects.toThrow('it is empty');
  await writeFile(path, 'back');
  expect(await secret?.read()).toBe('back');
});

test('a changed password of the broker is in the next address', async () => {
  const path = await file('x', 'before');
  const { config } = await load(`${BROKER}  username: home\n  password_file: ${path}\n`);
  const password = async () => (await brokerAddress(config.mqtt, '', 'me')).password;
  expect(await password()).toBe('before');
  await writeFile(path, 'after');
  expect(await password()).toBe('after');
});

test.each([
  ['auto', [5, 4]],
  ['5', [5]],
  ['3.1.1', [4]],
])('with protocol %s and TLS the address has what the configuration says', async (protocol, versions) => {
  const ca = await file('ca', 'of ca');
  const [cert, key] = [await file('cert', LOCALHOST.cert), await file('key', LOCALHOST.key)];
  const files = `ca_file: ${ca}, cert_file: ${cert}, key_file: ${key}, key_password: of the key`;
  const yaml = `mqtt: { ${files}, reject_unauthorized: false, protocol: '${protocol}' }\n`;
  const { config } = await load(`${ACCOUNT_ONLY}${yaml}`);
  expect(await brokerAddress(config.mqtt, 'mqtts://b', 'me')).toEqual({
    ...{ url: 'mqtts://b', clientId: 'me', versions },
    tls: {
      ca: Buffer.from('of ca'),
      cert: Buffer.from(LOCALHOST.cert),
      key: Buffer.from(LOCALHOST.key),
      passphrase: 'of the key',
      rejectUnauthorized: false,
    },
  });
});

test('of the newlines of a secret one at the end is trimmed, and nothing else', async () => {
  for (const [content, value] of [
    ['a\r\n', 'a'],
    ['a\n\n', 'a\n'],
    ['\na', '\na'],
    ['a\r', 'a\r'],
    ['\ufeffa', '\ufeffa'],
  ] as const) {
    for (const env of [
      { HEAT2MQTT_PASSWORD_FILE: await file('x', content) },
      { HEAT2MQTT_PASSWORD: content },
    ]) {
      const { config } = await load(BASE, env);
      expect(await config.accounts[0]?.password?.read()).toBe(value);
    }
  }
});

describe('an unquoted password in YAML', () => {
  const yaml = (written: string) => `${PROVIDER}accounts:\n  - username: 00420\n    password: ${written}\n`;

  it.each(['0123', '1e3', 'true', `p ä"$'#:%`, `\${HOME}`])('%s is taken as written', async (written) => {
    const { config } = await load(yaml(written));
    expect(await config.accounts[0]?.password?.read()).toBe(written);
    expect(config.accounts[0]?.username).toBe('00420');
  });

  it.each([
    ...['*canary', '&canary', '&canary x', '!canary', '!canary x', '@canary', '{canary'],
    ...['"\\canary"', '"canary', 'canary: x'],
  ])('%s is refused with a place and without the text', async (written) => {
    const { message, faults } = await refusal(yaml(written));
    expect(faults).toHaveLength(1);
    expect(message).toMatch(/^config.yaml, line [678], column \d+: found .*single quotes/);
    expect(message).not.toContain('canary');
  });
});

describe('credentials of several accounts', () => {
  const TWO = `${PROVIDER}accounts: [{ id: my-flat, username: a }, { id: house, username: b }]\n`;

  it('the most particular name counts, and those of several accounts go by the id or the place', async () => {
    await file('password', 'of any account');
    // The system lists names in order: one of them comes before the other, one after.
    for (const [id, name] of [
      ['my-flat', 'heat2mqtt.MY-FLAT.password'],
      ['top-flat', 'top-flat.password'],
    ] as const) {
      await file(name, 'one');
      const alone = await load(`${PROVIDER}accounts: [{ id: ${id}, username: a }]\n`, credentials());
      expect(await alone.config.accounts[0]?.password?.read()).toBe('one');
    }
    expect(await faultPaths(TWO, credentials())).toEqual(['accounts.1.password']);
    await file('accounts_1_password', 'two');
    const { config, origins } = await load(TWO, credentials());
    const words = await Promise.all(config.accounts.map(({ password }) => password?.read()));
    expect([...words, origins.get('accounts.0.password')]).toEqual(['one', 'two', 'credentials directory']);
  });

  it('the one of a single account is not taken for the first of several', async () => {
    await file('password', 'of whom?');
    expect(await faultPaths(TWO, credentials())).toEqual(['accounts.0.password', 'accounts.1.password']);
  });

  it("an account called mqtt does not take the broker's password, which needs a name", async () => {
    await file('mqtt_password', 'x');
    const yaml = `${PROVIDER}accounts: [{ id: mqtt, username: a }]\n`;
    expect(await faultPaths(yaml, credentials())).toEqual(['mqtt.username', 'accounts.0.password']);
  });
});

describe('the password of an account', () => {
  const yaml = (way: string, accounts: string) =>
    `${PROVIDER}  sign_in: ${way}\n  redirect_uri: https://portal.example.org/\naccounts: [${accounts}]\n`;

  it.each([
    ['auto', ['accounts.0.password', 'accounts.2.password']],
    ['form', ['accounts.0.password', 'accounts.2.password']],
    // A mistyped way without it is one mistake.
    ['devise', ['provider.sign_in']],
  ])('is needed by each with %s', async (way, paths) => {
    const accounts = '{ id: a, username: a }, { id: b, username: b, password: p }, { id: c, username: c }';
    expect(await faultPaths(yaml(way, accounts))).toEqual(paths);
  });

  it.each(['device', 'link'])('is not needed with %s, and kept where it is there', async (way) => {
    const { config } = await load(yaml(way, '{ id: a, username: a }, { id: b, username: b, password: p }'));
    expect(config.accounts[0]).toEqual({ id: 'a', username: 'a' });
    expect(await config.accounts[1]?.password?.read()).toBe('p');
    // A fleet has no person.
    const fleet = `${yaml(way, '')}fleet: { database_url: '${DATABASE}', key: ${KEY} }\n`;
    expect(await faultPaths(fleet)).toEqual(['provider.sign_in']);
  });
});

describe('the secret of one-time codes', () => {
  const USUAL = { secret: TOTP, algorithm: 'SHA1', digits: 6, period: 30 };
  it.each([
    [TOTP, USUAL],
    [' heat 2mqt texa mple abcd efgh ijkl mnop ', USUAL],
    [`${TOTP}====`, USUAL],
    [`otpauth://totp/Heat:u%40example.org?secret=${TOTP}&issuer=Heat&image=x`, USUAL],
    [
      `OTPAUTH://TOTP/u?digits=8&algorithm=sha-256&period=60&secret=${TOTP.toLowerCase()}`,
      { secret: TOTP, algorithm: 'SHA256', digits: 8, period: 60 },
    ],
  ])('%s is understood', (text, parameters) => expect(totpParameters(text)).toEqual(parameters));

  it.each([
    ...['', '123456', 'HEAT2MQTTEXAMPL', `${TOTP}1`, `HEAT=${TOTP}`, `https://totp/u?secret=${TOTP}`],
    ...[`otpauth://hotp/u?secret=${TOTP}&counter=1`, `otpauth:${TOTP}`, 'otpauth://totp/u'],
    ...['digits=5', 'digits=x', 'period=0', 'algorithm=MD5'].map(
      (x) => `otpauth://totp/u?secret=${TOTP}&${x}`,
    ),
  ])('%j is not', (text) => expect(totpParameters(text)).toBeUndefined());

  it('in a file that holds something else is refused, and told as such later', async () => {
    const path = await file('canary', 'canary');
    const yaml = `${ACCOUNT}    password: p\n    totp_secret_file: ${path}\n`;
    expect((await refusal(yaml)).faults).toMatchObject([
      {
        found: expect.stringContaining('it holds something else'),
        allowed: expect.stringMatching(/readable file that holds base32 /),
      },
    ]);
    const scrubber = createScrubber();
    await writeFile(path, `otpauth://totp/u?secret=${TOTP}`);
    const secret = (await load(yaml, {}, { scrubber })).config.accounts[0]?.totp_secret;
    expect(scrubber.scrub(TOTP)).toBe('[secret]');
    await writeFile(path, '123456');
    const refused = await secret?.read().catch((err: unknown) => err);
    expect(refused).toMatchObject({ hint: expect.stringMatching(/file hold base32/) });
    expect(String(refused)).not.toContain('123456');
  });
});

describe('a fleet', () => {
  const yaml = `${FLEET}  database_url: ${DATABASE}\n  key: ${KEY}\n`;

  test('needs no accounts in the file, logs in for each poll, hides the password in the address, has two keys', async () => {
    const scrubber = createScrubber();
    const other = Buffer.alloc(32, 9).toString('base64');
    const twoKeys = yaml.replace(`key: ${KEY}`, `key: "${KEY}\\n${other}\\n"`);
    const { config } = await load(twoKeys, {}, { scrubber });
    expect(config).toMatchObject({ fleet: { claim_seconds: 60 }, provider: { keep_alive: false } });
    expect(scrubber.scrub('pass word-of-db')).toBe('[secret]');
    const keys = [Buffer.from(KEY, 'base64'), Buffer.alloc(32, 9)];
    expect(keysIn((await config.fleet?.key.read()) ?? '')).toEqual(keys);
    const kept = await load(yaml, { HEAT2MQTT_PROVIDER_KEEP_ALIVE: 'true' });
    expect(kept.config.provider?.keep_alive).toBe(true);
  });

  test.each([
    [`${PROVIDER}fleet: { claim_seconds: 5 }`, ['fleet.claim_seconds', 'fleet.database_url', 'fleet.key']],
    [`${yaml}${AT}  token: abcdefgh\nmqtt: { embedded: true }\n`, ['home_assistant', 'mqtt.embedded']],
  ])('%# is refused at %j', async (text, paths) => expect(await faultPaths(text)).toEqual(paths));
});

describe('the own broker', () => {
  const embedded = (text: string, more = '') => `${BASE}mqtt: { embedded: { ${text} }${more} }\n`;
  const OF_MQTT = ', username: home, password: broker word';

  test.each([
    ['host: 0.0.0.0', '', '127.0.0.1'],
    ['host: "::"', '', '127.0.0.1'],
    [`host: 0.0.0.0${OF_MQTT}`, '', '0.0.0.0'],
    ['host: 0.0.0.0', OF_MQTT, '0.0.0.0'],
    ['host: 127.0.0.1', '', '127.0.0.1'],
  ])('%s%s is reached at %s: beyond this machine only with a user', async (text, more, host) => {
    const { config, notices } = await load(embedded(text, more));
    expect(config.mqtt.embedded).toMatchObject({ host });
    const told = { code: 'broker_on_loopback', hint: expect.stringContaining('mqtt.embedded.password_file') };
    expect(notices).toMatchObject(text.includes(host) ? [] : [told]);
    // All addresses are no address to connect to.
    expect(config.mqtt.url).toBe(`mqtt://${host.replace('0.0.0.0', 'localhost')}:1883`);
  });

  test("has a user that is also the daemon's own, before that of mqtt", async () => {
    const text = 'port: 0, username: home, password: broker word';
    const { config } = await load(embedded(text, ', username: other, password: other word'));
    const broker = await startEmbedded(config.mqtt, { clock: systemClock, log: logLines().log });
    const address = await brokerAddress(config.mqtt, broker?.url ?? '', 'me');
    await broker?.stop();
    expect(address).toMatchObject({ username: 'home', password: 'broker word' });
  });
});
