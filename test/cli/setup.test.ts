// heat2mqtt setup: what it asks, what it tries at once, and the file that it writes.
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { createServer } from 'node:tls';
import { beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { pageWords } from '../../src/cli/setup/page.ts';
import { unitOf, writeService } from '../../src/cli/setup/service.ts';
import { systemClock } from '../../src/foundation/clock.ts';
import { startBroker } from '../../src/mqtt/broker.ts';
import { type Simulator, startSimulator } from '../../src/simulator/provider.ts';
import { DISCOVERY_PATH, idTokenWith, TOKEN_PATH } from '../auth/account.ts';
import { canMount, openSmallDisk } from '../e2e/smallDisk.ts';
import { openAuthority } from '../support/authority.ts';
import { LOCALHOST } from '../support/certificate.ts';
import { home, ME, METER, person, quiet } from '../support/homes.ts';
import { listening } from '../support/listening.ts';
import { startPretendHomeAssistant } from '../support/pretendHomeAssistant.ts';
import { openStack, type Stack } from '../support/stack.ts';
import { startTlsEnd } from '../support/tlsEnd.ts';
import { typed, WITHOUT_PAUSES } from '../support/typed.ts';
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
type Script = Readonly<Record<string, Answer | readonly Answer[]>>;

/** Each question takes the next of its answers, and the last one again; a question without any takes Enter, and `Next` ends it. */
async function answered(answers: Script, more = {}) {
  const script: Script = { [NEXT]: 'q', ...answers };
  const left = new Map(Object.entries(script).map(([start, some]) => [start, [some].flat()]));
  const result = await typed(['setup', '--config', config], {
    columns: 1_000,
    hear: (text) => {
      told += text;
    },
    ask: async (question, isHidden) => {
      if (told.length > 100_000) throw new Error(`asked without end: ${told.slice(0, 3000)}`);
      expect([question, isHidden ?? false]).toEqual([question, /^Password|token/.test(question)]);
      const [start, some = ['']] = [...left].find(([start]) => question.startsWith(start)) ?? [];
      const answer = (some.length > 1 ? some.shift() : some[0]) ?? null;
      // As many offers as there are, the last of them ends it.
      if (start === NEXT && answer === 'q')
        return /(\d+) {2}nothing more now\n$/.exec(told.slice(0, -question.length))?.[1] ?? '';
      return typeof answer === 'function' ? answer() : answer;
    },
    ...more,
  });
  return result.exitCode;
}

const NEXT = 'What comes next';
const WHICH = 'Which one is to be corrected';

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

test('writes a file that `check --live` is content with, with one login, when there is none', async () => {
  expect(await answered({ ...usual(), [NEXT]: ['1', 'q'] })).toBe(0);
  expect(told).toMatch(
    /ok: the issuer answers.*ok: the API answers.*ok: signed in; heat meters: 70418235.*Only this machine reaches it.*Written/s,
  );
  expect(told).not.toContain(ME.password);
  expect([await isPrivate(config), await isPrivate(join(folder, 'heat-password'))]).toEqual([true, true]);
  const text = await readFile(config, 'utf8');
  expect(text).not.toContain(ME.password);
  expect(text).toMatch(/^# .*\n(.*\n)* {2}# Where usage reports and invoices are asked for\.\n {2}api_url: /);
  expect(await kept('heat-password')).toBe(`${ME.password}\n`);
  expect(parse(text)).toEqual({
    version: 1,
    provider: {
      issuer: simulator.urls.issuer,
      api_url: simulator.urls.api,
      client_id: 'self-care',
    },
    accounts: [{ username: ME.username, password_file: './heat-password' }],
    mqtt: { embedded: { port: 1883, host: '127.0.0.1' } },
    usage: { schedule: '23 */4 * * *', timezone: expect.any(String) },
    state_dir: './state',
  });
  expect(told).toMatch(/ok {5}provider for home.*nothing more now\nWhat comes next \(number\) \[\d\]: $/s);
  expect(told).not.toContain('FAILED');
  expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
});

test('asks a refused answer again alone, and never offers the mistake', async () => {
  const broker = stack.use(await startBroker({ username: 'me', password: 'broker word' }));
  const home = stack.use(await startPretendHomeAssistant());
  const { issuer, api } = simulator.urls;
  await answered({
    ...usual(),
    Provider: ['', '3', 'https://id.example.org', '2'],
    Issuer: ['', 'nonsense', `${issuer}-not`, issuer],
    API: ['http://127.0.0.1:9/api', api],
    'Time zone': ['Europe/Atlantis', 'Europe/Berlin'],
    'Password on that page': ['not it', ME.password],
    // Without its scheme.
    'MQTT broker': broker.url.replace('mqtt://', ''),
    'User name at the broker': ['none', 'me'],
    'Password at the broker': 'broker word',
    'Home Assistant': home.url,
    'Its access token': ['another', 'a-long-lived-token'],
    'Look at its page': ['perhaps', 'n'],
    // The issuer, the API, the password, the user name at the broker, the token.
    [WHICH]: ['9', '', '', '', '2', '2'],
  });
  for (const words of [
    /This needs an answer.*number from 1 to 2.*number from 1 to 2/s,
    /provider\.issuer: found "nonsense"[^\n]*\nIssuer[^[\n]*: /,
    /does not know this address.*number from 1 to 5.*\[2\]: Issuer[^[\n]*: ok: the issuer/s,
    /No answer to the first request to the API: ECONNREFUSED.*API[^[\n]*: ok: the API answers/s,
    /usage\.timezone: found [^[]*Time zone[^\n]* \[(?!Europe\/Atlantis)/,
    /refused the user name or password.* {2}2 {2}the password.*\[2\]: Password on that page[^\n]*ok: signed in/s,
    /The broker refused.*User name at the broker[^\n]*Password at the broker[^\n]*ok: the broker answers/s,
    /token.*ok: Home Assistant 2026\.10 answers/s,
    /Please answer y for yes or n for no\.\nLook at its page/,
    'not tried by us',
  ])
    expect(told).toMatch(words);
  expect(await written()).toMatchObject({
    usage: { timezone: 'Europe/Berlin' },
    mqtt: { url: broker.url, username: 'me', password_file: './mqtt-password' },
    home_assistant: { url: home.url, token_file: './ha-token' },
  });
  expect(await kept('mqtt-password')).toBe('broker word\n');
  expect(await kept('ha-token')).toBe('a-long-lived-token\n');
  expect(simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 1 });
});

test('breaks no word at the edge of the terminal, and goes on below the words of a list', async () => {
  expect(await answered(usual(), { columns: 40 })).toBe(0);
  const [head = ''] = told.split('Writt');
  const isWhole = (line: string) =>
    line.length <= 40 ||
    !line
      .trim()
      .replace(/^\d+ {2}/, '')
      .includes(' ');
  expect(head.split(/(?<=: )|\n/).filter((line) => !isWhole(line))).toEqual([]);
  expect(told).toMatch(/ {2}\d {2}another one: its portal shows the\n {5}addresses, as/);
  expect(told).toMatch(/MQTT broker, such as 192\.168\.1\.5\n\("none": heat2mqtt brings its own\)/);
});

test('goes back a question at a time, and leaves what may be empty empty', async () => {
  const redirect = 'Redirect address';
  const answers = {
    Scopes: ['back', 'openid, service-energy'],
    [redirect]: ['https://portal.example.org/', 'none'],
  };
  expect(
    await answered({
      ...usual(),
      Provider: ['back', '2'],
      ...answers,
      'Time zone': ['back', 'Europe/Dublin'],
      'Client id': ['selfcare', 'self-care'],
    }),
  ).toBe(0);
  expect(told).toMatch(/This is the first question\..*Client id: Scopes[^\n]*: Client id \[selfcare\]: /s);
  expect(told).toContain(
    `${redirect} (redirect_uri of its login page), if you know it [https://portal.example.org/]: `,
  );
  expect((await written()).provider).toMatchObject({
    client_id: 'self-care',
    scopes: ['openid', 'service-energy'],
  });
  expect((await written()).provider).not.toHaveProperty('redirect_uri');
});

test('goes back from a correction to what was not correct, and from what follows it to the correction', async () => {
  const url = 'mqtt://127.0.0.1:9';
  const answers = {
    'MQTT broker': [url, 'back', 'none'],
    'User name at the broker': ['', 'back'],
    Shall: ['back', 'n'],
    // The address, the user name, the address.
    [WHICH]: ['1', '2', '1'],
  };
  expect(await answered({ ...usual(), ...answers })).toBe(0);
  expect(told).toMatch(
    /\[1\]: MQTT broker[^\n]*: {3}1 {2}the address of the broker.*\[1\]: User[^\n]*: {3}1 .*\[1\]: MQTT[^\n]*Shall[^\n]*MQTT[^\n]*\[none\]: Shall[^\n]*ok: heat2mqtt brings its own/s,
  );
});

test('offers the issuer as it calls itself when that is not as it was typed', async () => {
  const { issuer } = simulator.urls;
  const other = issuer.replace('127.0.0.1', 'localhost');
  expect(await answered({ ...usual(), Issuer: [other, ''] })).toBe(0);
  expect(told).toMatch(new RegExp(`calls itself.*Issuer[^\\n]*\\[${issuer}\\]: ok: the issuer answers`, 's'));
  expect((await written()).provider.issuer).toBe(issuer);
});

test('tells another web server from the API, and offers its address no more after another mistake', async () => {
  const { api } = simulator.urls;
  expect(await answered({ ...usual(), API: [api.replace('/v1', '/v2'), 'nonsense', api] })).toBe(0);
  expect(told).toMatch(
    /but not the API \(HTTP 404\).*provider\.api_url: found "nonsense"[^\n]*\nAPI[^[\n]*: ok: the API answers/s,
  );
  expect((await written()).provider.api_url).toBe(api);
});

test('blames the client id, not the password, when the issuer does not know it', async () => {
  expect(await answered({ ...usual(), 'Client id': ['self-car', 'self-care'] })).toBe(0);
  expect(told).toMatch(
    /does not know this client id.*after client_id=.*5 {2}the client id.*\[5\]: Client id: .*ok: signed in/s,
  );
  expect(told).not.toMatch(/six hours|Poll now|provider\.client_id/);
  expect((await written()).provider.client_id).toBe('self-care');
});

test('asks for a certificate, and writes where that is, when the broker has an authority of its own', async () => {
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
  // The address, the certificate, once more, and to keep it.
  await answered({ ...usual(), 'MQTT broker': url, [WHICH]: '5' });
  expect(told).toMatch(/check --live --config .*kept\.yaml \(not all of it worked\)/);
  expect((await written()).mqtt).toEqual({ url });
});

test('asks for a certificate when issuer or API have an authority of their own', async () => {
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

test('keeps to the login budget, and keeps what does not work when that is wanted', async () => {
  await answered({ ...usual(), 'Password on that page': 'not it', [WHICH]: ['8', '8', '8', '9'] });
  expect(told).toMatch(/To keep the account from being locked|to keep the account from being locked/);
  expect(told).not.toContain('Poll now');
  expect(simulator.counters.passwordGrants.asked).toBeLessThan(3);
  expect((await written()).accounts).toHaveLength(1);
  expect(told).toMatch(/check --live --config [^\n]* \(not all of it worked\)/);
});

test('signs in on another device when there is no password', async () => {
  simulator.switches.token.devicePollSeconds = 0;
  const agreed = waitFor('a user code', () => simulator.device.pending()[0]).then((code) =>
    simulator.device.approve(code, ME.username),
  );
  expect(await answered({ ...usual(), 'Password on that page': '' }, { clock: WITHOUT_PAUSES })).toBe(0);
  await agreed;
  const { provider, accounts } = await written();
  expect([provider.sign_in, accounts]).toEqual(['device', [{ username: ME.username }]]);
  expect(await typed(['check', '--live', '--config', config])).toMatchObject({ exitCode: 0 });
});

test('takes a password file that is there by Enter, and never writes over it', async () => {
  await writeFile(join(folder, 'heat-password'), 'an old one\n');
  expect(await answered({ ...usual(), 'Password on that page': ['', ME.password] })).toBe(0);
  expect(told).toMatch(/Enter alone: the one in \.\/heat-password\).*refused.*ok: signed in/s);
  expect(await kept('heat-password')).toBe('an old one\n');
  expect((await written()).accounts[0].password_file).toBe('./heat-password-2');
  expect(told).toContain('heat-password-2 has a number because');
  expect(await kept('heat-password-2')).toBe(`${ME.password}\n`);
});

test("says nothing of a number when the file of a person's own ends with one", async () => {
  await answered(usual());
  await writeFile(config, (await kept('config.yaml')).replace('./heat-password', './our-password-2'));
  await writeFile(join(folder, 'our-password-2'), 'an old one\n');
  told = '';
  await answered({ Go: 'y', 'Password on that page': ME.password });
  expect(told).toMatch(/Written: .*our-password-2\.\n/);
  expect(told).not.toContain('has a number');
});

test.each([
  ['typed', 'word of the house', /^word of the house\n$/],
  ['made up', '', /^[\w-]{20}\n$/],
])('gives a broker that others reach a user, its password %s', async (_, typedPassword, password) => {
  expect(await answered({ ...usual(), Shall: 'y', 'Password for them': typedPassword })).toBe(0);
  expect(told).toMatch(/Every machine reaches it as home/);
  expect((await written()).mqtt).toEqual({
    embedded: { port: 1883, host: '0.0.0.0', username: 'home', password_file: './mqtt-password' },
  });
  expect(await kept('mqtt-password')).toMatch(password);
  expect(await isPrivate(join(folder, 'mqtt-password'))).toBe(true);
});

test('names no state directory when a service or a container has one', async () => {
  expect(await answered(usual(), { env: { STATE_DIRECTORY: join(folder, 'elsewhere') } })).toBe(0);
  expect(await written()).not.toHaveProperty('state_dir');
  expect((await stat(join(folder, 'elsewhere', 'accounts'))).isDirectory()).toBe(true);
});

describe('when a file is there', () => {
  const broker = () => startBroker({ username: 'me', password: 'broker word' });
  const file = (url: string) => `# Mine.
version: 1
provider:
  issuer: ${simulator.urls.issuer} # as the portal shows it
  api_url: ${simulator.urls.api}
  client_id: self-care
accounts:
  - username: ${ME.username}
    password: ${ME.password}
mqtt:
  # In the cellar.
  url: ${url}
  base_topic: heat
usage: { reread_days: 20 }
home_assistant:
  # Its token is in a safe.
  url: http://127.0.0.1:9
  token: a-long-lived-token
state_dir: ./state
`;

  test('offers what it says, asks nobody, and leaves every byte when Enter answers everything', async () => {
    await writeFile(config, file('mqtt://192.0.2.7:1883'), { mode: 0o640 });
    expect(await answered({ 'User name at': 'none' })).toBe(0);
    expect(told).toContain(`Issuer, up to the name after /realms/ [${simulator.urls.issuer}]: `);
    expect(told).toContain(
      'MQTT broker, such as 192.168.1.5 ("none": heat2mqtt brings its own) [mqtt://192.0.2.7:1883]: ',
    );
    expect(told).toMatch(/Password on that page \(not shown; Enter alone: the one in .*config\.yaml\)/);
    expect(told).toContain('Nothing is different');
    expect(told).not.toMatch(new RegExp(`${ME.password}|a-long-lived-token`));
    expect(await readFile(config, 'utf8')).toBe(file('mqtt://192.0.2.7:1883'));
    expect(simulator.counters.passwordGrants.asked).toBe(0);
  });

  test('writes only what is answered otherwise, and keeps comments, mode and secrets', async () => {
    await writeFile(config, file('mqtt://192.0.2.7:1883'), { mode: 0o640 });
    const { url } = stack.use(await broker());
    const answers = {
      'MQTT broker': url,
      'User name at the broker': 'me',
      'Password at the broker': 'broker word',
    };
    expect(await answered(answers)).toBe(0);
    expect(told).toMatch(
      /ok: the broker answers.*Changed in .*: mqtt\.url, mqtt\.username, mqtt\.password_file\.\nWrite it\?/s,
    );
    const added = `  base_topic: heat\n  username: me\n  password_file: ./mqtt-password\n`;
    expect(await readFile(config, 'utf8')).toBe(file(url).replace('  base_topic: heat\n', added));
    expect((await stat(config)).mode & 0o777).toBe(0o640);
    expect(simulator.counters.passwordGrants.asked).toBe(0);
  });

  test('says which comments go before it writes, and writes nothing unless that is wanted', async () => {
    await writeFile(config, `${file('mqtt://192.0.2.7:1883')}statement:\n    area_m2: 62\n`);
    expect(await answered({ 'Home Assistant': 'none', Write: 'n' })).toBe(0);
    expect(told).toMatch(
      /These comments go.*# Its token is in a safe\..*Blanks and indentation are written anew\.\nWrite it\?/s,
    );
    expect(told).toContain('Not written.');
    expect(await written()).toHaveProperty('home_assistant');
  });

  test('changes one thing from the menu, which comes again afterwards', async () => {
    await writeFile(config, file('mqtt://192.0.2.7:1883'));
    const answers = {
      Go: 'n',
      'What is to be changed': '2',
      'Time zone': 'Europe/Berlin',
      [NEXT]: [changing, 'q'],
    };
    expect(await answered(answers)).toBe(0);
    expect(told).not.toContain('Issuer');
    expect((await written()).usage).toEqual({ reread_days: 20, timezone: 'Europe/Berlin' });
    expect(told.match(/What comes next/g)).toHaveLength(2);
  });

  test('forgets what was answered when a person goes back beyond the first question of a change', async () => {
    await writeFile(config, file('mqtt://192.0.2.7:1883'));
    const answers = {
      Go: 'n',
      'What is to be changed': ['4', '2'],
      'MQTT broker': ['none', 'back'],
      Shall: 'back',
      'Time zone': 'Europe/Berlin',
      [NEXT]: [changing, changing, 'q'],
    };
    expect(await answered(answers)).toBe(0);
    expect(told).toContain('look on the broker');
    expect(told).toMatch(/Changed in [^\n]*: usage\.timezone\./);
    expect((await written()).mqtt).toEqual({ url: 'mqtt://192.0.2.7:1883', base_topic: 'heat' });
  });

  test('ends by Enter when something was done, though there is less to do', async () => {
    await writeFile(config, file('mqtt://192.0.2.7:1883'));
    const answers = { Go: 'n', 'What is to be changed': '4', 'MQTT broker': 'none', [NEXT]: [changing, ''] };
    expect(await answered(answers)).toBe(0);
    expect(told).toMatch(
      /look on the broker.*(\d+) {2}nothing more now\nWhat comes next \(number\) \[\1\]: $/s,
    );
  });

  test('writes a new password into the file that it names', async () => {
    await answered(usual());
    simulator.changePassword(ME.username, 'the new one');
    told = '';
    expect(
      await answered({
        Go: 'n',
        'What is to be changed': '3',
        'Password on that page': 'the new one',
        [NEXT]: [changing, 'q'],
      }),
    ).toBe(0);
    expect(told).toMatch(/ok: signed in.*Changed in .*: accounts\.0\.password_file\./s);
    expect(await kept('heat-password')).toBe('the new one\n');
    expect(told).not.toContain('the new one');
    expect(told).not.toContain('written anew');
  });

  test.each([
    ['a mistake that no question is about', 'colour: red\n', /colour: found an unknown key/],
    ['an alias', 'mqtt: &a {}\nhttp: *a\n', /alias/],
    ['no YAML', 'mqtt: {\n', /line/],
    ['a letter that is not UTF-8', Buffer.from('# caf\xe9\n', 'latin1'), /not UTF-8/],
  ])('refuses it when it has %s', async (_, text, message) => {
    await writeFile(config, text);
    await expect(answered({})).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(message),
    });
    expect(await readFile(config)).toEqual(Buffer.from(text));
  });

  test('does not write over what an editor has written meanwhile', async () => {
    await writeFile(config, file('mqtt://192.0.2.7:1883'));
    const edit = async () => {
      await writeFile(config, 'theirs');
      return 'y';
    };
    await expect(answered({ 'Time zone': 'Europe/Berlin', Write: edit })).rejects.toMatchObject({
      code: 'configuration_changed',
    });
    expect(await readFile(config, 'utf8')).toBe('theirs');
  });
});

/** Answers a menu with the number of its line. */
const changing = () => /(\d+) {2}change something/.exec(told.slice(told.lastIndexOf('  1  ')))?.[1] ?? '';

test('opens the page to a phone, with a password, and says where it finds it', async () => {
  expect(await answered({ ...usual(), 'Look at its page': 'y', 'Password of the page': ['short', ''] })).toBe(
    0,
  );
  expect(told).toMatch(/at least 8 characters.*ok: while heat2mqtt runs, your phone shows its page at /s);
  expect(await written()).toMatchObject({
    http: { listen: '0.0.0.0:8099' },
    web: { password_file: './page-password' },
  });
  expect(await kept('page-password')).toMatch(/^[\w-]{20}\n$/);
});

test('names the address at home first, and none of a container', () => {
  const config = { http: { listen: '0.0.0.0:8099' }, web: { password: {}, hosts: [] } };
  const at = (address: string) => [{ address, family: 'IPv4', internal: false }];
  const interfaces = { docker0: at('172.17.0.1'), eth0: at('192.0.2.20') };
  expect(pageWords(config as never, interfaces as never)).toContain('at http://192.0.2.20:8099/');
  expect(pageWords(config as never, interfaces as never)).not.toContain('172.17');
});

test('writes nothing when nobody is at the input, or the end comes early', async () => {
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

test.skipIf(!canMount())('asks nothing when there is no room in the folder', async () => {
  const disk = openStack().use(await openSmallDisk());
  await disk.fill();
  config = join(disk.path, 'config.yaml');
  await expect(answered({})).rejects.toMatchObject({
    code: 'file_unwritable',
    exitCode: 2,
    message: expect.stringContaining('ENOSPC'),
  });
  expect(await readdir(disk.path)).toEqual(['filler']);
});

test('names the file when it cannot be written', async () => {
  const inTheWay = async () => {
    await mkdir(config);
    return '';
  };
  const never = { ...usual(), 'Look at its page': inTheWay, 'Try to write it again': 'n' };
  await expect(answered(never)).rejects.toMatchObject({
    code: 'file_unwritable',
    message: expect.stringContaining(config),
  });
});

test('writes the same answers later when the file could not be written at once', async () => {
  const inTheWay = async () => {
    await mkdir(config);
    return '';
  };
  const outOfTheWay = async () => {
    await rm(config, { recursive: true });
    return 'y';
  };
  await answered({ ...usual(), 'Look at its page': inTheWay, 'Try to write it again': outOfTheWay });
  expect((await stat(config)).isFile()).toBe(true);
  expect((await readdir(folder)).filter((name) => name.startsWith('heat-password'))).toEqual([
    'heat-password',
  ]);
});

test('writes a service of this program, configuration and user when the package has a unit', async () => {
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
