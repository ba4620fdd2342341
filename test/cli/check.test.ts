// heat2mqtt check: which secrets it names and what it says of them, and what is allowed but probably not meant.
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { startBroker } from '../../src/mqtt/broker.ts';
import { openServer } from '../../src/web/server.ts';
import { home, ME, METER, person, quiet } from '../support/homes.ts';
import { startPretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { startStrictBroker, type Verdicts } from '../support/strictBroker.ts';
import { environmentAt, openProviderFor, typed } from '../support/typed.ts';
import { openWire } from '../support/wire.ts';

const NOT_AUTHORIZED = 0x87;
const TOTP = 'HEAT2MQTTEXAMPLE';

let stack: Stack;
let folder: string;

beforeEach(async () => {
  stack = openStack();
  folder = await stack.folder();
});

/** Every line of check with a single account, whose password is to be given. */
async function checked(more: Record<string, string>): Promise<string> {
  const { HEAT2MQTT_PASSWORD, ...env } = environmentAt(join(folder, 'state'));
  return (await typed(['check'], { env: { ...env, ...more } })).out;
}

test('counts the characters of a password and of a secret of one-time codes, and shows none', async () => {
  const out = await checked({
    HEAT2MQTT_PASSWORD: 'demo-of-the-heat',
    HEAT2MQTT_TOTP_SECRET: `otpauth://totp/me?secret=${TOTP}`,
  });
  expect(out).toContain('ok     password of home: 16 characters, environment HEAT2MQTT_PASSWORD\n');
  expect(out).toContain('ok     totp_secret of home: 16 characters of base32, environment');
  expect(out).not.toMatch(new RegExp(`${TOTP}|demo-of`));
  const without = await checked({ HEAT2MQTT_PROVIDER_SIGN_IN: 'device' });
  expect(without).toContain('ok     state directory');
  expect(without).not.toMatch(/password|totp/);
});

test('goes on to the next check when its user may not look into the state directory', async () => {
  await writeFile(join(folder, 'state'), 'no directory');
  const out = await checked({
    HEAT2MQTT_PASSWORD: 'demo',
    HEAT2MQTT_METERS_70418235_WITNESS_TOPIC: 'wmbusmeters/58496405',
    HTTPS_PROXY: 'http://proxy.example.org:3128',
  });
  expect(out).toContain('FAILED witness of 70418235: The state directory cannot be read');
  expect(out).toContain('ok     proxy');
});

test('says what to do when the environment names a proxy that is not used', async () => {
  const usual = { HEAT2MQTT_PASSWORD: 'demo' };
  expect(await checked(usual)).not.toContain('proxy');
  const out = await checked({ ...usual, HTTPS_PROXY: 'http://me:secret-word@proxy.example.org:3128' });
  expect(out).toContain('ok     proxy: HTTPS_PROXY: set and not used, everything is reached directly\n');
  expect(out).toContain('NODE_USE_ENV_PROXY=1');
  expect(out).not.toMatch(/secret-word|proxy\.example/);
});

test.each([
  ['\ufeffcanary bird', 'a byte order mark at its beginning'],
  ['cana\0ry', 'a NUL'],
  ['cana\u200bry', 'an invisible character'],
  ['cana\x07ry', 'a control character'],
  ['canary \n', 'a blank at its end'],
  ['canary\u00a0', 'a blank at its end'],
  ['\tcanary', 'a blank at its beginning'],
  [`'canary'\n`, 'quotes around it'],
  ['"canary"', 'quotes around it'],
  ['canary\n\n', 'a second newline at its end'],
  ['canary\r\n\r\n', 'a second newline at its end'],
  ['canary\r', 'a second newline at its end'],
  ['cana\nry', 'more than one line'],
  [
    '\ufeffpassword \n\n',
    'a byte order mark at its beginning, a blank at its end and a second newline at its end',
  ],
])('tells what is odd about a password, and nothing of it, when it is %j', async (content, oddity) => {
  const file = join(folder, 'password');
  await writeFile(file, content, { mode: 0o600 });
  const out = await checked({ HEAT2MQTT_PASSWORD_FILE: file });
  expect(out).toMatch(/^ok {5}password of home: \d+ characters, file \S+$/m);
  expect(out).toContain(
    `The file ${file} has ${oddity}, and is sent as it is. If that is not meant, take it out.\n`,
  );
  expect(out).not.toContain('cana');
});

test('looks at a password in the configuration or the environment too, and minds no blank within one', async () => {
  const path = join(folder, 'config.yaml');
  await writeFile(path, JSON.stringify({ mqtt: { username: 'me', password: 'pass word ' } }), {
    mode: 0o600,
  });
  const out = await checked({ HEAT2MQTT_CONFIG: path, HEAT2MQTT_PASSWORD: ' pass word' });
  expect(out).toContain('What is in HEAT2MQTT_PASSWORD has a blank at its beginning, and is sent');
  expect(out).toContain('What is in the configuration has a blank at its end, and is sent');
  expect(await checked({ HEAT2MQTT_PASSWORD: 'correct horse – bättery\n' })).not.toContain('sent as it is');
  // Of these the blanks around are no part.
  const totp = `  ${TOTP} \n\n`;
  expect(await checked({ HEAT2MQTT_PASSWORD: 'x1', HEAT2MQTT_TOTP_SECRET: totp })).not.toContain(
    'sent as it is',
  );
});

test('names each secret that every user of the machine can read, with what to do', async () => {
  const path = join(folder, 'config.yaml');
  const file = join(folder, 'secret');
  await writeFile(file, 'demo-of-the-heat');
  const configuration = {
    mqtt: { username: 'me', password: 'demo-of-the-house' },
    web: { password_file: file },
    home_assistant: { url: 'http://homeassistant.local:8123', token_file: file },
  };
  await writeFile(path, JSON.stringify(configuration));
  const env = { HEAT2MQTT_CONFIG: path, HEAT2MQTT_PASSWORD_FILE: file, HEAT2MQTT_TOTP_SECRET: TOTP };
  for (const each of [path, file]) await chmod(each, 0o644);
  const everyone = (which: string, what: string) =>
    `. Every user of this machine can read ${which}: chmod 600 ${what}\n`;
  const out = await checked(env);
  expect(out).toContain(`ok     password of the broker: 17 characters, inline${everyone(path, path)}`);
  for (const name of ['password of home', 'password of the page', 'token of Home Assistant'])
    expect(out).toContain(`ok     ${name}: 16 characters, file ${file}${everyone('it', file)}`);
  for (const each of [path, file]) await chmod(each, 0o640);
  expect(await checked(env)).not.toContain('Every user');
});

test('tells when there is a symbolic link in the state directory', async () => {
  const state = join(folder, 'state');
  await mkdir(join(state, 'accounts'), { recursive: true });
  await symlink(folder, join(state, 'accounts/home'));
  const out = await checked({ HEAT2MQTT_PROVIDER_SIGN_IN: 'device' });
  expect(out).toContain('accounts/home is a symbolic link, and is not followed).\n       Take the link away');
});

test('warns and goes on, as run does, when something is allowed but probably not meant', async () => {
  // `run` adds listeners for faults that nobody expected.
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    const before = process.rawListeners(event);
    stack.defer(() => {
      process.removeAllListeners(event);
      for (const listener of before) process.on(event, listener as () => void);
    });
  }
  const usual = {
    HEAT2MQTT_CONSTITUENCIES_CHAMBER: 'dail',
    HEAT2MQTT_HTTP: 'false',
    HEAT2MQTT_STATE_DIR: join(folder, 'state'),
    HEAT2MQTT_MQTT_EMBEDDED_PORT: '0',
  };
  const beside = { ...usual, HEAT2MQTT_MQTT_URL: 'mqtt://u:p@elsewhere' };
  async function said(words: string, env: Record<string, string>) {
    const { exitCode, out, err } = await typed(words.split(' '), { env, interrupted: AbortSignal.abort() });
    expect(exitCode).toBe(0);
    return out + err;
  }
  const warning = 'mqtt.url is not used, because mqtt.embedded starts a broker of its own';
  const lines = (await said('run', beside)).split('\n');
  expect(lines.filter((line) => line.includes('"level":"warn"'))).toEqual([expect.stringContaining(warning)]);
  expect(await said('check', beside)).toMatch(/^ok {4} configuration: .*\n {7}mqtt\.url is not/);
  expect(JSON.parse(await said('check --json', beside))).toMatchObject({
    ok: true,
    checks: [{ hint: expect.stringContaining(warning) }, {}, {}, {}],
  });
  for (const word of ['run', 'check']) expect(await said(word, usual)).not.toContain('mqtt.url');
});

test('says in words that the port of a broker of our own is taken', async () => {
  const HEAT2MQTT_MQTT_EMBEDDED_PORT = String(stack.use(await startBroker()).port);
  const env = { HEAT2MQTT_MQTT_EMBEDDED_PORT, HEAT2MQTT_CONSTITUENCIES_CHAMBER: 'dail' };
  await expect(
    typed(['run'], { env: { ...env, HEAT2MQTT_HTTP: 'false', HEAT2MQTT_STATE_DIR: folder } }),
  ).rejects.toMatchObject({
    message: expect.stringMatching(/mqtt\.embedded.*EADDRINUSE/),
    hint: expect.stringContaining('mqtt.url'),
  });
});

test('tries the port of a broker of our own, unless the daemon that runs may have it', async () => {
  const { port } = stack.use(await startBroker());
  const at = async (brokerPort: number, more: Record<string, string> = {}) => {
    const HEAT2MQTT_MQTT_EMBEDDED_PORT = String(brokerPort);
    return checked({ HEAT2MQTT_PASSWORD: 'demo', HEAT2MQTT_MQTT_EMBEDDED_PORT, ...more });
  };
  expect(await at(port)).toMatch(/^FAILED own broker: .*EADDRINUSE.*\n {7}.*mqtt\.url/m);
  expect(await at(0)).toContain('ok     own broker: 127.0.0.1:0\n');
  const daemon: RequestListener = (_, response) => response.end('healthy\n');
  const page = stack.use(await openServer('127.0.0.1:0', daemon, { clock: systemClock }));
  const listen = { HEAT2MQTT_HTTP: '', HEAT2MQTT_HTTP_LISTEN: `127.0.0.1:${page.port}` };
  expect(await at(port, listen)).toContain(
    `ok     own broker: 127.0.0.1:${port}, with the daemon that runs\n`,
  );
});

test('tries everything with --live, without a login when there is a session; the worst is the exit code', async () => {
  const { simulator, env } = await openProviderFor(
    person('me', [home(METER, quiet({ since: '2026-01-01' }))]),
  );
  const broker = await startBroker();
  const assistant = stack.use(await startPretendHomeAssistant());
  const check = async (token = assistant.switches.token, others: Record<string, string> = {}) => {
    const home = { HEAT2MQTT_HOME_ASSISTANT_URL: assistant.url, HEAT2MQTT_HOME_ASSISTANT_TOKEN: token };
    const more = { ...home, ...others };
    const { exitCode, out } = await typed(['check', '--live', '--json'], {
      env: { ...env, ...more, HEAT2MQTT_MQTT_URL: broker.url },
    });
    expect(out).not.toMatch(/another-token|pässwort/);
    const { ok, checks } = JSON.parse(out);
    return { exitCode, ok, out, codes: checks.flatMap(({ code = [] }) => code) };
  };
  const fine = { exitCode: 0, ok: true, codes: [] };
  expect(await check()).toMatchObject({ ...fine, out: expect.stringContaining('signed in, 1 heat meter') });
  const { out, ...again } = await check();
  expect(again).toEqual(fine);
  expect(out).toContain('the stored session is good (the password was not tried), ');
  expect(out).toContain('version 2026.10, statistics can be written');
  expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
  assistant.switches.timezone = 'Europe/Berlin';
  const days = 'its time zone is not usage.timezone: days may begin at another hour there';
  expect(await check()).toMatchObject({ ...fine, out: expect.stringContaining(days) });
  const sensor = { HEAT2MQTT_HOME_ASSISTANT_OUTDOOR_TEMPERATURE: 'sensor.balcony' };
  expect(await check(undefined, sensor)).toMatchObject({
    exitCode: 7,
    codes: ['home_assistant_no_temperatures'],
  });
  expect(await check('another-token')).toMatchObject({
    exitCode: 7,
    codes: ['home_assistant_token_refused'],
  });
  await typed(['logout'], { env });
  simulator.changePassword(ME.username, 'another one');
  await broker.stop();
  const codes = ['bad_credentials_or_locked', 'broker_unreachable'];
  expect(await check()).toMatchObject({ exitCode: 4, ok: false, codes });
});

test.each([
  ['nowhere', 'connected with MQTT 5, may write below heat2mqtt and homeassistant', 0],
  ['heat2mqtt/', 'The broker refuses heat2mqtt/bridge/check: not authorized.', 6],
  [
    'homeassistant/',
    'The broker refuses homeassistant/device/heat2mqtt_bridge_check/config: not authorized.\n       Give its',
    6,
  ],
])('fails with --live when the broker lets us write nothing below %s', async (place, words, code) => {
  const { env } = await openProviderFor(person('me', [home(METER, quiet({ since: '2026-01-01' }))]));
  const { url } = await startStrictBroker({
    publish: (topic) => (topic.startsWith(place) ? NOT_AUTHORIZED : 0),
  });
  const { exitCode, out } = await typed(['check', '--live'], { env: { ...env, HEAT2MQTT_MQTT_URL: url } });
  expect([exitCode, out]).toEqual([code, expect.stringContaining(words)]);
});

test.each<[string, Verdicts, number, readonly string[], string]>([
  [
    'takes all subscriptions',
    {},
    0,
    [
      'ok     subscriptions: the broker takes all: heat2mqtt/bridge/request/+, heat2mqtt/bridge/state, heat2mqtt/bridge/info, homeassistant/status',
    ],
    'FAILED',
  ],
  [
    'refuses one',
    { subscribe: (filter) => (filter.startsWith('homeassistant/') ? NOT_AUTHORIZED : 1) },
    6,
    [
      "FAILED subscriptions: The broker refuses the subscription to homeassistant/status: not authorized. Lost with it: Home Assistant's birth message",
      '\n       Give its user the right to read there',
    ],
    'subscription to heat2mqtt',
  ],
  [
    'refuses all',
    { subscribe: () => NOT_AUTHORIZED },
    6,
    ['heat2mqtt/bridge/request/+: not', 'homeassistant/status: not', 'heat2mqtt/meter/+/history: not'],
    'takes all',
  ],
  [
    'ends the connection over two of them',
    { subscribe: (filter) => (filter.includes('+') ? null : 1) },
    6,
    [
      'heat2mqtt/bridge/request/+: it ends the connection when that is asked for. Lost with it: requests',
      'heat2mqtt/meter/+/history: it ends the connection',
    ],
    'subscription to homeassistant',
  ],
  [
    'ends the connection over the place of devices',
    { publish: (topic) => (topic.startsWith('homeassistant/') ? null : 0) },
    6,
    [
      'FAILED broker: The broker refuses homeassistant/device/heat2mqtt_bridge_check/config: it ends the connection when that is sent.',
      'ok     subscriptions',
    ],
    'not acknowledged',
  ],
  [
    'retains and acknowledges nothing',
    { announced: { retainAvailable: 0, maximumQos: 0 } },
    0,
    ['ok     broker: connected with MQTT 5\n       The broker does not retain messages', 'Maximum QoS is 0'],
    'may write below',
  ],
])('says so with --live when a broker %s', async (_, verdicts, code, words, missing) => {
  const { env } = await openProviderFor(person('me', [home(METER, quiet({ since: '2026-01-01' }))]));
  const { url } = await startStrictBroker(verdicts);
  const { exitCode, out } = await typed(['check', '--live'], { env: { ...env, HEAT2MQTT_MQTT_URL: url } });
  for (const part of words) expect(out).toContain(part);
  expect(out).not.toContain(missing);
  expect(exitCode).toBe(code);
});

test.each([
  ['check', '--live'],
  ['uninstall', '--yes'],
])('uses a client id of its own, so that two of %s at once do not throw each other out', async (...words) => {
  const heard = new Set<string>();
  const broker = stack.use(
    await openWire(undefined, (socket, packet) => {
      heard.add(/heat2mqtt_\w+/.exec(packet.toString('latin1'))?.[0] ?? 'none');
      socket.destroy();
    }),
  );
  const env = {
    HEAT2MQTT_CONSTITUENCIES_BASE_URL: 'https://127.0.0.1:1',
    HEAT2MQTT_STATE_DIR: folder,
    HEAT2MQTT_MQTT_URL: broker.url,
    HEAT2MQTT_MQTT_PROTOCOL: '3.1.1',
  };
  const visit = () => typed(words, { env }).catch(() => undefined);
  await Promise.all([visit(), visit()]);
  const names = [...heard].map((id) => id.replace(/[0-9a-f]{8}$/, ''));
  expect(names).toEqual(Array(2).fill(`heat2mqtt_${words[0]}_`));
});

test('tells the next five polls, and that day of month and weekday must both be true', async () => {
  const given = { HEAT2MQTT_PASSWORD: 'demo-of-the-heat', HEAT2MQTT_USAGE_SCHEDULE: '15 6 13 * 5' };
  const out = await checked(given);
  const [line = '', hint] = out.slice(out.indexOf('ok     schedule: ')).split('\n');
  expect(line.match(/Fri \d{4}-\d{2}-13 06:15/g)).toHaveLength(5);
  expect(line).toMatch(/ \(Europe\/Dublin\), each up to 600 s later \(usage.jitter_seconds\)$/);
  expect(hint).toMatch(/^ {7}It names days of the month and days of the week: here a day must be both/);
  const daily = await checked({ ...given, HEAT2MQTT_USAGE_SCHEDULE: '0 15 6 * * ?' });
  expect(daily).toMatch(/schedule: 0 15 6 \* \* \? polls next at \w{3} .* 06:15/);
  expect(daily).not.toContain('cron(8)');
});

test('tells the address of the page, or why there is none, and when something else has its port', async () => {
  const given = { HEAT2MQTT_PASSWORD: 'demo-of-the-heat', HEAT2MQTT_HTTP: '' };
  const at = (listen: string, more = {}) => checked({ ...given, HEAT2MQTT_HTTP_LISTEN: listen, ...more });
  expect(await at('127.0.0.1:0')).toContain('ok     page: http://127.0.0.1:0/\n');
  expect(await at('0.0.0.0:0')).toMatch(
    /^ok {5}page: There is no page: http\.listen is 0\.0\.0\.0:0, .*no password\.\n {7}Set web\.password or /m,
  );
  expect(await at('0.0.0.0:0', { HEAT2MQTT_WEB: 'false' })).toContain(
    'page: switched off (web: false); health',
  );
  for (const [words, said] of [
    ['healthy', 'ok     page: http://127.0.0.1:PORT/, served by the daemon that runs'],
    ['something else', 'FAILED page: Cannot listen on 127.0.0.1:PORT (EADDRINUSE).'],
  ] as const) {
    const answer: RequestListener = (_, response) => response.end(`${words}\n`);
    const { port } = stack.use(await openServer('127.0.0.1:0', answer, { clock: systemClock }));
    expect(await at(`127.0.0.1:${port}`)).toContain(said.replace('PORT', String(port)));
  }
});

test('prints each mistake below the first one, what a host alone may mean, and that a password is short', async () => {
  const given = { HEAT2MQTT_PASSWORD: 'demo-of-the-heat' };
  const out = await checked({ ...given, HEAT2MQTT_MQTT_URL: '192.168.1.5', HEAT2MQTT_LOG_LEVEL: 'loud' });
  const [first, ...others] = out.trimEnd().split('\n');
  expect(first).toMatch(/^FAILED configuration: /);
  expect(others.filter((line) => !line.startsWith('       '))).toEqual([]);
  expect(out).toContain('%XX (did you mean mqtt://192.168.1.5:1883?)');
  const short = 'It is soon guessed by whoever reaches the page: take at least 8 characters';
  expect(await checked({ ...given, HEAT2MQTT_WEB_PASSWORD: 'abc' })).toContain(short);
  expect(await checked({ ...given, HEAT2MQTT_WEB_PASSWORD: 'correct horse' })).not.toContain(short);
  expect(await checked({ HEAT2MQTT_PASSWORD: 'abc' })).not.toContain(short);
});
