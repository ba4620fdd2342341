// Canaries in whatever is typed: wrong configurations, check, config show, usage, and what they fail of.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';
import { Failure } from '../../src/foundation/failure.ts';
import { FAULTS } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { ABOUT_THEM, CANARY, expectSilence } from '../support/canaries.ts';
import { home, quiet } from '../support/homes.ts';
import { openStack } from '../support/stack.ts';
import { typed } from '../support/typed.ts';

async function openCommands() {
  const stack = openStack();
  const folder = await stack.folder();
  const properties = [home('70418235', quiet({ since: '2025-01-01' }))];
  const { email: username, password, customerCode, customerId } = CANARY;
  const accounts = [{ username, password, customerCode, customerId, groups: [{ properties }] }];
  const simulator = stack.use(await startSimulator({ clock: systemClock, accounts }));
  const path = join(folder, 'config.yaml');
  const usual = {
    provider: { issuer: simulator.urls.issuer, api_url: simulator.urls.api, client_id: 'self-care' },
    accounts: [{ username, password }],
    mqtt: { url: 'mqtt://127.0.0.1:9', username: 'bridge', password: CANARY.brokerPassword },
    state_dir: join(folder, 'state'),
  };
  return {
    simulator,
    usual,
    write: (config: unknown) => writeFile(path, typeof config === 'string' ? config : JSON.stringify(config)),
    /** Everything that a person would see, the words of what was thrown included. */
    async type(...words: string[]) {
      const said: string[] = [];
      const note = (text: string) => void said.push(text);
      const asked = typed([...words, '--config', path], { out: note, err: note });
      const code = await asked.then(
        ({ exitCode }) => exitCode,
        (err) => {
          if (!(err instanceof Failure)) throw err;
          said.push(err.message, err.hint ?? '');
          return err.exitCode;
        },
      );
      return { code, said };
    },
  };
}

const { password, brokerPassword, email } = CANARY;
const QUOTED = `${ABOUT_THEM} ${password}`;

test.each([
  ['a key too many beside them', { accounts: [{ username: email, password, pasword: password }] }],
  ['both ways at once', { accounts: [{ username: email, password, password_file: '/nowhere' }] }],
  ['a mapping for a password', { accounts: [{ username: email, password: { is: password } }] }],
  ['the password where the account is', { accounts: password }],
  ['the password for an id', { accounts: [{ id: password, username: email, password }] }],
  ['it all within the address', { mqtt: { url: `mqtt://u:${encodeURIComponent(brokerPassword)}@h:x` } }],
  ['the broker password for a section', { mqtt: brokerPassword }],
  [
    'the password for a port',
    { http: { listen: 7 }, home_assistant: { url: 'x', token: CANARY.opaqueToken } },
  ],
  ['no YAML', `accounts:\n  - username: ${email}\n    password: "${password}\n  : [${brokerPassword}`],
])('a configuration with %s tells its faults, and no canary', async (_, over) => {
  const { usual, write, type } = await openCommands();
  await write(typeof over === 'string' ? over : { ...usual, ...over });
  for (const words of [['check'], ['check', '--json'], ['config', 'show'], ['usage'], ['run']]) {
    const { code, said } = await type(...words);
    expect([words, code]).toEqual([words, 3]);
    expectSilence(said);
  }
});

test('check, config show, usage and report on a good day', async () => {
  const { usual, write, type } = await openCommands();
  await write(usual);
  const all = [];
  for (const words of [
    ['config', 'show'],
    ['check', '--json'],
    ['check', '--live'],
    ['check', '--live', '--json'],
    ['usage', '--format', 'csv'],
    ['usage', '--format', 'table'],
    ['invoices', '--format', 'csv'],
    ['report'],
  ]) {
    const { said } = await type(...words);
    expect(said.join('').length).toBeGreaterThan(100);
    all.push(...said);
  }
  expect(all.join('')).toContain('signed in');
  expectSilence([...all, all.join('')]);
});

test.each([
  ['a wrong password', '/auth/', FAULTS.wrongPassword],
  ['an issuer that quotes', '/auth/', { kind: 'reply', status: 400, body: { error: QUOTED } }],
  ['HTML that quotes', '/api/', { kind: 'reply', status: 200, body: `<p>${QUOTED}</p>` }],
  ['JSON that quotes', '/api/', { kind: 'reply', status: 500, body: { message: QUOTED } }],
  ['a shape that quotes', '/api/', { kind: 'reply', status: 200, body: { [email]: QUOTED } }],
] as const)('the commands meet %s', async (_, place, fault) => {
  const { simulator, usual, write, type } = await openCommands();
  simulator.switches.fault(place, fault);
  await write(usual);
  for (const words of [['check', '--live', '--json'], ['usage'], ['invoices']]) {
    const { code, said } = await type(...words);
    expect(code).toBeGreaterThan(0);
    expectSilence(said);
  }
});

test.each([
  [
    'an error that quotes',
    { kind: 'reply', status: 400, body: { error: QUOTED, error_description: QUOTED } },
  ],
  [
    'a refusal that quotes',
    { kind: 'reply', status: 401, body: { error: 'invalid_grant', error_description: QUOTED } },
  ],
  [
    'a page that quotes',
    { kind: 'reply', status: 200, body: `<title>${QUOTED}</title><form>${QUOTED}</form>` },
  ],
] as const)('login, by whatever method, meets %s', async (_, fault) => {
  const { simulator, usual, write, type } = await openCommands();
  const { body, ...rest } = fault;
  const headers = typeof body === 'string' ? { headers: { 'content-type': 'text/html' } } : {};
  // Discovery is as usual.
  const when = ({ path }: { path: string }) => path.includes('/protocol/');
  simulator.switches.fault('/auth/', { ...rest, body, ...headers }, { when });
  await write({
    ...usual,
    provider: { ...usual.provider, redirect_uri: 'https://portal.example.org/signed-in' },
  });
  for (const method of ['auto', 'password', 'form', 'device', 'link']) {
    const { code, said } = await type('login', '--method', method);
    expect(code).toBeGreaterThan(0);
    expectSilence(said);
  }
});
