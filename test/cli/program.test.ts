// How a command line ends: each kind of trouble has its exit code and its words.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { POLL_NOW, REFUSALS } from '../../src/auth/refusals.ts';
import { adviceOf, typedAs } from '../../src/cli/command.ts';
import { exitCodeOf } from '../../src/cli/commandLine.ts';
import { type Clock, systemClock } from '../../src/foundation/clock.ts';
import { failure } from '../../src/foundation/failure.ts';
import { handClock } from '../support/clock.ts';
import { pages } from '../support/docCommands.ts';
import { ME } from '../support/homes.ts';
import { ROOT } from '../support/sources.ts';
import { ioTo, openProviderFor } from '../support/typed.ts';

const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-test-'));
afterAll(() => rm(folder, { recursive: true }));

const PROVIDER = {
  HEAT2MQTT_PROVIDER_ISSUER: 'http://127.0.0.1:9/auth/realms/energy',
  HEAT2MQTT_PROVIDER_API_URL: 'http://127.0.0.1:9/api/v1',
  HEAT2MQTT_PROVIDER_CLIENT_ID: 'self-care',
  HEAT2MQTT_USERNAME: 'me@example.org',
  HEAT2MQTT_PASSWORD: 'invented',
  HEAT2MQTT_STATE_DIR: join(folder, 'state'),
};

const SECOND = {
  HEAT2MQTT_ACCOUNTS_0_ID: 'home',
  HEAT2MQTT_ACCOUNTS_1_ID: 'attic',
  HEAT2MQTT_ACCOUNTS_1_USERNAME: 'they@example.org',
  HEAT2MQTT_ACCOUNTS_1_PASSWORD: 'invented',
};

async function ended(
  words: readonly string[],
  env: Record<string, string> = {},
  interrupted = new AbortController().signal,
  clock: Clock = systemClock,
) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await exitCodeOf(words, { ...ioTo(out, err), env, interrupted, clock });
  return { code, out: out.join(''), err: err.join('') };
}

test.each<[string, readonly string[], Record<string, string>, number, RegExp]>([
  ['an unknown command', ['commend'], {}, 2, /Unknown command: commend\.\n/],
  ['an unknown option', ['usage', '--form'], {}, 2, /^Unknown option '--form'\. Did you mean --from\?\n/],
  [
    'an option without its value',
    ['usage', '--tariff'],
    {},
    2,
    /^--tariff has no value.*; allowed: --tariff UNIT_RATE,STAND/,
  ],
  [
    'a value that looks like an option',
    ['usage', '--tariff', '-1,1'],
    {},
    2,
    /^--tariff has no value, or one that begins with a dash \(then --tariff=…\); allowed: --tariff U/,
  ],
  [
    'a value that is none of those that an option has',
    ['usage', '--interval', 'fortnight'],
    {},
    2,
    /^--interval: found fortnight; allowed: day, week, month, quarter, year\.\n/,
  ],
  [
    'a number beyond what an option takes',
    ['simulate', '--accounts', '1001'],
    {},
    2,
    /^--accounts: found 1001; allowed: a number from 1 to 1000\.\n/,
  ],
  [
    'a command after its options',
    ['--config', 'x', 'check'],
    {},
    2,
    /^The command comes first: heat2mqtt check,/,
  ],
  ['a word', ['usage', 'now'], {}, 2, /^usage takes no further words, found: now\.\n/],
  [
    'a word too many',
    ['statement', '2026-01', 'now'],
    {},
    2,
    /^statement takes one word, \[MONTH\]; found: 2026/,
  ],
  ['no word', ['backup'], {}, 2, /^backup takes one word, FILE; found: nothing\.\n/],
  ['another word', ['config', 'list'], {}, 2, /^config: found list; allowed: example, schema, show\.\n/],
  ['a mistake in the configuration', ['usage'], { ...PROVIDER, HEAT2MQTT_MQTT_URL: 'x' }, 3, /^mqtt\.url: /],
  ['no command, which is run', [], { ...PROVIDER, HEAT2MQTT_MQTT_URL: 'x' }, 3, /^mqtt\.url: /],
  [
    'a schedule that no clock knows',
    ['usage'],
    { ...PROVIDER, HEAT2MQTT_USAGE_SCHEDULE: '99 * * * *' },
    3,
    /^usage\.schedule: .*in its range\n$/,
  ],
  [
    'nothing known of the account that is named',
    ['statement', '--account', 'attic'],
    { ...PROVIDER, ...SECOND },
    2,
    /^No whole history of attic is kept yet/,
  ],
  [
    'no Home Assistant, with where it is told',
    ['energy-dashboard'],
    PROVIDER,
    3,
    /home_assistant\.\nIt needs url/,
  ],
  ['a provider that is down', ['usage'], PROVIDER, 5, /^The issuer could not be reached .*\nIf this lasts/],
  [
    'a broker that is down',
    ['uninstall', '--yes'],
    { ...PROVIDER, HEAT2MQTT_MQTT_URL: 'mqtt://127.0.0.1:9' },
    6,
    /./,
  ],
  [
    'Home Assistant that is down',
    ['energy-dashboard'],
    {
      ...PROVIDER,
      HEAT2MQTT_HOME_ASSISTANT_URL: 'ws://127.0.0.1:9/api/websocket',
      HEAT2MQTT_HOME_ASSISTANT_TOKEN: 'invented-token',
    },
    7,
    /Home Assistant cannot be reached/,
  ],
])('%s', async (_, words, env, code, said) => {
  const { code: found, err, out } = await ended(words, env);
  expect([found, out]).toEqual([code, '']);
  expect(err).toMatch(said);
});

test('tells a fault of ours by its name and place, without its message', async () => {
  const io = {
    ...ioTo([], []),
    out: () => {
      throw new TypeError('hunter2');
    },
  };
  const said: string[] = [];
  expect(await exitCodeOf(['--version'], { ...io, err: (text) => void said.push(text) })).toBe(1);
  expect(said.join('')).toMatch(/^heat2mqtt: unexpected fault: TypeError\n {4}at /);
  expect(said.join('')).not.toContain('hunter2');
});

test('the help fits a terminal of 80 columns, and begins with what a newcomer types', async () => {
  const { out: overview } = await ended(['--help']);
  const names = [...overview.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = '']) => name);
  expect(names.slice(0, 4)).toEqual(['demo', 'setup', 'check', 'run']);
  const pages = await Promise.all(names.map((name) => ended([name, '--help'])));
  const lines = [overview, ...pages.map(({ out }) => out)].flatMap((page) => page.split('\n'));
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  // No word is lost by it.
  const accounts = (await ended(['accounts', '--help'])).out.replace(/\s+/g, ' ');
  expect(accounts).toContain('accounts import FILE.csv|list|pause ID…|resume ID…|remove ID…|reseal: the acc');
  expect(accounts).toContain(
    '--from-state DIR import: the accounts of this configuration, with all that DIR,',
  );
});

test('`help` with a command tells the options of that command', async () => {
  expect(await ended(['help', 'usage'])).toEqual(await ended(['usage', '--help']));
  expect(await ended(['help', 'nothing'])).toEqual(await ended(['--help']));
});

test.each([
  [['chekc'], 'Unknown command: chekc. Did you mean check?'],
  [['energydashboard'], 'Unknown command: energydashboard. Did you mean energy-dashboard?'],
  [['usage', '--intervall', 'week'], "Unknown option '--intervall'. Did you mean --interval?"],
])('names the one that was meant when %j is mistyped', async (words, said) => {
  const { code, err } = await ended(words);
  expect([code, err.split('\n')[0]]).toEqual([2, said]);
});

test('what is to be typed next is the command as it was typed, never one that a registry would answer', async () => {
  const { cwd } = process;
  expect([typedAs('/home/me/.local/bin/heat2mqtt'), typedAs(undefined)]).toEqual(['heat2mqtt', 'heat2mqtt']);
  expect(typedAs(join(cwd(), 'dist/heat2mqtt.js'))).toBe('node dist/heat2mqtt.js');
  const words = [...pages(), 'src/cli/simulate.ts', 'src/cli/setup.ts'].map(
    async (file) => [file, await readFile(join(ROOT, file), 'utf8')] as const,
  );
  for (const [file, text] of await Promise.all(words))
    expect([file, text.replace('do not type `npx heat2mqtt`', '')]).toEqual([
      file,
      expect.not.stringContaining('npx heat2mqtt'),
    ]);
});

test('the advice of a command names what can be done there, not the button of a page', () => {
  const [, hint = ''] = [0, REFUSALS.badCredentials.hint];
  const refused = failure('x', 'x', { exit: 4, retry: 'later', hint });
  expect(hint).toContain(POLL_NOW);
  expect(adviceOf(refused)).toContain('wait and run this again');
  expect(adviceOf(refused, 'try again here')).not.toMatch(/Poll now|bridge\/request/);
});

test.each(['usage', 'invoices', 'constituencies'])(
  '%s says that it was ended, and speaks of no fault, when Ctrl-C comes before the answer',
  async (command) => {
    const { simulator, env } = await openProviderFor(ME);
    const HEAT2MQTT_CONSTITUENCIES_BASE_URL = simulator.urls.constituencies;
    const controller = new AbortController();
    const press = () => {
      controller.abort();
      return true;
    };
    for (const place of ['/api', '/v1']) simulator.switches.fault(place, { kind: 'hang' }, { when: press });
    expect(await ended([command], { ...env, HEAT2MQTT_CONSTITUENCIES_BASE_URL }, controller.signal)).toEqual({
      code: 2,
      err: 'Ended before the answer came.\n',
      out: '',
    });
  },
);

test('a command that waits for new tokens ends soon after Ctrl-C when they do not come', async () => {
  const { simulator, env } = await openProviderFor(ME);
  const controller = new AbortController();
  const clock = handClock('2026-03-10T12:00:00Z');
  const press = () => {
    controller.abort();
    setImmediate(() => clock.advance(9_000));
    return true;
  };
  simulator.switches.fault('/auth', { kind: 'hang' }, { when: press });
  expect(await ended(['login'], env, controller.signal, clock)).toEqual({
    code: 2,
    err: 'Ended before the answer came.\n',
    out: '',
  });
});
