// Properties over the years: one that appears is found within a week, one that is renumbered goes on as it was.
import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/faults.ts';
import type { ExplicitEvent } from '../../src/simulator/meter.ts';
import { booked, home, METER, PROPERTY, person, quiet, reading, STATE } from '../support/homes.ts';
import { untilTrue } from '../support/rest.ts';
import { firstPoll, HOUR_MS, openStory, type Story } from '../support/story.ts';

const DISCOVERY = 'GET /api/v1/customers/:id';
const OTHER = '70418300';
const ONLY_THE_FIRST: Fault = {
  kind: 'change',
  change: (body) => ({ objects: (body as { objects: unknown[] }).objects.slice(0, 1) }),
};

async function quietDays(story: Story, days: number): Promise<void> {
  for (let left = days; left > 0; left -= 1) await story.nextPoll(24 * HOUR_MS);
}

test('a property that appears is found within a week, read in the same poll, and costs three questions', async () => {
  const homes = [home(), home(OTHER, quiet({ seed: 5 }), PROPERTY + 1)];
  const story = await openStory({ accounts: [person('me', homes)] });
  const { remove: moveIn } = story.simulator.switches.fault('/api/v1/customers', ONLY_THE_FIRST, {
    when: ({ query }) => query.has('parent-group'),
  });
  const probe = await story.listen();
  const daemon = await story.start();
  const { requests } = story.simulator.counters;
  await story.polled(1);
  moveIn();
  await quietDays(story, 3);
  await story.stop(daemon);
  await story.start();
  await quietDays(story, 3);
  expect(requests[DISCOVERY]).toBe(1);
  await quietDays(story, 1);
  const state = await probe.until(`heat2mqtt/meter/${OTHER}/state`);
  expect(state.energy_total).toBeCloseTo(booked(story.simulator, PROPERTY + 1).kwh, 3);
  await quietDays(story, 6);
  expect(requests[DISCOVERY]).toBe(2);
  expect(probe.on(`heat2mqtt/meter/${METER}/state`).some(({ payload }) => payload === '')).toBe(false);
});

test('the provider cannot be asked for its list: tried again a day later, and nobody is disturbed', async () => {
  const { story, probe } = await firstPoll();
  story.simulator.switches.fault('/api/v1/customers', { kind: 'reply', status: 403, body: {} });
  await quietDays(story, 9);
  const { requests } = story.simulator.counters;
  expect(requests[DISCOVERY]).toBe(1 + 3);
  expect(story.logged('new properties could not be looked for')).toHaveLength(3);
  expect(story.logged('poll failed')).toEqual([]);
  expect(probe.json(STATE)).toBeDefined();
});

test('a renumbered property that has only its own days: the series of its meter goes on, each day once', async () => {
  const old: ExplicitEvent[] = [reading('2025-03-08', 10, 1), reading('2025-03-09', 20, 2)];
  const accounts = [person('me', [home(METER, { events: old })])];
  const { story, probe, restart, state: before } = await firstPoll({ accounts });
  expect(before.energy_total).toBe(30);
  story.simulator.renumberProperty(PROPERTY, PROPERTY + 7);
  old.splice(0, 2, reading('2025-03-09', 21, 2), reading('2025-03-10', 5, 1));
  await story.pass(24 * HOUR_MS, 8 * HOUR_MS);
  story.tick();
  const state = await probe.until(STATE, ({ energy_total }) => energy_total !== 30);
  expect(state).toMatchObject({ energy_total: 36, cost_total: 4, day: '2025-03-10' });
  await restart();
  await story.rest();
  expect(await untilTrue('the state', async () => probe.json(STATE))).toMatchObject({ energy_total: 36 });
});
