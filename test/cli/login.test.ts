// heat2mqtt login and logout against a simulated provider: each way in, what can go wrong, who else is at work, and what is left
// on the disk.
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Simulator } from '../../src/simulator/provider.ts';
import { Browser, REDIRECT } from '../simulator/browser.ts';
import { home, METER, person, quiet } from '../support/homes.ts';
import { openProviderFor, type Typist, typed, WITHOUT_PAUSES } from '../support/typed.ts';
import { waitFor } from '../support/waitFor.ts';

const ME = person('me', [home(METER, quiet({ since: '2026-01-01' }))]);
let simulator: Simulator;
let stateDir: string;
let own: Record<string, string>;
let told: string;

/** Notes a login until the API has accepted its tokens. */
const BUDGET = 'accounts/home/login-budget.json';
const TOKENS = 'accounts/home/tokens.json';

beforeEach(async () => {
  ({ simulator, stateDir, env: own } = await openProviderFor(ME));
  told = '';
});

const WITH_REDIRECT = { HEAT2MQTT_PROVIDER_REDIRECT_URI: REDIRECT };
const BY_PERSON = { HEAT2MQTT_PASSWORD: undefined };
const DEVICE = { ...BY_PERSON, HEAT2MQTT_PROVIDER_SIGN_IN: 'device' };
const LINK = { ...BY_PERSON, ...WITH_REDIRECT, HEAT2MQTT_PROVIDER_SIGN_IN: 'link' };
const WRONG = { HEAT2MQTT_PASSWORD: 'wrong', HEAT2MQTT_MQTT_EMBEDDED: 'true' };

/** `answer` gets what was printed so far, and types a line. Resolves to the exit code. */
async function type(
  words: string,
  env: Record<string, string | undefined> = {},
  answer: (told: string) => Promise<string | null> | string | null = () => null,
  more: Typist = {},
) {
  const hear = (text: string) => {
    told += text;
  };
  const person = { env: { ...own, ...env }, ask: async () => answer(told), hear };
  return (await typed(words.split(' '), { ...person, ...more })).exitCode;
}
const files = async (): Promise<string[]> =>
  (await readdir(stateDir, { recursive: true })).filter((name) => /\.\w+$/.test(name)).sort();
const kept = () => readFile(join(stateDir, TOKENS), 'utf8');
const tokens = async () => JSON.parse(await kept()).value;
const logins = () => simulator.counters.passwordGrants.asked;
/** The person opens the printed address, and copies where it leads. */
const signIn = async (text: string): Promise<string> => {
  const url = /http\S+\/openid-connect\/auth\?\S+/.exec(text)?.[0] ?? '';
  return (await new Browser().signIn(url, ME.username, ME.password)).location?.href ?? '';
};

describe('on another device', () => {
  const typeLogin = (more: Typist = {}) =>
    type('login', DEVICE, undefined, { clock: WITHOUT_PAUSES, ...more });
  beforeEach(() => {
    // A question is never too early.
    simulator.switches.token.devicePollSeconds = 0;
  });

  /** A person who looks at the screen, and answers as soon as there is a code. */
  const beside = (answer: (code: string) => void): Promise<void> =>
    waitFor('a user code', () => simulator.device.pending()[0]).then(answer);

  test('shows address, code and a QR code, and stores the session', async () => {
    const agreed = beside((code) => simulator.device.approve(code, ME.username));
    expect(await typeLogin({ isTerminal: true })).toBe(0);
    await agreed;
    expect(told).toMatch(/[█▀▄]{8}.*Open http\S+\/device\?user_code=\S+\n.*session of home is stored/s);
    expect(await files()).toEqual([TOKENS]);
    expect(await tokens()).toMatchObject({ scopes: ['openid', 'service-energy'] });
    expect(logins()).toBe(0);
  });

  /** The issuer gives this in place of the address with the code in it, and of the one without. */
  const giving = (complete: string, short?: string) =>
    simulator.switches.fault('/auth/realms/energy/protocol/openid-connect/auth/device', {
      kind: 'change',
      change: (body) => ({
        ...Object(body),
        verification_uri_complete: complete,
        ...(short === undefined ? {} : { verification_uri: short }),
      }),
    });

  test('shows a link when the address fits no QR code, beside the code of the short one if that fits', async () => {
    const long = `https://id.example.org/device?user_code=${'x'.repeat(5_000)}`;
    giving(long);
    const agreed = beside((code) => simulator.device.approve(code, ME.username));
    expect(await typeLogin({ isTerminal: true })).toBe(0);
    await agreed;
    expect(told).toMatch(/[█▀▄]{8}/);
    expect(told).toContain(`Open ${long}\n`);
    told = '';
    for (const more of [{}, { columns: 30 }]) {
      simulator.switches.clearFaults();
      if (!('columns' in more)) giving(long, long);
      const again = beside((code) => simulator.device.approve(code, ME.username));
      expect(await typeLogin({ isTerminal: true, ...more })).toBe(0);
      await again;
    }
    // Neither where nothing fits, nor on a terminal that would break its lines.
    expect(told).not.toMatch(/[█▀▄]{8}/);
    expect(told.match(/session of home is stored/g)).toHaveLength(2);
  });

  test('stores nothing when a person declines or ends the wait by Ctrl-C', async () => {
    const denied = beside((code) => simulator.device.deny(code));
    await expect(typeLogin()).rejects.toMatchObject({ code: 'code_refused', exitCode: 5 });
    await denied;
    const controller = new AbortController();
    const pressed = beside(() => controller.abort());
    await expect(typeLogin({ interrupted: controller.signal })).rejects.toMatchObject({
      exitCode: 2,
      message: 'Ended before the sign-in was complete.',
    });
    await pressed;
    expect(await files()).toEqual([]);
  });

  test('says so when the client may not sign in by a device', async () => {
    simulator.switches.token.deviceAllowed = false;
    await expect(type('login', DEVICE)).rejects.toMatchObject({ code: 'client_refused', exitCode: 4 });
    simulator.switches.token.deviceAdvertised = false;
    await expect(type('login --method device')).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining('does not offer'),
    });
  });
});

describe('by a link', () => {
  test.each([false, true])(
    'the pasted address is exchanged (code in the fragment: %s)',
    async (codeInFragment) => {
      Object.assign(simulator.switches.token, { codeInFragment });
      expect(await type('login', LINK, signIn)).toBe(0);
      expect(await files()).toEqual([TOKENS]);
      expect(await kept()).not.toMatch(/code=[\w.-]+/);
    },
  );

  test('says what is wrong with a pasted address without repeating it, and lets it be pasted again', async () => {
    const pasted: string[] = ['nonsense', `${REDIRECT}?session=1`, `${REDIRECT}?code=abc-17&state=another`];
    expect(await type('login', LINK, (text) => pasted.shift() ?? signIn(text))).toBe(0);
    expect(told).toMatch(/no address\..*has no code.*another attempt/s);
    expect(told).not.toContain('abc-17');
  });

  test('without a terminal it ends with exit 2; without an address to come back to it says where to find one', async () => {
    await expect(type('login', LINK)).rejects.toMatchObject({ exitCode: 2 });
    await expect(type('login --method link')).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining('provider.redirect_uri'),
      hint: expect.stringContaining('redirect_uri='),
    });
  });
});

describe('by itself', () => {
  test('a password is enough where the issuer lets it; where no person sits, nothing is asked beforehand', async () => {
    expect(await type('login', {}, undefined, { isInteractive: false })).toBe(0);
    expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
    expect(told).not.toContain('One-time code');
  });

  test('asks for a second factor at the password grant, and on the login page when the password is not enough', async () => {
    const { token } = simulator.switches;
    token.oneTimeCodes.set(ME.username, '246810');
    expect(await type('login', {}, () => '246 810')).toBe(0);
    await type('logout');
    token.passwordGrantAllowed = false;
    const answers = ['', '246810'];
    expect(await type('login', WITH_REDIRECT, () => answers.shift() ?? null)).toBe(0);
    expect(simulator.counters.postedPasswords).toBe(1);
    expect(await files()).toEqual([BUDGET, TOKENS, 'accounts/home/way-in.json']);
  });

  test('goes on to the device, then to the link, when nothing works without a person', async () => {
    const { token } = simulator.switches;
    Object.assign(token, { passwordGrantAllowed: false, hasCaptcha: true, deviceAllowed: false });
    const browser = async (text: string) => {
      if (!text.includes('Paste')) return '';
      token.hasCaptcha = false;
      return signIn(text);
    };
    expect(await type('login', WITH_REDIRECT, browser)).toBe(0);
    expect(told).toMatch(/captcha.*Signing in by a link instead/s);
    expect(simulator.counters.postedPasswords).toBe(1);
  });

  test('keeps the waits of a wrong password until a person signs in', async () => {
    const wrong = { ...WRONG, ...WITH_REDIRECT };
    const refused = { code: 'bad_credentials_or_locked', exitCode: 4 };
    await expect(type('login', wrong)).rejects.toMatchObject(refused);
    expect(await files()).toEqual([BUDGET]);
    expect(await type('login --method link', wrong, signIn)).toBe(0);
    expect(await files()).toEqual([TOKENS]);
    await expect(type('login --method password', BY_PERSON)).rejects.toMatchObject({ exitCode: 3 });
  });

  test('sends no password when Ctrl-C ends the question for a code', async () => {
    const controller = new AbortController();
    const press = () => {
      controller.abort();
      return null;
    };
    await expect(type('login', {}, press, { interrupted: controller.signal })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('Ended before'),
    });
    expect([logins(), await files()]).toEqual([0, []]);
  });

  test('gives the session back after some minutes when nobody answers that question', async () => {
    onTestFinished(() => void vi.useRealTimers());
    const ask = () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      setImmediate(() => {
        vi.advanceTimersByTime(5 * 60_000);
        vi.useRealTimers();
      });
      return new Promise<null>(() => undefined);
    };
    await expect(type('login', {}, undefined, { ask })).rejects.toMatchObject({ exitCode: 2 });
    expect([logins(), await files()]).toEqual([0, []]);
  });

  test('fails and says why when the session cannot be stored', async () => {
    await mkdir(stateDir, { recursive: true });
    await symlink(tmpdir(), join(stateDir, 'accounts'));
    await expect(type('login')).rejects.toMatchObject({ code: 'state_unwritable', exitCode: 1 });
  });

  test('makes no login when the state directory is none', async () => {
    const file = join(stateDir, 'full');
    await writeFile(file, 'a file where the directory should be');
    await expect(type('login', { HEAT2MQTT_STATE_DIR: file })).rejects.toMatchObject({
      code: 'state_unreadable',
      exitCode: 1,
    });
    expect(logins()).toBe(0);
  });
});

describe('offline_access', () => {
  const OFFLINE = {
    HEAT2MQTT_PROVIDER_OFFLINE_ACCESS: 'true',
    HEAT2MQTT_MQTT_EMBEDDED: 'true',
    ...WITH_REDIRECT,
  };
  const answer = (text: string) => (text.includes('Paste') ? signIn(text) : '');

  test('takes an ordinary session and says so when the scope is refused', async () => {
    simulator.switches.token.offlineAccess = 'scope_refused';
    expect(await type('login --method form', OFFLINE, answer)).toBe(0);
    expect(await tokens()).toMatchObject({ refreshExpiresAt: expect.any(Number) });
    expect(told).toContain('offline_access');
  });

  test('says, as check --live does, when no refresh token came', async () => {
    simulator.switches.token.offlineAccess = 'with_consent';
    expect(await type('check --live', OFFLINE)).toBe(0);
    expect(told).toContain('without a refresh token, though');
    await type('login', OFFLINE, answer);
    expect(told).toContain('the issuer gave no refresh token');
  });
});

describe('check --live and the login budget', () => {
  test('says when the next login is tried when the password was refused', async () => {
    expect(await type('check --live', WRONG)).toBe(4);
    expect(told).toMatch(/FAILED provider for home: .*\n.*the next one waits until (\S+ )?\d\d:\d\d\./);
  });

  test('does not forget the one extra try an hour beside a login under way', async () => {
    let checking: ReturnType<typeof type> | null = null;
    const ask = async () => {
      checking = type('check --live', WRONG);
      await waitFor('the check', () => told.includes('state directory'));
      // Time to ask for the extra try, if it does not wait.
      for (let count = 0; count < 20; count += 1) await files();
      return '';
    };
    await expect(type('login', WRONG, undefined, { ask })).rejects.toMatchObject({ exitCode: 4 });
    expect([await checking, logins()]).toEqual([4, 2]);
    expect([await type('check --live', WRONG), logins()]).toEqual([4, 2]);
  });
});

describe('a token without the claim that the provider is read by', () => {
  const READING = { HEAT2MQTT_MQTT_EMBEDDED: 'true' };

  test('signing in is apart from that: it is done, stored, and done again whenever a person wants it', async () => {
    simulator.switches.token.claims = { customer_code: undefined };
    expect(await type('login')).toBe(0);
    expect(told).toContain('the session of home is stored');
    const { refreshToken } = await tokens();
    told = '';
    expect(await type('check --live', READING)).toBe(5);
    expect(told).toMatch(
      /FAILED provider for home: .*no claim "customer_code".*\n.*The sign-in itself is fine/,
    );
    // The good session is kept, and nobody waits.
    expect([await tokens(), logins()]).toMatchObject([{ refreshToken }, 1]);
    expect([await type('login'), logins()]).toEqual([0, 2]);
    simulator.switches.token.claims = {};
    expect([await type('login'), logins()]).toEqual([0, 3]);
    expect([await type('check --live', READING), logins()]).toEqual([0, 3]);
  });

  test('takes a token that is no JWT for a session like any other', async () => {
    simulator.switches.fault('/auth/realms/energy/protocol', {
      kind: 'change',
      change: (body) => ({ ...Object(body), access_token: 'opaque' }),
    });
    expect([await type('login'), logins()]).toEqual([0, 1]);
    expect(await tokens()).toMatchObject({ accessToken: 'opaque' });
  });

  test('counts as a login of no use when another one would have to follow', async () => {
    const forEachPoll = { ...READING, HEAT2MQTT_PROVIDER_KEEP_ALIVE: 'false' };
    simulator.switches.token.claims = { customer_code: undefined };
    expect(await type('check --live', forEachPoll)).toBe(5);
    await rm(join(stateDir, TOKENS));
    told = '';
    expect([await type('check --live', forEachPoll), logins()]).toEqual([5, 1]);
    expect(told).toMatch(/no claim "customer_code".* waits until /);
  });
});

describe('logout', () => {
  test('ends the session at the issuer, whatever its scopes, and forgets the tokens', async () => {
    await type('login');
    const { refreshToken } = await tokens();
    expect(await type('logout', { HEAT2MQTT_PROVIDER_SCOPES: 'openid' })).toBe(0);
    expect(simulator.counters.revocations).toBe(1);
    expect(told).toMatch(/Signed out.*has a password/s);
    expect(told).not.toContain(refreshToken);
    expect(await files()).toEqual([BUDGET]);
    expect(await type('logout')).toBe(0);
    expect(told).toContain('No session is stored.');
  });

  test('keeps the tokens while the issuer cannot be told', async () => {
    await type('login');
    simulator.switches.token.realmEnabled = false;
    await expect(type('logout')).rejects.toMatchObject({ exitCode: 5 });
    expect(await files()).toEqual([BUDGET, TOKENS]);
  });
});
