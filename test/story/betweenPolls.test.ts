// What the keep-alive meets between two polls: told at once, tried again when it is said to be, and over without a poll.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FAULTS } from '../support/faults.ts';
import { HEALTH, ME, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { openStory } from '../support/story.ts';

const MINUTE_MS = 60_000;
const LOCKED = 'bad_credentials_or_locked';

/** The password was changed at the provider, which has ended the session as well; no poll has noticed. */
async function refusedBetweenPolls() {
  const story = await openStory();
  const { counters, switches } = story.simulator;
  Object.assign(switches.token, { accessSeconds: 60, refreshSeconds: 900 });
  const passwordFile = join(story.stateDir, 'password');
  await writeFile(passwordFile, `${ME.password}\n`);
  const probe = await story.listen();
  await story.start({ accounts: [{ id: 'home', username: ME.username, password_file: passwordFile }] });
  await story.polled(1);
  await story.pass(2 * MINUTE_MS);
  story.simulator.changePassword(ME.username, 'another');
  story.simulator.endSessions();
  probe.forget();
  await story.pass(MINUTE_MS);
  expect(counters.passwordGrants).toEqual({ asked: 2, ok: 1 });
  return { story, probe, counters, passwordFile };
}

test('a refused login is told at once, with its event, and tried again at the time that health tells', async () => {
  const { story, probe, counters } = await refusedBetweenPolls();
  const health = probe.json(HEALTH);
  expect(health).toMatchObject({
    state: 'failing',
    failures_in_a_row: 0,
    reasons: [{ code: LOCKED, account: 'home', message: health?.last_error }],
    auth: { home: { state: LOCKED } },
  });
  expect(probe.all('heat2mqtt/bridge/event')).toMatchObject([{ event_type: 'auth_needed', code: LOCKED }]);
  const wait = Date.parse(Object(health?.auth).home.next_attempt_at) - story.clock.now();
  expect(wait).toBeGreaterThan(13 * MINUTE_MS);
  await story.pass(wait - 2_000);
  expect(counters.passwordGrants.asked).toBe(2);
  story.simulator.changePassword(ME.username, ME.password);
  await story.pass(10_000);
  expect(counters.passwordGrants).toEqual({ asked: 3, ok: 2 });
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
});

test('a changed password file is picked up there as well', async () => {
  const { story, probe, counters, passwordFile } = await refusedBetweenPolls();
  await writeFile(passwordFile, 'another\n');
  await story.pass(10_000);
  expect(counters.passwordGrants).toEqual({ asked: 3, ok: 2 });
  await untilTrue('good health', () => probe.json(HEALTH)?.state === 'ok');
  const asked = counters.requests[USAGE];
  await story.pass(15 * MINUTE_MS, 60_000);
  expect(counters.requests[USAGE]).toBe(asked);
  expect(counters.passwordGrants.asked).toBe(3);
});

test('an outage in the middle of the login: it is tried again by itself, before the next poll', async () => {
  const story = await openStory();
  const { counters, switches } = story.simulator;
  Object.assign(switches.token, { accessSeconds: 60, refreshSeconds: 900 });
  const probe = await story.listen();
  await story.start();
  await story.polled(1);
  await story.pass(2 * MINUTE_MS);
  story.simulator.endSessions();
  const isLogin = ({ text }: { text: string }) => text.includes('grant_type=password');
  const down = switches.fault('/auth/', FAULTS.serverError, { when: isLogin });
  await story.pass(2 * MINUTE_MS);
  expect(probe.json(HEALTH)).toMatchObject({
    state: 'degraded',
    auth: { home: { state: 'provider_down' } },
    reasons: [{ code: 'issuer_unreachable' }],
  });
  down.remove();
  await story.pass(5 * MINUTE_MS, 5_000);
  expect(probe.json(HEALTH)).toMatchObject({ state: 'ok', reasons: [] });
  expect(counters.passwordGrants.ok).toBe(2);
  expect(counters.passwordGrants.asked).toBeLessThan(8);
});
