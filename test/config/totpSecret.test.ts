// The secret of one-time codes: the forms it may have, its sources, and files that hold something else.
import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { totpParameters } from '../../src/config/secretForms.ts';
import { createScrubber } from '../../src/foundation/log.ts';
import { load, PROVIDER, refusal } from './loading.ts';
import { secretFiles } from './secretFiles.ts';

const { path: directory, file } = secretFiles();

const SECRET = 'HEAT2MQTTEXAMPLEABCDEFGHIJKLMNOP';
const account = (more = '') => `${PROVIDER}accounts:\n  - username: u\n    password: p\n${more}`;
const USUAL = { secret: SECRET, algorithm: 'SHA1', digits: 6, period: 30 };

it.each([
  [SECRET, USUAL],
  [' heat 2mqt texa mple abcd efgh ijkl mnop ', USUAL],
  [`${SECRET}====`, USUAL],
  [`otpauth://totp/Heat:u%40example.org?secret=${SECRET}&issuer=Heat&image=x`, USUAL],
  [
    `OTPAUTH://TOTP/u?digits=8&algorithm=sha-256&period=60&secret=${SECRET.toLowerCase()}`,
    { secret: SECRET, algorithm: 'SHA256', digits: 8, period: 60 },
  ],
])('%s is understood', (text, parameters) => expect(totpParameters(text)).toEqual(parameters));

it.each([
  '',
  '123456',
  'HEAT2MQTTEXAMPL',
  `${SECRET}1`,
  `${SECRET.slice(0, 8)}=${SECRET}`,
  `https://totp/u?secret=${SECRET}`,
  `otpauth://hotp/u?secret=${SECRET}&counter=1`,
  `otpauth:${SECRET}`,
  'otpauth://totp/u',
  `otpauth://totp/u?secret=${SECRET}&digits=5`,
  `otpauth://totp/u?secret=${SECRET}&digits=x`,
  `otpauth://totp/u?secret=${SECRET}&period=0`,
  `otpauth://totp/u?secret=${SECRET}&algorithm=MD5`,
])('%j is not', (text) => expect(totpParameters(text)).toBeUndefined());

it.each([SECRET, `otpauth://totp/u?secret=${SECRET}`])('%s arrives from all sources', async (value) => {
  const path = await file('totp_secret', `${value}\n`);
  const sources: [string, Record<string, string>, string][] = [
    [`    totp_secret: ${value}\n`, {}, 'inline'],
    [`    totp_secret_file: ${path}\n`, {}, `file ${path}`],
    ['', { HEAT2MQTT_TOTP_SECRET: value }, 'environment HEAT2MQTT_TOTP_SECRET'],
    ['', { HEAT2MQTT_ACCOUNTS_0_TOTP_SECRET: value }, 'environment HEAT2MQTT_ACCOUNTS_0_TOTP_SECRET'],
    ['    totp_secret: x\n', { HEAT2MQTT_TOTP_SECRET_FILE: path }, `file ${path}`],
    ['', { CREDENTIALS_DIRECTORY: directory() }, `file ${path}`],
  ];
  for (const [yaml, env, origin] of sources) {
    const scrubber = createScrubber();
    const secret = (await load(account(yaml), env, { scrubber })).config.accounts[0]?.totp_secret;
    expect([await secret?.read(), secret?.origin]).toEqual([value, origin]);
    expect(scrubber.scrub(`x ${value} y ${SECRET} z`)).toBe('x [secret] y [secret] z');
  }
});

it('nobody has to have it', async () => {
  expect((await load(account())).config.accounts).toEqual([
    { id: 'home', username: 'u', password: expect.anything() },
  ]);
});

it('with several accounts each has its own file among the credentials', async () => {
  await file('totp_secret', 'belongs to none');
  await file('heat2mqtt.MY-FLAT.totp-secret', SECRET);
  const yaml = `${PROVIDER}accounts: [{ id: my-flat, username: a, password: p }, { id: b, username: b, password: p }]\n`;
  const { config, origins } = await load(yaml, { CREDENTIALS_DIRECTORY: directory() });
  expect(config.accounts.map(({ totp_secret }) => totp_secret !== undefined)).toEqual([true, false]);
  expect(origins.get('accounts.0.totp_secret')).toBe('credentials directory');
});

it('a file that holds something else is refused, and told as such later', async () => {
  const path = await file('canary', 'canary');
  const yaml = account(`    totp_secret_file: ${path}\n`);
  expect((await refusal(yaml)).faults).toEqual([
    {
      path: 'accounts.0.totp_secret_file',
      found: 'it holds something else',
      allowed: expect.stringMatching(/^the path of a readable file that holds base32 \(.*otpauth:/),
    },
  ]);
  await writeFile(path, SECRET);
  const secret = (await load(yaml)).config.accounts[0]?.totp_secret;
  await writeFile(path, '123456');
  const refused = await secret?.read().catch((err: unknown) => err);
  expect(refused).toMatchObject({
    code: 'secret_unreadable',
    hint: expect.stringMatching(/has to hold base32/),
  });
  expect(String(refused)).not.toContain('123456');
});
