// Properties over the years: one that appears is found within a week, one that is renumbered goes on as it was.
import { expect, test } from 'vitest';
import type { Fault } from '../../src/simulator/faults.ts';
import type { ExplicitEvent } from '../../src/simulator/household.ts';
import { booked, home, METER, PROPERTY, person, quiet, reading, STATE } from '../support/homes.ts';
import { HOUR_MS, type House, openHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

const DISCOVERY = 'GET /api/v1/customers/:id';
const OTHER = '70418300';
const ONLY_THE_FIRST: Fault = {
  kind: 'change',
  change: (body) => ({ objects: (body as { objects: unknown[] }).objects.slice(0, 1) }),
};

async function quietDays(house: House, days: number): Promise<void> {
  for (let left = days; left > 0; left -= 1) {
    await house.pass(24 * HOUR_MS, HOUR_MS);
    house.tick();
    await house.rest();
  }
}

test('a property that appears is found within a week, read in the same poll, and costs three questions', async () => {
  const homes = [home(), home(OTHER, quiet({ seed: 5 }), PROPERTY + 1)];
  const house = await openHouse({ accounts: [person('me', homes)] });
  const { remove: moveIn } = house.simulator.switches.fault('/api/v1/customers', ONLY_THE_FIRST, {
    when: ({ query }) => query.has('parent-group'),
  });
  const probe = await house.listen();
  const daemon = await house.start();
  const { requests } = house.simulator.counters;
  await house.polled(1);
  moveIn();
  await quietDays(house, 3);
  await house.stop(daemon);
  await house.start();
  await quietDays(house, 3);
  expect(requests[DISCOVERY]).toBe(1);
  await quietDays(house, 1);
  const state = await probe.until(`heat2mqtt/meter/${OTHER}/state`, () => true);
  expect(state.energy_total).toBeCloseTo(booked(house.simulator, PROPERTY + 1).kwh, 3);
  await quietDays(house, 6);
  expect(requests[DISCOVERY]).toBe(2);
  expect(probe.on(`heat2mqtt/meter/${METER}/state`).some(({ payload }) => payload === '')).toBe(false);
});

test('the provider cannot be asked for its list: tried again a day later, and nobody is disturbed', async () => {
  const house = await openHouse();
  const probe = await house.listen();
  await house.start();
  await house.polled(1);
  house.simulator.switches.fault('/api/v1/customers', { kind: 'reply', status: 403, body: {} });
  await quietDays(house, 9);
  const { requests } = house.simulator.counters;
  expect(requests[DISCOVERY]).toBe(1 + 3);
  expect(house.log.filter(({ msg }) => msg === 'new properties could not be looked for')).toHaveLength(3);
  expect(house.log.filter(({ msg }) => msg === 'poll failed')).toEqual([]);
  expect(probe.json(STATE)).toBeDefined();
});

test('a renumbered property that has only its own days: the series of its meter goes on, each day once', async () => {
  const old: ExplicitEvent[] = [reading('2025-03-08', 10, 1), reading('2025-03-09', 20, 2)];
  const house = await openHouse({ accounts: [person('me', [home(METER, { events: old })])] });
  const probe = await house.listen();
  const daemon = await house.start();
  await probe.until(STATE, ({ energy_total }) => energy_total === 30);
  house.simulator.renumberProperty(PROPERTY, PROPERTY + 7);
  old.splice(0, 2, reading('2025-03-09', 21, 2), reading('2025-03-10', 5, 1));
  await house.pass(24 * HOUR_MS, HOUR_MS);
  house.tick();
  const state = await probe.until(STATE, ({ energy_total }) => energy_total !== 30);
  expect(state).toMatchObject({ energy_total: 36, cost_total: 4, day: '2025-03-10' });
  await house.stop(daemon);
  probe.forget();
  await house.start();
  await house.rest();
  expect(await waitFor('the state', async () => probe.json(STATE))).toMatchObject({ energy_total: 36 });
});
