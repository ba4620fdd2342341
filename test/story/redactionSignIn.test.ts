// Signing in leaves no trace: codes, links, verifiers, cookies, pages, second factors and tokens stay on the wire.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Simulator } from '../../src/simulator/provider.ts';
import { Browser, REDIRECT } from '../simulator/browser.ts';
import { ABOUT_THEM, CANARY, THEM } from '../support/canaries.ts';
import { HEALTH } from '../support/homes.ts';
import { codeAt, TOTP_SECRET } from '../support/oneTimeCode.ts';
import { untilTrue } from '../support/rest.ts';
import { noteSignIns } from '../support/signInSecrets.ts';
import { HOUR_MS, openStory, served } from '../support/story.ts';
import { environmentOf, typed } from '../support/typed.ts';

const QUOTED = `${ABOUT_THEM}, ${CANARY.password}, ${CANARY.opaqueToken}`;
type Token = Simulator['switches']['token'];

async function openSignIn() {
  const story = await openStory({ accounts: [THEM], at: new Date().toISOString() });
  const { simulator } = story;
  const secrets = noteSignIns(simulator);
  Object.assign(simulator.switches.token, {
    accessSeconds: 300,
    refreshSeconds: 36_000,
    devicePollSeconds: 0.2,
  });
  // Each page quotes what it knows of them.
  const change = (body: unknown) =>
    typeof body === 'string' ? body.replace(/<\/title>|<\/form>/g, (end) => `${QUOTED}${end}`) : body;
  simulator.switches.fault('/auth/', { kind: 'change', change });
  const probe = await story.listen();
  const environment = {
    ...environmentOf(simulator.urls, THEM, story.stateDir),
    HEAT2MQTT_PROVIDER_REDIRECT_URI: REDIRECT,
    HEAT2MQTT_LOG_LEVEL: 'trace',
  };
  /** What the command prints, its failure included. */
  async function type(words: string, answer: (told: string) => Promise<string> | string = () => '') {
    let told = '';
    const note = (text: string) => {
      told += text;
    };
    const io = { env: environment, out: note, err: note, ask: async () => answer(told), isTerminal: true };
    await typed(words.split(' '), io).catch((err) => note(`${err.message} ${err.hint}`));
    return told;
  }

  return {
    story,
    simulator,
    secrets,
    start: (provider: Record<string, unknown> = {}, account: Record<string, unknown> = {}) =>
      story.start({
        provider: { redirect_uri: REDIRECT, ...provider },
        accounts: [{ id: 'home', username: THEM.username, password: THEM.password, ...account }],
        usage: { history_since: new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 10) },
      }),
    type,
    /** Topics, the log at its loudest, metrics, and what `report` tells. */
    async expectSilence(daemon: Awaited<ReturnType<typeof story.start>>) {
      const metrics = await (await served(daemon, 'metrics')).text();
      const report = await type('report');
      expect(report).toContain('## Account home');
      const heard = probe.heard.flatMap(({ topic, payload }) => [topic, payload]);
      const log = story.log.map((line) => JSON.stringify(line));
      secrets.expectSilence([...heard, ...log, metrics, report]);
      const names = await readdir(story.stateDir, { recursive: true });
      const files = names.filter((name) => name.endsWith('.json')).map((name) => join(story.stateDir, name));
      const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
      expect(texts.length).toBeGreaterThan(0);
      secrets.expectTokensOnly(texts);
      expect(texts.filter((text) => text.includes(TOTP_SECRET) || text.includes(THEM.password))).toEqual([]);
    },
    probe,
  };
}

const browse = async (told: string): Promise<string> => {
  const url = /http\S+\/openid-connect\/auth\?\S+/.exec(told)?.[0] ?? '';
  return (await new Browser().signIn(url, THEM.username, THEM.password)).location?.href ?? '';
};

test('the login page and the daemon on a good day, with a second factor, hours of refreshes and another login', async () => {
  const { story, simulator, secrets, start, expectSilence } = await openSignIn();
  simulator.switches.token.oneTimeCodes.set(THEM.username, () => codeAt(story.clock.now()));
  simulator.switches.token.passwordGrantAllowed = false;
  const daemon = await start({}, { totp_secret: TOTP_SECRET });
  await story.polled(1);
  expect(simulator.counters.postedPasswords).toBe(1);
  await story.pass(HOUR_MS, 60_000);
  simulator.endSessions();
  await story.pass(HOUR_MS, 60_000);
  await story.nextPoll();
  expect(simulator.counters.postedPasswords).toBe(2);
  expect(secrets.count).toBeGreaterThan(20);
  await expectSilence(daemon);
});

test.each<[string, (token: Token, simulator: Simulator) => void]>([
  ['refuses the password', (_, simulator) => simulator.changePassword(THEM.username, 'another')],
  ['says that they are disabled', ({ accountStates }) => void accountStates.set(THEM.username, 'disabled')],
  [
    'wants a new password',
    ({ requiredActions }) => void requiredActions.set(THEM.username, ['UPDATE_PASSWORD']),
  ],
  [
    'wants the e-mail address confirmed',
    ({ requiredActions }) => void requiredActions.set(THEM.username, ['VERIFY_EMAIL']),
  ],
  ['shows a captcha', (token) => void Object.assign(token, { loginPage: 'captcha' })],
  ['sends them to another company', (token) => void Object.assign(token, { loginPage: 'foreign_provider' })],
  ['refuses the one-time code', ({ oneTimeCodes }) => void oneTimeCodes.set(THEM.username, '135790')],
  ['refuses the code in the end', (token) => void Object.assign(token, { codeSeconds: -1 })],
  ['does not know the redirect address', (token) => void Object.assign(token, { redirectUris: [] })],
])('a login page that %s', async (_, change) => {
  const { story, simulator, start, expectSilence, probe } = await openSignIn();
  const { token } = simulator.switches;
  token.passwordGrantAllowed = false;
  change(token, simulator);
  const daemon = await start({}, { totp_secret: TOTP_SECRET });
  await story.polled(1);
  expect(probe.json(HEALTH)?.state).not.toBe('ok');
  await story.pass(HOUR_MS, 60_000);
  await expectSilence(daemon);
});

test('a link, a device and the end of a session, beside the daemon', async () => {
  const { story, simulator, secrets, start, type, expectSilence } = await openSignIn();
  const daemon = await start({ sign_in: 'link' });
  await story.polled(1);
  const printed = [await type('login --method link', browse)];
  await story.pass(20 * 60_000, 10_000);
  const device = type('login --method device');
  const [code = ''] = await untilTrue('a user code', () => {
    const pending = simulator.device.pending();
    return pending.length > 0 && pending;
  });
  simulator.device.approve(code, THEM.username);
  printed.push(await device);
  await story.pass(20 * 60_000, 10_000);
  let pasted = '';
  printed.push(
    await type('login --method link', async (told) => {
      if (pasted !== '') return browse(told);
      pasted = `${REDIRECT}?code=${CANARY.opaqueToken}&state=another`;
      return pasted;
    }),
    await type('login --method link', async (told) => {
      simulator.switches.token.codeSeconds = -1;
      return browse(told);
    }),
    await type('logout'),
  );
  expect(printed.join('')).toMatch(/belongs to another attempt.*Signed in.*code was too old.*Signed out/s);
  expect(secrets.count).toBeGreaterThan(20);
  secrets.expectLinkOnly(printed);
  await story.pass(10 * 60_000, 10_000);
  await expectSilence(daemon);
});
