// A provider that has switched the password grant off: the bridge signs in on its login page, and stops where it must.
import { TOTP } from 'otpauth';
import { expect, test } from 'vitest';
import type { Simulator } from '../../src/simulator/provider.ts';
import { REDIRECT } from '../simulator/browser.ts';
import { about } from '../support/canaries.ts';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS, type Story } from '../support/story.ts';

const TOTP_SECRET = 'MZXW6YTBOI4DSNBQGEZDGNBV';
// What a person's phone shows as the second factor.
const phone = new TOTP({ secret: TOTP_SECRET });

const FORM = { redirect_uri: REDIRECT };
type Token = Simulator['switches']['token'];

const pageStory = (
  change: (token: Token, story: Story) => void = () => undefined,
  provider = {},
  account = {},
) =>
  firstPoll({
    isLate: true,
    config: {
      provider: { ...FORM, ...provider },
      accounts: [{ id: 'home', username: ME.username, password: ME.password, ...account }],
    },
    prepare(story) {
      const { token } = story.simulator.switches;
      token.passwordGrantAllowed = false;
      // Each page quotes what it knows of them.
      const quoting = (body: unknown) =>
        typeof body === 'string' ? body.replace(/<\/title>|<\/form>/g, (end) => `${about(ME)}${end}`) : body;
      story.simulator.switches.fault('/auth/', { kind: 'change', change: quoting });
      change(token, story);
    },
  });

test('auto finds the login page, and remembers it over a restart', async () => {
  const { story, counters, state, restart } = await pageStory();
  expect(state).toMatchObject({ energy_total: expect.any(Number) });
  expect(counters).toMatchObject({ passwordGrants: { asked: 1, ok: 0 }, postedPasswords: 1 });
  await story.pass(2 * HOUR_MS, 300_000);
  expect(counters.refreshGrants.ok).toBeGreaterThan(2);
  story.simulator.endSessions();
  await restart({ provider: FORM });
  await story.pass(HOUR_MS, 300_000);
  await story.nextPoll();
  expect(counters).toMatchObject({ passwordGrants: { asked: 1, ok: 0 }, postedPasswords: 2 });
  expect(story.secrets.count).toBeGreaterThan(20);
  story.secrets.expectTokensOnly(await story.stateFiles());
});

test('totp_secret answers for the second factor', async () => {
  const { story, probe, counters } = await pageStory(
    (token, { clock }) =>
      void token.oneTimeCodes.set(ME.username, () => phone.generate({ timestamp: clock.now() })),
    { sign_in: 'form' },
    { totp_secret: TOTP_SECRET },
  );
  expect(probe.json(STATE)).toBeDefined();
  story.simulator.endSessions();
  await story.pass(2 * HOUR_MS, 300_000);
  await story.nextPoll();
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok' });
  expect([counters.postedPasswords, counters.passwordGrants.asked]).toEqual([2, 0]);
});

test('where no refresh token comes in spite of offline_access, log and health say so', async () => {
  const { story, probe } = await firstPoll({
    config: { provider: { offline_access: true } },
    prepare: ({ simulator }) =>
      void Object.assign(simulator.switches.token, { offlineAccess: 'with_consent' }),
  });
  const hint = expect.stringContaining('offline_access: false');
  expect(probe.json(HEALTH)).toMatchObject({
    state: 'degraded',
    reasons: [{ code: 'no_refresh_token', account: 'home', hint }],
  });
  expect(story.logged('the session cannot be refreshed')).toHaveLength(1);
});
