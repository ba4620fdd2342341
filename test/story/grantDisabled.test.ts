// The issuer does not allow signing in with a password, or wants the account's owner: no use in trying on.
import { expect, test } from 'vitest';
import { HEALTH, ME, STATE } from '../support/homes.ts';
import { HOUR_MS, openHouse } from '../support/house.ts';

test('method_disabled: one try, no next one, and words that do not blame the password', async () => {
  const house = await openHouse();
  house.simulator.switches.token.passwordGrantAllowed = false;
  const probe = await house.listen();
  await house.start();
  const health = await probe.until(HEALTH, ({ failures_in_a_row }) => failures_in_a_row === 1);
  expect(health.state).toBe('failing');
  expect(health.auth).toMatchObject({ home: { state: 'method_disabled', next_attempt_at: null } });
  expect(health.reasons).toMatchObject([{ code: 'method_disabled', account: 'home' }]);
  expect(JSON.stringify(health.reasons)).toContain('the password is not at fault');
  await house.pass(24 * HOUR_MS, 10 * 60_000);
  house.tick();
  await house.polled(2);
  expect(house.simulator.counters.passwordGrants.asked).toBe(1);
  expect(probe.json('heat2mqtt/account/home/state')).toMatchObject({ auth_state: 'method_disabled' });
});

test('once the owner has done what was asked for, a refresh request signs in', async () => {
  const house = await openHouse();
  const { switches, counters } = house.simulator;
  switches.token.accountStates.set(ME.username, 'not_fully_set_up');
  const probe = await house.listen();
  await house.start();
  const health = await probe.until(HEALTH, ({ state }) => state === 'failing');
  expect(health.auth).toMatchObject({ home: { state: 'needs_user_action', next_attempt_at: null } });
  switches.token.accountStates.clear();
  await house.pass(HOUR_MS, 10_000);
  expect(counters.passwordGrants.asked).toBe(1);
  await probe.publish('heat2mqtt/bridge/request/refresh', '{}');
  await probe.until(STATE, () => true);
  expect(counters.passwordGrants).toEqual({ asked: 2, ok: 1 });
});
