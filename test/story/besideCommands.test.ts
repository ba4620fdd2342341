// Commands beside the running daemon, on one state directory: sessions that a person brings or ends, and two processes that want the
// session at the same moment. Neither costs the other its session.

import { expect, test } from 'vitest';
import { Browser, REDIRECT } from '../simulator/browser.ts';
import { HEALTH, ME, METER, PROPERTY, STATE, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { HOUR_MS, MINUTE_MS, openStory, type Story } from '../support/story.ts';
import { environmentOf, typed } from '../support/typed.ts';

const ACCOUNT = 'heat2mqtt/account/home/state';
const EVENT = 'heat2mqtt/bridge/event';
const WITHOUT_PASSWORD = { accounts: [{ id: 'home', username: ME.username }] };

/** The commands know no clock but that of the machine, so the story begins now. */
async function openToday() {
  const at = new Date();
  const story = await openStory({ at: at.toISOString() });
  // The commands fall behind the daemon's clock, by less than a session lasts.
  const lives = { accessSeconds: 300, refreshSeconds: 36_000, devicePollSeconds: 0.2 };
  Object.assign(story.simulator.switches.token, lives);
  const since = new Date(at.getTime() - 20 * 86_400_000).toISOString().slice(0, 10);
  return { story, probe: await story.listen(), usage: { history_since: since } };
}

/** What a person types, with the daemon's own configuration; `answer` gets what was printed so far. */
async function type(
  { simulator, stateDir, secrets }: Story,
  words: string,
  env: Record<string, string | undefined> = {},
  answer: (told: string) => Promise<string> | string = () => '',
) {
  let told = '';
  const note = (text: string) => {
    told += text;
  };
  const { exitCode } = await typed(words.split(' '), {
    env: { ...environmentOf(simulator.urls, ME, stateDir), HEAT2MQTT_PASSWORD: undefined, ...env },
    out: note,
    err: note,
    ask: async () => answer(told),
  });
  secrets.expectLinkOnly([told]);
  return { told, exitCode };
}

async function agree({ simulator }: Story): Promise<void> {
  const [code = ''] = await untilTrue('a user code', () => {
    const pending = simulator.device.pending();
    return pending.length > 0 && pending;
  });
  simulator.device.approve(code, ME.username);
}

const browse = async (told: string): Promise<string> => {
  const url = /http\S+\/openid-connect\/auth\?\S+/.exec(told)?.[0] ?? '';
  return (await new Browser().signIn(url, ME.username, ME.password)).location?.href ?? '';
};

const LINK = { sign_in: 'link', redirect_uri: REDIRECT };
const WAYS = {
  device: {
    provider: { sign_in: 'device' },
    signIn: async (story: Story) => {
      const [result] = await Promise.all([
        type(story, 'login', { HEAT2MQTT_PROVIDER_SIGN_IN: 'device' }),
        agree(story),
      ]);
      return result;
    },
  },
  link: {
    provider: LINK,
    signIn: (story: Story) =>
      type(
        story,
        'login',
        { HEAT2MQTT_PROVIDER_SIGN_IN: 'link', HEAT2MQTT_PROVIDER_REDIRECT_URI: REDIRECT },
        browse,
      ),
  },
} as const;

test.each(Object.entries(WAYS))(
  'sign_in %s: told to sign in at once, without a request for tokens; login is taken within a minute; and again when the issuer ends the session',
  async (_, { provider, signIn }) => {
    const { story, probe, usage } = await openToday();
    await story.start({ ...WITHOUT_PASSWORD, provider, usage });
    await story.polled(1);
    const health = probe.json(HEALTH);
    expect(health).toMatchObject({
      state: 'failing',
      auth: { home: { state: 'login_needed', next_attempt_at: null } },
      reasons: [{ code: 'login_needed', hint: expect.stringContaining('heat2mqtt login') }],
      last_error: expect.stringContaining('sign in'),
    });
    expect(probe.json(ACCOUNT)).toMatchObject({ auth_state: 'login_needed' });
    expect(probe.all(EVENT)).toMatchObject([{ event_type: 'auth_needed', code: 'login_needed' }]);
    await story.pass(30 * MINUTE_MS, 60_000);
    expect(story.simulator.requests).toEqual([]);

    probe.forget();
    expect(await signIn(story)).toMatchObject({
      exitCode: 0,
      told: expect.stringContaining('within a minute'),
    });
    await story.pass(MINUTE_MS, 5_000);
    await probe.until(STATE);
    await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
    expect(probe.json(ACCOUNT)).toMatchObject({ auth_state: 'ok' });
    expect(probe.all(EVENT)).toMatchObject([{ event_type: 'recovered' }]);
    // Kept alive like any other.
    await story.pass(20 * MINUTE_MS, 20_000);
    const { counters } = story.simulator;
    expect(counters.refreshGrants.ok).toBeGreaterThan(3);
    expect(counters.refreshGrants).toMatchObject({ asked: counters.refreshGrants.ok, maxInFlight: 1 });

    // The issuer ends the session between two polls.
    story.simulator.endSessions();
    probe.forget();
    await story.pass(5 * MINUTE_MS, 20_000);
    expect(probe.json(HEALTH)).toMatchObject({
      state: 'failing',
      failures_in_a_row: 0,
      reasons: [{ code: 'login_needed' }],
    });
    expect(probe.all(EVENT)).toMatchObject([{ event_type: 'auth_needed', code: 'login_needed' }]);
    expect(probe.json(ACCOUNT)).toMatchObject({ auth_state: 'login_needed' });
    const asked = story.simulator.requests.length;
    await story.pass(30 * MINUTE_MS, 60_000);
    expect(story.simulator.requests.length).toBe(asked);
    const polls = counters.requests[USAGE] ?? 0;
    await signIn(story);
    await story.pass(MINUTE_MS, 5_000);
    expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', auth: { home: { state: 'ok' } } });
    expect(probe.all(EVENT).map(({ event_type }) => event_type)).toEqual(['auth_needed', 'recovered']);
    expect(counters.requests[USAGE]).toBeGreaterThan(polls);
    expect(counters.passwordGrants.asked).toBe(0);
  },
);

test('logout beside a daemon that has one: it signs in again by itself, once', async () => {
  const { story, probe, usage } = await openToday();
  await story.start({ usage });
  await story.polled(1);
  await story.pass(5 * MINUTE_MS, 20_000);
  await type(story, 'logout', { HEAT2MQTT_PASSWORD: ME.password });
  expect(story.simulator.counters.revocations).toBe(1);
  await story.pass(10 * MINUTE_MS, 20_000);
  expect(story.simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 2 });
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [] });
  expect(probe.json(`heat2mqtt/meter/${METER}/state`)).toBeDefined();
});

const AHEAD_MS = 60_000;

/** The commands know no clock but that of the machine: the story begins an hour ago, and can go on from today. */
async function openEarlier(earlierMs = HOUR_MS) {
  const at = Date.now() - earlierMs;
  const story = await openStory({ at: new Date(at).toISOString() });
  const { simulator, stateDir } = story;
  Object.assign(simulator.switches.token, {
    accessSeconds: 300,
    refreshSeconds: 36_000,
    lockAfterWrongPasswords: 3,
  });
  const probe = await story.listen();
  /** Lets the daemon's clock go on until the command has ended. */
  async function type(...words: string[]): Promise<number> {
    let isOver = false;
    const told: string[] = [];
    const note = (text: string) => void told.push(text);
    const env = { ...environmentOf(simulator.urls, ME, stateDir), HEAT2MQTT_MQTT_URL: 'mqtt://127.0.0.1:9' };
    const running = typed(words, { env, out: note, err: note }).finally(() => {
      isOver = true;
    });
    while (!isOver) await story.pass(100, 100);
    return (await running).exitCode;
  }
  return {
    story,
    probe,
    type,
    counters: simulator.counters,
    usage: { history_since: new Date(at - 10 * 86_400_000).toISOString().slice(0, 10) },
  };
}

test.each([
  ['usage', 0],
  // No broker is there.
  ['check --live', 6],
])(
  '%s and a poll with an access token that has expired: no token twice, no login',
  async (words, exitCode) => {
    const { story, probe, type, counters, usage } = await openEarlier();
    await story.start({ usage });
    await story.polled(1);
    for (let round = 1; round <= 2; round += 1) {
      const command = type(...words.split(' '));
      story.clock.advance(round === 1 ? HOUR_MS + AHEAD_MS : 300_000);
      story.tick();
      expect(await command).toBe(exitCode);
      await story.pass(20_000);
    }
    await story.nextPoll(300_000);
    expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [] });
    expect(counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
    expect(counters.refreshGrants).toMatchObject({ asked: counters.refreshGrants.ok, maxInFlight: 1 });
    expect(story.logged('session ended by the issuer')).toEqual([]);
  },
);

test('usage reads the meters that the daemon has found, and finds them anew when they are renumbered', async () => {
  const { story, type, counters, usage } = await openEarlier();
  await story.start({ usage });
  await story.polled(1);
  const discoveries = () => counters.requests['GET /api/v1/customers/:id'];
  const before = discoveries();
  expect([await type('usage'), discoveries()]).toEqual([0, before]);
  story.simulator.renumberProperty(PROPERTY, 512_777);
  expect(await type('usage')).toBe(0);
  expect(discoveries()).toBeGreaterThan(before ?? 0);
});

test.each([
  ['check --live', 1, 6],
  // It signs in whether there is a session or not.
  ['login', 2, 0],
])('%s and the very first poll: no two logins at a time', async (words, mostLogins, exitCode) => {
  const { story, probe, type, counters, usage } = await openEarlier(-AHEAD_MS);
  const command = type(...words.split(' '));
  await story.start({ usage });
  expect(await command).toBe(exitCode);
  await story.polled(1);
  await probe.until(STATE);
  const { asked, ok } = counters.passwordGrants;
  expect(ok).toBe(asked);
  expect(asked).toBeLessThanOrEqual(mostLogins);
  expect(counters.maxInFlight['grant password']).toBe(1);
  expect(counters.refreshGrants).toMatchObject({ asked: counters.refreshGrants.ok });
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
});
