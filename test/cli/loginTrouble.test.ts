// heat2mqtt login that is interrupted, left alone, met by another process, or has nowhere to store its session.
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Io } from '../../src/cli/command.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import { home, METER, person, quiet } from '../support/homes.ts';
import { openProviderFor, typed } from '../support/typed.ts';

const ME = person('me', [home(METER, quiet({ since: '2026-01-01' }))]);
const WRONG = { HEAT2MQTT_PASSWORD: 'wrong', HEAT2MQTT_MQTT_EMBEDDED: 'true' };
let simulator: Simulator;
let stateDir: string;
let own: Record<string, string>;

beforeEach(async () => {
  ({ simulator, stateDir, env: own } = await openProviderFor(ME));
});

const type = (words: string, env: Record<string, string> = {}, io: Partial<Io> = {}) =>
  typed(words.split(' '), { env: { ...own, ...env }, ...io });
const files = async () =>
  (await readdir(stateDir, { recursive: true })).filter((name) => /\.\w+$/.test(name)).sort();
const logins = () => simulator.counters.passwordGrants.asked;

test('Ctrl-C at the question for a code ends it: no password is sent', async () => {
  const stopping = new AbortController();
  const ask = async () => {
    stopping.abort();
    return null;
  };
  await expect(type('login', {}, { ask, interrupted: stopping.signal })).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringContaining('Ended before'),
  });
  expect([logins(), await files()]).toEqual([0, []]);
});

test('who walks away from that question keeps a running bridge from its session for some minutes only', async () => {
  onTestFinished(() => void vi.useRealTimers());
  const ask = () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    setImmediate(() => {
      vi.advanceTimersByTime(5 * 60_000);
      vi.useRealTimers();
    });
    return new Promise<null>(() => undefined);
  };
  await expect(type('login', {}, { ask })).rejects.toMatchObject({ exitCode: 1 });
  expect([logins(), await files()]).toEqual([0, []]);
});

test('check --live beside a login under way: its one extra try an hour is not forgotten', async () => {
  let told = '';
  const out = (text: string) => {
    told += text;
  };
  let checking: ReturnType<typeof type> | null = null;
  const ask = async () => {
    checking = type('check --live', WRONG, { out });
    await expect.poll(() => told, { timeout: 20_000 }).toContain('state directory');
    // Time to ask for the extra try, if it does not wait.
    for (let count = 0; count < 20; count += 1) await files();
    return '';
  };
  await expect(type('login', WRONG, { ask })).rejects.toMatchObject({ exitCode: 4 });
  expect(await checking).toMatchObject({ exitCode: 4 });
  expect(logins()).toBe(2);
  expect(await type('check --live', WRONG)).toMatchObject({ exitCode: 4 });
  expect(logins()).toBe(2);
});

test('what the owner has to do elsewhere is tried again whenever check --live is typed, and its reason is told each time', async () => {
  simulator.switches.token.accountStates.set(ME.username, 'not_fully_set_up');
  for (let count = 1; count <= 3; count += 1) {
    const { out, exitCode } = await type('check --live', { HEAT2MQTT_MQTT_EMBEDDED: 'true' });
    expect(exitCode).toBe(4);
    expect(out).toContain('something only its owner can do');
    expect(logins()).toBe(count);
  }
  simulator.switches.token.accountStates.clear();
  const { out, exitCode } = await type('check --live', { HEAT2MQTT_MQTT_EMBEDDED: 'true' });
  expect(out).toContain('signed in');
  expect(exitCode).toBe(0);
});

test('a login whose token names no customer is of no use: the next one waits, unless the configuration is corrected', async () => {
  simulator.switches.token.claims = { customer_code: undefined, code: ME.customerCode };
  const env = { HEAT2MQTT_MQTT_EMBEDDED: 'true' };
  expect(await type('check --live', env)).toMatchObject({ exitCode: 5 });
  await rm(join(stateDir, 'accounts/home/tokens.json'));
  const { out, exitCode } = await type('check --live', env);
  expect([exitCode, out]).toEqual([
    5,
    expect.stringMatching(/no claim "customer_code".* waits until .*\n.*provider\.claims/),
  ]);
  expect(logins()).toBe(1);
  const corrected = { ...env, HEAT2MQTT_PROVIDER_CLAIMS_CUSTOMER_CODE: 'code' };
  expect(await type('check --live', corrected)).toMatchObject({ exitCode: 0 });
});

test('check --live and login say that no refresh token came in spite of offline_access', async () => {
  simulator.switches.token.offlineAccess = 'with_consent';
  const env = { HEAT2MQTT_MQTT_EMBEDDED: 'true', HEAT2MQTT_PROVIDER_OFFLINE_ACCESS: 'true' };
  const { out, exitCode } = await type('check --live', env);
  expect([exitCode, out]).toEqual([0, expect.stringContaining('without a refresh token, though')]);
  expect((await type('login', env)).out).toContain('the issuer gave no refresh token');
});

test('a session that cannot be stored is a fault, and says why', async () => {
  const file = join(stateDir, 'full');
  await writeFile(file, 'a file where the directory should be');
  await expect(type('login', { HEAT2MQTT_STATE_DIR: file })).rejects.toMatchObject({
    code: 'state_unwritable',
    exitCode: 1,
  });
});
