// Sessions over time: refreshed ahead of expiry, ended by the issuer, or left to lapse when nobody wants them kept.
import { expect, test } from 'vitest';
import { HEALTH } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, type Story } from '../support/story.ts';

const MINUTE_MS = 60_000;

function livingStory(provider: Record<string, unknown> = {}) {
  const prepare = ({ simulator }: Story) =>
    void Object.assign(simulator.switches.token, { accessSeconds: 60, refreshSeconds: 90 });
  return firstPoll({ config: { provider }, prepare });
}

test('a quiet daemon never loses its session: one login, one refresh for each life, one at a time', async () => {
  const { story, probe, counters } = await livingStory();
  const now = story.clock.now();
  const health = await probe.until(HEALTH, ({ last_success_at }) => last_success_at !== null);
  const { state, access_expires_at, refresh_expires_at } = Object(health.auth).home;
  expect(state).toBe('ok');
  expect(Math.abs(Date.parse(access_expires_at) - now - 60_000)).toBeLessThan(2_000);
  expect(Math.abs(Date.parse(refresh_expires_at) - now - 90_000)).toBeLessThan(2_000);

  await story.pass(10 * MINUTE_MS, 3_000);
  await untilTrue('the last refresh', () => counters.refreshGrants.ok === counters.refreshGrants.asked);
  expect(counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
  // Between 80 % and 95 % of 60 s each.
  expect(counters.refreshGrants.ok).toBeGreaterThanOrEqual(10);
  expect(counters.refreshGrants.ok).toBeLessThanOrEqual(13);
  expect(counters.refreshGrants.maxInFlight).toBe(1);
});

test('without keep_alive the session lapses between polls, though it is known from the start, and a poll logs in', async () => {
  const provider = { keep_alive: false };
  const { story, probe, counters, restart } = await livingStory(provider);
  await restart({ provider });
  const { access_expires_at } = Object((await probe.until(HEALTH)).auth).home;
  expect(Date.parse(access_expires_at)).toBeGreaterThan(story.clock.now());
  await story.pass(10 * MINUTE_MS, 10_000);
  expect(counters.refreshGrants.asked).toBe(0);
  expect(counters.passwordGrants.ok).toBe(1);
  probe.forget();
  story.tick();
  await probe.until('heat2mqtt/account/home/state', ({ logins_today }) => logins_today === 2);
  expect(counters.passwordGrants).toEqual({ asked: 2, ok: 2 });
});

test('an API that refuses valid tokens: one refresh the first time; then the session says so, and that it is well again', async () => {
  const { story, probe, counters, switches } = await livingStory();
  const ACCOUNT = 'heat2mqtt/account/home/state';
  const refused = { kind: 'reply', status: 401, body: {} } as const;
  const refreshed = counters.refreshGrants.ok;
  switches.fault('/api/v1/reports', refused, { times: 1 });
  probe.forget();
  story.tick();
  await probe.until(HEALTH, ({ state, requests_today }) => state === 'ok' && Number(requests_today) > 7);
  expect(counters.refreshGrants.ok).toBe(refreshed + 1);
  expect(counters.passwordGrants.ok).toBe(1);

  switches.fault('/api/', refused);
  probe.forget();
  story.tick();
  await probe.until(ACCOUNT, ({ auth_state }) => auth_state === 'backoff');
  probe.forget();
  switches.clearFaults();
  // Before the next refresh, which would tell it as well.
  await story.nextPoll(1_000);
  await probe.until(ACCOUNT, ({ auth_state }) => auth_state === 'ok');
});
