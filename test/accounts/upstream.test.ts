// One account's way to the provider, wired as daemon and commands do it: whose tokens are used, and who may refresh them.
import { expect, test } from 'vitest';
import type { AccountContext } from '../../src/accounts/context.ts';
import { openUpstream } from '../../src/accounts/upstream.ts';
import { startSimulator } from '../../src/simulator/provider.ts';
import { StateDirectory } from '../../src/store/stateDirectory.ts';
import { load } from '../config/loading.ts';
import { handClock } from '../support/clock.ts';
import { ME } from '../support/homes.ts';
import { logLines } from '../support/logLines.ts';
import { openStack } from '../support/stack.ts';
import { laidOver, usualConfig } from '../support/storyRules.ts';

async function openHome() {
  const stack = openStack();
  const clock = handClock('2025-03-10T12:00:00Z');
  const simulator = stack.use(await startSimulator({ clock, accounts: [ME] }));
  const folder = await stack.folder();
  const { log, scrubber } = logLines();
  const { passwordGrants, refreshGrants } = simulator.counters;
  return {
    clock,
    asked: () => [passwordGrants.asked, refreshGrants.asked],
    /** A process that starts; `provider`: of its configuration. */
    async open(provider: object, { isCommand = false, canLock = true } = {}) {
      const usual = usualConfig(simulator.urls, [ME], 'mqtt://127.0.0.1:1', folder);
      const text = JSON.stringify(laidOver(usual, { provider }));
      const { config } = await load(text, {}, { now: clock.now, scrubber });
      const state = new StateDirectory(folder, log);
      const withLock: StateDirectory['withLock'] = (_name, _clock, step) => step(false);
      if (!canLock) Object.assign(state, { withLock });
      const context = { config, state, clock, log, scrubber, scryptCost: 2 } as unknown as AccountContext;
      const [account] = config.accounts;
      if (!account) throw new Error('no account');
      return openUpstream(account, context, { isCommand });
    },
  };
}

test.each([
  ['the daemon, which keeps the session', false, [1, 1]],
  ['a command beside it, which leaves the refresh token alone', true, [2, 0]],
])('refreshes, or logs in, when no lock can be made: %s', async (_, isCommand, asked) => {
  const home = await openHome();
  const { session } = await home.open({}, { isCommand, canLock: false });
  await session.accessToken();
  home.clock.advance(1_750_000);
  await session.accessToken();
  expect(home.asked()).toEqual(asked);
});

test.each([
  ['the same scopes in another order', { scopes: ['service-energy', 'openid'] }, true],
  ['other scopes', { scopes: ['openid', 'service-energy', 'email'] }, false],
  ['another client', { client_id: 'another' }, false],
])('uses the stored tokens, or not, when the configuration has %s', async (_, provider, areUsed) => {
  const home = await openHome();
  await (await home.open({ scopes: ['openid', 'service-energy'] })).session.accessToken();
  const { session } = await home.open(provider);
  expect((await session.current()) !== null).toBe(areUsed);
});
