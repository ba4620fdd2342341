// Several accounts and meters in one daemon: apart from one another, and each under a name of its own.
import { expect, test } from 'vitest';
import { FAULTS } from '../../src/simulator/faults.ts';
import { booked, HEALTH, home, ME, person, quiet, STATE } from '../support/homes.ts';
import { openHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

const NEIGHBOUR = person('neighbour', [home('70555001', quiet({ seed: 9 }), 700_001)]);
const NEIGHBOUR_STATE = 'heat2mqtt/meter/70555001/state';

test('two accounts: two sessions, two meters, two devices', async () => {
  const house = await openHouse({ accounts: [ME, NEIGHBOUR] });
  const probe = await house.listen();
  await house.start();
  expect((await probe.until(STATE, () => true)).energy_total).toBeCloseTo(booked(house.simulator).kwh, 3);
  const other = await probe.until(NEIGHBOUR_STATE, () => true);
  expect(other.energy_total).toBeCloseTo(booked(house.simulator, 700_001).kwh, 3);
  expect(house.simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 2 });
  const health = await probe.until(HEALTH, ({ state, logins_today }) => state === 'ok' && logins_today === 2);
  expect(Object.keys(health.auth as object).sort()).toEqual(['home', 'home2']);
  for (const account of ['home', 'home2']) {
    expect(probe.json(`heat2mqtt/account/${account}/state`)).toMatchObject({ auth_state: 'ok' });
    expect(probe.json(`homeassistant/device/heat2mqtt_account_${account}/config`)).toBeDefined();
  }
});

test('one refused account does not stop the other', async () => {
  const house = await openHouse({ accounts: [ME, NEIGHBOUR] });
  house.simulator.changePassword(NEIGHBOUR.username, 'another one');
  const probe = await house.listen();
  await house.start();
  await probe.until(STATE, () => true);
  const health = await probe.until(HEALTH, ({ state }) => state === 'failing');
  expect(health.auth).toMatchObject({ home: { state: 'ok' }, home2: { state: 'bad_credentials_or_locked' } });
  house.tick();
  await house.polled(4);
  expect(house.simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 1 });
  expect(house.log.filter(({ msg, account }) => msg === 'polled' && account === 'home')).toHaveLength(2);
});

test('an account taken out of the configuration takes its topics with it', async () => {
  const house = await openHouse({ accounts: [ME, NEIGHBOUR] });
  const probe = await house.listen();
  const daemon = await house.start();
  await house.polled(2);
  await probe.until(NEIGHBOUR_STATE, () => true);
  await house.stop(daemon);
  const { username, password } = ME;
  await house.start({ accounts: [{ id: 'home', username, password }] });
  const gone = [
    'heat2mqtt/account/home2/state',
    NEIGHBOUR_STATE,
    'homeassistant/device/heat2mqtt_account_home2/config',
  ];
  await waitFor('withdrawals', () => gone.every((topic) => probe.last(topic)?.payload === ''));
  expect(probe.last(STATE)?.payload).not.toBe('');
});

test('two meters of one identifier: the second carries its property in its name', async () => {
  const house = await openHouse({
    accounts: [person('me', [home('70418235', quiet(), 1), home('70418235', quiet({ seed: 3 }), 2)])],
  });
  const probe = await house.listen();
  const daemon = await house.start();
  const first = await probe.until(STATE, () => true);
  const second = await probe.until('heat2mqtt/meter/70418235-2/state', () => true);
  expect(first.energy_total).toBeCloseTo(booked(house.simulator, 1).kwh, 3);
  expect(second.energy_total).toBeCloseTo(booked(house.simulator, 2).kwh, 3);
  await house.polled(1);
  await house.stop(daemon);
  probe.forget();
  await house.start();
  expect((await probe.until('heat2mqtt/meter/70418235-2/state', () => true)).energy_total).toBe(
    second.energy_total,
  );
});

test('several meters of one property are one series, named after the lowest', async () => {
  const services = ['b/2', 'a 1'].map((identifier, seed) => ({ identifier, household: quiet({ seed }) }));
  const house = await openHouse({ accounts: [person('me', [{ id: 1, services }])] });
  const probe = await house.listen();
  await house.start();
  const state = await probe.until('heat2mqtt/meter/a_1/state', () => true);
  expect(state.meter_identifiers).toEqual(['a 1', 'b/2']);
  expect(state.energy_total).toBeCloseTo(booked(house.simulator, 1).kwh, 3);
});

test('trouble with one property does not keep the others from being read', async () => {
  const house = await openHouse({
    accounts: [person('me', [home('70418235', quiet(), 1), home('70418236', quiet({ seed: 3 }), 2)])],
  });
  const isFirst = ({ text }: { text: string }) => /"query":"1"/.test(text);
  house.simulator.switches.fault('/api/v1/reports', FAULTS.forbidden, { when: isFirst });
  const probe = await house.listen();
  await house.start();
  await probe.until('heat2mqtt/meter/70418236/state', () => true);
  expect(probe.last(STATE)).toBeUndefined();
  await probe.until(HEALTH, ({ state }) => state === 'degraded');
});
