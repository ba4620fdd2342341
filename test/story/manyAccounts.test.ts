// Several accounts at a time and no more: a slow one keeps nobody waiting, and refreshes that are due together take turns.
import { expect, test } from 'vitest';
import type { AccountOptions } from '../../src/simulator/accounts.ts';
import { home, person, quiet, USAGE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll } from '../support/story.ts';

const FLATS: AccountOptions[] = [1, 2, 3, 4, 5].map((n) =>
  person(`flat${n}`, [home(`7055500${n}`, quiet({ seed: n }), 700_000 + n)]),
);
const stateOf = (n: number) => `heat2mqtt/meter/7055500${n}/state`;
const TWO_AT_A_TIME = { accounts: FLATS, config: { usage: { concurrency: 2 } } };
const OTHERS = [2, 3, 4, 5];

test('an account whose provider hangs: the others are polled and told in the meantime; refreshes take turns', async () => {
  const { story, probe, switches, counters } = await firstPoll(TWO_AT_A_TIME);
  for (const n of [1, ...OTHERS]) expect(probe.json(stateOf(n))).toBeDefined();
  await story.pass(60_000);
  switches.fault(
    '/api/v1/reports',
    { kind: 'hang' },
    { times: 1, when: ({ body }) => JSON.stringify(body).includes('700001') },
  );
  const before = counters.requests[USAGE] ?? 0;
  const told = (n: number) => probe.heard.filter(({ topic }) => topic === stateOf(n)).length;
  const toldBefore = OTHERS.map(told);
  story.tick();
  // No time passes on the clock: whoever waited for the slow one would wait for ever.
  await story.polled(9);
  await untilTrue('states', () => OTHERS.every((n, at) => told(n) > (toldBefore[at] ?? 0)));
  expect((counters.requests[USAGE] ?? 0) - before).toBe(5);
  await story.pass(31_000);
  await story.polled(10);
  expect(story.logged('poll failed')).toMatchObject([{ account: 'home' }]);

  // Five sessions are due at the same moment.
  switches.fault('/auth/', { kind: 'slow', ms: 1_000 });
  await story.pass(1_600_000, 15_000);
  expect(counters.refreshGrants).toMatchObject({ ok: 5, maxInFlight: 2 });
  expect(counters.passwordGrants.ok).toBe(5);
});
