// heat2mqtt login and logout against a simulated provider: each way in, what can go wrong, and what is left on the disk.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Io } from '../../src/cli/command.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import { Browser, REDIRECT } from '../simulator/browser.ts';
import { home, METER, person, quiet } from '../support/homes.ts';
import { openProviderFor, typed } from '../support/typed.ts';
import { waitFor } from '../support/waitFor.ts';

const ME = person('me', [home(METER, quiet({ since: '2026-01-01' }))]);
const METER_USER = ME.username;
let simulator: Simulator;
let stateDir: string;
let own: Record<string, string>;
let told: string;

/** Notes a login until the API has accepted its tokens. */
const BUDGET = 'accounts/home/login-budget.json';

beforeEach(async () => {
  ({ simulator, stateDir, env: own } = await openProviderFor(ME));
  simulator.switches.token.devicePollSeconds = 0.01;
  told = '';
});

const WITH_REDIRECT = { HEAT2MQTT_PROVIDER_REDIRECT_URI: REDIRECT };

/** `answer` gets what was printed so far and the question, and types a line. */
async function type(
  words: string,
  env: Record<string, string | undefined> = {},
  answer: (told: string, question: string) => Promise<string | null> | string | null = () => null,
  more: Partial<Io> = {},
) {
  const note = (text: string) => {
    told += text;
  };
  const result = await typed(words.split(' '), {
    env: { ...own, ...env },
    out: note,
    err: note,
    ask: async (question) => {
      note(question);
      return answer(told, question);
    },
    ...more,
  });
  return result.exitCode;
}
const files = async (): Promise<string[]> =>
  (await readdir(stateDir, { recursive: true })).filter((name) => /\.\w+$/.test(name)).sort();
const tokens = async () =>
  JSON.parse(await readFile(join(stateDir, 'accounts/home/tokens.json'), 'utf8')).value;
const BY_PERSON = { HEAT2MQTT_PASSWORD: undefined };
/** The person opens the printed address, and copies where it leads. */
const signIn = async (text: string): Promise<string> => {
  const url = /http\S+\/openid-connect\/auth\?\S+/.exec(text)?.[0] ?? '';
  return (await new Browser().signIn(url, ME.username, ME.password)).location?.href ?? '';
};

describe('on another device', () => {
  const DEVICE = { ...BY_PERSON, HEAT2MQTT_PROVIDER_SIGN_IN: 'device' };
  /** A person who looks at the screen, and answers as soon as there is a code. */
  async function beside(answer: (code: string) => void): Promise<void> {
    await waitFor('a user code', () => simulator.device.pending().length === 1);
    answer(simulator.device.pending()[0] ?? '');
  }

  test('address, code and a QR code are shown, and the session is stored', async () => {
    const agreed = beside((code) => simulator.device.approve(code, METER_USER));
    expect(await type('login', DEVICE, undefined, { isTerminal: true })).toBe(0);
    await agreed;
    expect(told).toMatch(/Open http\S+\/device\?user_code=\S+\n/);
    expect(told).toMatch(/[█▀▄]{8}/);
    expect(told).toContain('the session of home is stored');
    expect(await files()).toEqual(['accounts/home/tokens.json']);
    expect(await tokens()).toMatchObject({ scopes: ['openid', 'service-energy'] });
    expect(simulator.counters.passwordGrants.asked).toBe(0);
  });

  test('a person who declines is told so, and nothing is stored', async () => {
    const denied = beside((code) => simulator.device.deny(code));
    await expect(type('login', DEVICE)).rejects.toMatchObject({ code: 'code_refused', exitCode: 5 });
    await denied;
    expect(await files()).toEqual([]);
  });

  test('a client that may not is told so', async () => {
    simulator.switches.token.deviceAllowed = false;
    await expect(type('login', DEVICE)).rejects.toMatchObject({ code: 'client_refused', exitCode: 4 });
    simulator.switches.token.deviceAdvertised = false;
    await expect(type('login --method device')).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining('does not offer'),
    });
  });

  test('Ctrl-C ends the wait', async () => {
    const stopping = new AbortController();
    const pressed = beside(() => stopping.abort());
    await expect(type('login', DEVICE, undefined, { interrupted: stopping.signal })).rejects.toMatchObject({
      message: expect.stringMatching(/./),
    });
    await pressed;
    expect(await files()).toEqual([]);
  });
});

describe('by a link', () => {
  const LINK = { ...BY_PERSON, ...WITH_REDIRECT, HEAT2MQTT_PROVIDER_SIGN_IN: 'link' };

  test.each([false, true])(
    'the pasted address is exchanged (code in the fragment: %s)',
    async (isInFragment) => {
      simulator.switches.token.codeInFragment = isInFragment;
      expect(await type('login', LINK, (text) => signIn(text))).toBe(0);
      expect(await files()).toEqual(['accounts/home/tokens.json']);
      const code = /code=([\w.-]+)/.exec(await readFile(join(stateDir, 'accounts/home/tokens.json'), 'utf8'));
      expect(code).toBeNull();
    },
  );

  test('what is wrong with a pasted address is said, without repeating it, and it may be pasted again', async () => {
    const pasted: string[] = ['nonsense', `${REDIRECT}?session=1`, `${REDIRECT}?code=abc-17&state=another`];
    expect(await type('login', LINK, (text) => pasted.shift() ?? signIn(text))).toBe(0);
    expect(told).toMatch(/no address\..*has no code.*another attempt/s);
    expect(told).not.toContain('abc-17');
  });

  test('a code that was used before is refused in words', async () => {
    let used = '';
    await type('login', LINK, async (text) => {
      used = await signIn(text);
      return used;
    });
    const { searchParams } = new URL(used);
    const again = type('login', LINK, (text) => {
      const state = /state=([\w-]+)/.exec(text.slice(text.lastIndexOf('Open this')))?.[1] ?? '';
      searchParams.set('state', state);
      return `${REDIRECT}?${searchParams}`;
    });
    await expect(again).rejects.toMatchObject({ code: 'code_refused' });
  });

  test('without a terminal it ends with exit 2', async () => {
    await expect(type('login', LINK)).rejects.toMatchObject({ exitCode: 2 });
  });

  test('needs an address to come back to, and says where to find it', async () => {
    await expect(type('login --method link')).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining('provider.redirect_uri'),
      hint: expect.stringContaining('redirect_uri='),
    });
  });
});

describe('by itself', () => {
  test('a password is enough where the issuer lets it', async () => {
    expect(await type('login')).toBe(0);
    expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
  });

  test('where nobody sits at the input, nothing is asked beforehand', async () => {
    expect(await type('login', {}, undefined, { isInteractive: false })).toBe(0);
    expect(told).not.toContain('One-time code');
  });

  test('a second factor is asked for: at the password grant', async () => {
    simulator.switches.token.oneTimeCodes.set(ME.username, '246810');
    expect(await type('login', {}, () => '246 810')).toBe(0);
  });

  test('and on the login page, where the password was not enough', async () => {
    const { token } = simulator.switches;
    token.oneTimeCodes.set(ME.username, '246810');
    token.passwordGrantAllowed = false;
    const answers = ['', '246810'];
    expect(await type('login', WITH_REDIRECT, () => answers.shift() ?? null)).toBe(0);
    expect(simulator.counters.postedPasswords).toBe(1);
    expect(await files()).toEqual([BUDGET, 'accounts/home/tokens.json', 'accounts/home/way-in.json']);
  });

  test('where nothing works without a person, it goes on to the device, then to the link', async () => {
    const { token } = simulator.switches;
    token.passwordGrantAllowed = false;
    token.loginPage = 'captcha';
    token.deviceAllowed = false;
    const browser = async (text: string) => {
      if (!text.includes('Paste')) return '';
      token.loginPage = 'usual';
      return signIn(text);
    };
    expect(await type('login', WITH_REDIRECT, browser)).toBe(0);
    expect(told).toMatch(/captcha.*Signing in by a link instead/s);
    expect(simulator.counters.postedPasswords).toBe(1);
  });

  test('a realm that is switched off is told from an address that is not registered', async () => {
    const { token } = simulator.switches;
    token.realmEnabled = false;
    const trying = () => type('login --method form', WITH_REDIRECT);
    await expect(trying()).rejects.toMatchObject({ code: 'issuer_refused', exitCode: 5 });
    token.realmEnabled = true;
    token.redirectUris = [];
    await expect(trying()).rejects.toMatchObject({ code: 'client_refused', exitCode: 4 });
    token.redirectUris = [REDIRECT];
    expect(await trying()).toBe(0);
    expect(simulator.counters.postedPasswords).toBe(1);
  });

  test('a wrong password stays a wrong password', async () => {
    await expect(type('login', { HEAT2MQTT_PASSWORD: 'wrong' })).rejects.toMatchObject({
      code: 'bad_credentials_or_locked',
      exitCode: 4,
    });
    await expect(type('login --method password', BY_PERSON)).rejects.toMatchObject({ exitCode: 3 });
  });

  test('a sign-in by a person ends the waits of a refused password', async () => {
    const WRONG = { HEAT2MQTT_PASSWORD: 'wrong', ...WITH_REDIRECT };
    await expect(type('login', WRONG)).rejects.toHaveProperty('code', 'bad_credentials_or_locked');
    expect(await files()).toEqual(['accounts/home/login-budget.json']);
    expect(await type('login --method link', WRONG, (text) => signIn(text))).toBe(0);
    expect(await files()).toEqual(['accounts/home/tokens.json']);
  });
});

describe('offline_access', () => {
  const OFFLINE = { HEAT2MQTT_PROVIDER_OFFLINE_ACCESS: 'true', ...WITH_REDIRECT };

  test.each([
    ['login', ''],
    ['login --method form', ''],
    ['login --method link', ''],
  ])('%s: a session without an end', async (words) => {
    expect(await type(words, OFFLINE, (text) => (text.includes('Paste') ? signIn(text) : ''))).toBe(0);
    expect(await tokens()).toMatchObject({
      refreshExpiresAt: null,
      scopes: ['openid', 'service-energy', 'offline_access'],
    });
  });

  test.each(['scope_refused', 'user_may_not'] as const)(
    '%s: an ordinary one instead, and that is said',
    async (refusal) => {
      simulator.switches.token.offlineAccess = refusal;
      for (const words of ['login', 'login --method form']) {
        expect(await type(words, OFFLINE, () => '')).toBe(0);
        expect(await tokens()).toMatchObject({ refreshExpiresAt: expect.any(Number) });
        expect(told).toContain('offline_access');
      }
    },
  );
});

describe('logout', () => {
  test('ends the session at the issuer and forgets the tokens', async () => {
    await type('login');
    const { refreshToken } = await tokens();
    expect(await type('logout')).toBe(0);
    expect(simulator.counters.revocations).toBe(1);
    expect(told).toMatch(/Signed out.*has a password/s);
    expect(told).not.toContain(refreshToken);
    expect(await files()).toEqual([BUDGET]);
    expect(await type('logout')).toBe(0);
    expect(told).toContain('No session is stored.');
  });

  test('also ends one that was asked for with other scopes', async () => {
    await type('login');
    expect(await type('logout', { HEAT2MQTT_PROVIDER_SCOPES: 'openid' })).toBe(0);
    expect(simulator.counters.revocations).toBe(1);
  });

  test('keeps the tokens while the issuer cannot be told', async () => {
    await type('login');
    simulator.switches.token.realmEnabled = false;
    await expect(type('logout')).rejects.toMatchObject({ exitCode: 5 });
    expect(await files()).toEqual([BUDGET, 'accounts/home/tokens.json']);
  });
});
