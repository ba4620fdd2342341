// heat2mqtt setup: what it asks, what it tries at once, and the file that it writes.
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { createServer } from 'node:tls';
import { beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { unitOf, writeService } from '../../src/cli/setup.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { startBroker } from '../../src/mqtt/broker.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { DISCOVERY_PATH, idTokenWith, TOKEN_PATH } from '../auth/account.ts';
import { openAuthority } from '../support/authority.ts';
import { LOCALHOST } from '../support/certificate.ts';
import { home, ME, METER, person, quiet } from '../support/homes.ts';
import { listening } from '../support/listening.ts';
import { startPretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { startTlsEnd } from '../support/tlsEnd.ts';
import { typed } from '../support/typed.ts';
import { waitFor } from '../support/waitFor.ts';

let stack: Stack;
let simulator: Simulator;
let folder: string;
let config: string;
let told: string;

beforeEach(async () => {
  stack = openStack();
  const accounts = [person('me', [home(METER, quiet({ since: '2026-01-01' }))])];
  simulator = stack.use(await startSimulator({ clock: systemClock, accounts }));
  folder = await stack.folder();
  config = join(folder, 'config.yaml');
  told = '';
});

type Answer = string | null | (() => Promise<string | null> | string | null);

/** Each question takes the next of its answers, and the last one again; a question without any takes Enter. */
async function answered(answers: Readonly<Record<string, Answer | readonly Answer[]>>, more = {}) {
  const left = new Map(Object.entries(answers).map(([start, some]) => [start, [some].flat()]));
  const result = await typed(['setup', '--config', config], {
    hear: (text) => {
      told += text;
    },
    ask: async (question, isHidden) => {
      expect([question, isHidden ?? false]).toEqual([question, /^Password|token/.test(question)]);
      const [, some = ['']] = [...left].find(([start]) => question.startsWith(start)) ?? [];
      const answer = (some.length > 1 ? some.shift() : some[0]) ?? null;
      return typeof answer === 'function' ? answer() : answer;
    },
    ...more,
  });
  return result.exitCode;
}

/** The configuration that was written. */
const written = async () => parse(await readFile(config, 'utf8'));
const kept = (name: string) => readFile(join(folder, name), 'utf8');
const isPrivate = async (path: string) => ((await stat(path)).mode & 0o777) === 0o600;
const usual = () => ({
  Provider: '2',
  Issuer: simulator.urls.issuer,
  API: simulator.urls.api,
  'Client id': 'self-care',
  'User name on': ME.username,
  'Password on that page': ME.password,
  'MQTT broker': 'none',
});

test('from nothing to a file that `check --live` is content with, with one login', async () => {
  expect(await answered({ ...usual(), Next: ['1', ''] })).toBe(0);
  expect(told).toMatch(
    /ok: the issuer answers.*ok: signed in; heat meters: 70418235.*Only this machine reaches it.*Written/s,
  );
  expect(told).not.toContain(ME.password);
  expect([await isPrivate(config), await isPrivate(join(folder, 'heat-password'))]).toEqual([true, true]);
  const text = await readFile(config, 'utf8');
  expect(text).not.toContain(ME.password);
  expect(text).toMatch(/^# .*\n(.*\n)* {2}# Where usage reports and invoices are asked for\.\n {2}api_url: /);
  expect(await kept('heat-password')).toBe(`${ME.password}\n`);
  expect(parse(text)).toMatchObject({
    provider: { issuer: simulator.urls.issuer, scopes: ['openid', 'service-energy'] },
    accounts: [{ username: ME.username, password_file: './heat-password' }],
    mqtt: { embedded: { port: 1883, host: '127.0.0.1' } },
    state_dir: './state',
  });
  // The first offer of what comes next.
  expect(told).toMatch(/What comes next\?.*ok {5}provider for home.*Next \(number\) \[3\]: $/s);
  expect(told).not.toContain('FAILED');
  expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
});

test('each answer is tried at once, and a refused one stays as the default of the next try, but for a time zone', async () => {
  const broker = stack.use(await startBroker({ username: 'me', password: 'broker word' }));
  const home = stack.use(await startPretendHomeAssistant());
  const { issuer, api } = simulator.urls;
  await answered({
    ...usual(),
    Provider: ['', '3', 'https://id.example.org', '2'],
    Issuer: ['nonsense', `${issuer}-not`, issuer],
    API: ['http://127.0.0.1:9/api', api],
    'Time zone': ['Europe/Atlantis', 'Europe/Berlin'],
    'Password on that page': ['not it', ME.password],
    // Without its scheme.
    'MQTT broker': broker.url.replace('mqtt://', ''),
    'User name at the broker': ['', 'me'],
    'Password at the broker': 'broker word',
    'Home Assistant': [home.url, `127.0.0.1:${home.port}`],
    'Its access token': ['another', 'a-long-lived-token'],
  });
  for (const words of [
    /Allowed: a number from 1 to 2.*Allowed: a number from 1 to 2/s,
    /provider\.issuer: found.*allowed.*Issuer[^\n]* \[nonsense\].*could not|refused/s,
    /No answer to the first request to the API: ECONNREFUSED.*Keep this all the same\?.*API[^\n]* \[http:\/\/127\.0\.0\.1:9\/api\].*ok: the API answers/s,
    // A place that does not exist is not offered again.
    /usage\.timezone: found [^[]*Time zone[^\n]* \[(?!Europe\/Atlantis)/,
    /refused.*Keep this all the same\? \[n\].*Are the addresses wrong\?.*ok: signed in/s,
    /The broker refused.*ok: the broker answers/s,
    /token.*ok: Home Assistant 2026\.10 answers/s,
    'not tried by us',
  ])
    expect(told).toMatch(words);
  expect(await written()).toMatchObject({
    usage: { timezone: 'Europe/Berlin' },
    mqtt: { url: broker.url, username: 'me', password_file: './mqtt-password' },
    home_assistant: { url: `http://127.0.0.1:${home.port}`, token_file: './ha-token' },
  });
  expect(await kept('mqtt-password')).toBe('broker word\n');
  expect(await kept('ha-token')).toBe('a-long-lived-token\n');
  expect(simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 1 });
});

test('a broker with an authority of its own: asks for its certificate, and writes where that is', async () => {
  const authority = join(folder, 'ca.pem');
  const other = join(folder, 'other.pem');
  await writeFile(authority, LOCALHOST.cert);
  await writeFile(other, 'nonsense');
  const plain = stack.use(await startBroker());
  const server = createServer(
    LOCALHOST,
    (socket) => void pipeline(socket, connect(plain.port), socket, () => undefined),
  );
  const url = `mqtts://127.0.0.1:${await listening(server)}`;
  stack.defer(() => void server.close());
  const certificate = "File with the authority's certificate";
  const answers = { ...usual(), 'MQTT broker': url, [certificate]: [`${other}-not`, other, authority] };
  expect(await answered(answers)).toBe(0);
  expect(told).toMatch(/unknown authority.*mqtt\.ca_file: found no such file.*ok: the broker answers/s);
  expect((await written()).mqtt).toEqual({ url, ca_file: './ca.pem' });

  config = join(folder, 'kept.yaml');
  told = '';
  await answered({ ...usual(), 'MQTT broker': url, Keep: 'y' });
  expect(told).toMatch(/check --live --config .*kept\.yaml \(not all of it worked\)/);
  expect((await written()).mqtt).toEqual({ url });
});

test('a provider with an authority of its own: asks for its certificate, for the issuer and for the API', async () => {
  const ours = openAuthority();
  const authority = join(folder, 'ca.pem');
  const nonsense = join(folder, 'nonsense.pem');
  await writeFile(authority, ours.cert);
  await writeFile(nonsense, 'nonsense');
  const { issuer, api } = simulator.urls;
  const plain = new URL(issuer);
  const secure = `https://localhost:${await startTlsEnd(stack, ours.server(), Number(plain.port))}`;
  const moved = (body: unknown) => JSON.parse(JSON.stringify(body).replaceAll(plain.origin, secure));
  const certificate = "File with the authority's certificate";
  const secured = { Issuer: issuer.replace(plain.origin, secure), API: api.replace(plain.origin, secure) };
  simulator.switches.fault(DISCOVERY_PATH, { kind: 'change', change: moved });
  simulator.switches.fault(TOKEN_PATH, idTokenWith({ iss: secured.Issuer }));
  expect(await answered({ ...usual(), ...secured, [certificate]: [nonsense, authority] })).toBe(0);
  expect(told).toMatch(
    /certificate of the issuer.*provider\.ca_file: found no certificate.*ok: the issuer.*ok: the API.*ok: signed in/s,
  );
  expect((await written()).provider).toMatchObject({ issuer: secured.Issuer, ca_file: './ca.pem' });

  config = join(folder, 'api.yaml');
  told = '';
  simulator.switches.clearFaults();
  await answered({ ...usual(), API: secured.API, [certificate]: authority });
  expect(told).toMatch(/ok: the issuer.*certificate of the API.*ok: the API answers.*ok: signed in/s);
  expect((await written()).provider).toMatchObject({ issuer, ca_file: './ca.pem' });
});

test('the login budget counts here too', async () => {
  const keep = ['n', 'n', 'n', 'y'];
  await answered({ ...usual(), 'Password on that page': ['not it', ''], Keep: keep });
  expect(told).toMatch(/To keep the account from being locked|to keep the account from being locked/);
  expect(told).toContain('wait and try again here');
  expect(told).not.toContain('Poll now');
  expect(simulator.counters.passwordGrants.asked).toBeLessThan(3);
  expect((await written()).accounts).toHaveLength(1);
});

test('addresses that turn out wrong only after the login can be corrected', async () => {
  const { api } = simulator.urls;
  expect(await answered({ ...usual(), API: [`${api}/elsewhere`, api], Are: 'y' })).toBe(0);
  expect((await written()).provider.api_url).toBe(api);
  expect(simulator.counters.passwordGrants.ok).toBeLessThan(3);
});

test('without a password: on another device', async () => {
  simulator.switches.token.devicePollSeconds = 0.01;
  const agreed = waitFor('a user code', () => simulator.device.pending()[0]).then((code) =>
    simulator.device.approve(code, ME.username),
  );
  expect(await answered({ ...usual(), 'Password on that page': '' })).toBe(0);
  await agreed;
  const { provider, accounts } = await written();
  expect([provider.sign_in, accounts]).toEqual(['device', [{ username: ME.username }]]);
  expect(await typed(['check', '--live', '--config', config])).toMatchObject({ exitCode: 0 });
});

test('a password file that is there is taken by Enter, and never written over', async () => {
  await writeFile(join(folder, 'heat-password'), 'an old one\n');
  expect(await answered({ ...usual(), 'Password on that page': ['', ME.password] })).toBe(0);
  expect(told).toMatch(/Enter alone: the one in \.\/heat-password\).*refused.*ok: signed in/s);
  expect(await kept('heat-password')).toBe('an old one\n');
  expect((await written()).accounts[0].password_file).toBe('./heat-password-2');
  expect(await kept('heat-password-2')).toBe(`${ME.password}\n`);
});

test.each([
  ['typed', 'word of the house', /^word of the house\n$/],
  ['made up', '', /^[\w-]{20}\n$/],
])('an own broker that others reach has a user, its password %s', async (_, typedPassword, password) => {
  expect(await answered({ ...usual(), Shall: 'y', 'Password for them': typedPassword })).toBe(0);
  expect(told).toMatch(/Every machine reaches it as home/);
  expect((await written()).mqtt).toEqual({
    embedded: { port: 1883, host: '0.0.0.0', username: 'home', password_file: './mqtt-password' },
  });
  expect(await kept('mqtt-password')).toMatch(password);
  expect(await isPrivate(join(folder, 'mqtt-password'))).toBe(true);
});

test('a service or a container has a place for its state: the file names none', async () => {
  expect(await answered(usual(), { env: { STATE_DIRECTORY: join(folder, 'elsewhere') } })).toBe(0);
  expect(await written()).not.toHaveProperty('state_dir');
  expect((await stat(join(folder, 'elsewhere', 'accounts'))).isDirectory()).toBe(true);
});

test('a file that is there is not touched; nobody at the input, or an early end: exit 2, and no file', async () => {
  await writeFile(config, 'mine');
  await expect(answered(usual())).rejects.toMatchObject({ exitCode: 2 });
  expect(await readFile(config, 'utf8')).toBe('mine');
  config = join(folder, 'other.yaml');
  await expect(answered(usual(), { isInteractive: false })).rejects.toMatchObject({ exitCode: 2 });
  await expect(answered({ ...usual(), 'MQTT broker': null })).rejects.toMatchObject({
    code: 'setup_ended',
    exitCode: 2,
  });
  await expect(kept('heat-password')).rejects.toThrow('ENOENT');
  await expect(stat(config)).rejects.toThrow('ENOENT');
  config = join(folder, 'nowhere', 'config.yaml');
  await expect(answered(usual())).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('ENOENT'),
  });
});

test('the service is this program with this configuration as this user; without a unit there is none', async () => {
  const program = join(folder, 'dist/heat2mqtt.js');
  const configuration = join(folder, 'my 100 %/config.yaml');
  for (const name of ['dist', 'systemd', 'my 100 %']) await mkdir(join(folder, name));
  expect(unitOf(program)).toBeNull();
  await writeFile(program, '');
  expect(unitOf(program)).toBeNull();
  await writeFile(join(folder, 'systemd/heat2mqtt.service'), '');
  const unit = unitOf(program);
  if (unit === null) throw new Error('a unit is there');
  const file = join(folder, 'my 100 %/heat2mqtt-service.conf');
  expect(await writeService(configuration, unit)).toContain(
    `"${file}" /etc/systemd/system/heat2mqtt.service.d/`,
  );
  expect(await isPrivate(file)).toBe(true);
  const own = `${folder}/my 100 %%`;
  for (const line of [
    `ExecStart="${process.execPath}" "${program}" run --config "${own}/config.yaml"`,
    `User=${userInfo().username}`,
    `ReadWritePaths="${own}"`,
  ])
    expect((await readFile(file, 'utf8')).split('\n')).toContain(line);
});
