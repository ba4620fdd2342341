// The issuer does not allow signing in with a password, or wants the account's owner: no use in trying on.
import { expect, test } from 'vitest';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { HOUR_MS, openStory } from '../support/story.ts';

test('method_disabled: one try, no next one, and words that do not blame the password', async () => {
  const story = await openStory();
  story.simulator.switches.token.passwordGrantAllowed = false;
  const probe = await story.listen();
  await story.start();
  const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  expect(health.state).toBe('failing');
  expect(health.auth).toMatchObject({ home: { state: 'method_disabled', next_attempt_at: null } });
  expect(health.reasons).toMatchObject([{ code: 'method_disabled', account: 'home' }]);
  expect(JSON.stringify(health.reasons)).toContain('the password is not at fault');
  await story.pass(24 * HOUR_MS, 10 * 60_000);
  story.tick();
  await story.polled(2);
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
  expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({ auth_state: 'method_disabled' });
});

test('once the owner has done what was asked for, a refresh request signs in', async () => {
  const story = await openStory();
  const { switches, counters } = story.simulator;
  switches.token.accountStates.set(ME.username, 'not_fully_set_up');
  const probe = await story.listen();
  await story.start();
  const health = await probe.until(HEALTH, ({ state }) => state === 'failing');
  expect(health.auth).toMatchObject({ home: { state: 'needs_user_action', next_attempt_at: null } });
  switches.token.accountStates.clear();
  await story.pass(HOUR_MS, 10_000);
  expect(counters.passwordGrants.asked).toBe(1);
  await probe.publish('heat2mqtt/bridge/request/refresh', '{}');
  await probe.until(STATE, () => true);
  expect(counters.passwordGrants).toEqual({ asked: 2, ok: 1 });
});
