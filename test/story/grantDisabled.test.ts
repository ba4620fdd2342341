// The issuer does not allow signing in with a password, or wants the account's owner: no use in trying on.
import { expect, test } from 'vitest';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

test('method_disabled: one try, no next one, and words that do not blame the password', async () => {
  const { story, probe } = await firstPoll({
    prepare({ simulator }) {
      simulator.switches.token.passwordGrantAllowed = false;
    },
  });
  const health = probe.json(HEALTH);
  expect(health).toMatchObject({
    state: 'failing',
    failures_in_a_row: 1,
    auth: { home: { state: 'method_disabled', next_attempt_at: null } },
    reasons: [{ code: 'method_disabled', account: 'home' }],
  });
  expect(JSON.stringify(health?.reasons)).toContain('the password is not at fault');
  await story.pass(24 * HOUR_MS, 10 * 60_000);
  await story.nextPoll();
  expect(story.simulator.counters.passwordGrants.asked).toBe(1);
  expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({ auth_state: 'method_disabled' });
});

test('once the owner has done what was asked for, a refresh request signs in', async () => {
  const { story, probe, switches, counters } = await firstPoll({
    prepare: ({ simulator }) =>
      void simulator.switches.token.accountStates.set(ME.username, 'not_fully_set_up'),
  });
  const auth = { home: { state: 'needs_user_action', next_attempt_at: null } };
  expect(probe.json(HEALTH)).toMatchObject({ state: 'failing', auth });
  switches.token.accountStates.clear();
  await story.pass(HOUR_MS, 10_000);
  expect(counters.passwordGrants.asked).toBe(1);
  await probe.publish('heat2mqtt/bridge/request/refresh', '{}');
  await probe.until(STATE, () => true);
  expect(counters.passwordGrants).toEqual({ asked: 2, ok: 1 });
});
