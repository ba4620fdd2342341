// Several accounts and meters in one daemon: apart from one another, and each under a name of its own.
import { expect, test } from 'vitest';
import { asked } from '../support/extras.ts';
import { FAULTS } from '../support/faults.ts';
import { discoveryComplaints } from '../support/homeAssistantRules.ts';
import { booked, HEALTH, home, ME, METER, person, quiet, STATE } from '../support/homes.ts';
import { firstPoll, HOUR_MS } from '../support/story.ts';

const NEIGHBOUR = person('neighbour', [home('70555001', quiet({ seed: 9 }), 700_001)]);
const NEIGHBOUR_STATE = 'heat2mqtt/meter/70555001/state';

const STRAYS = 'the configuration names meters that no account has';

test('two accounts: two sessions, two meters, two devices; names are those of the configuration, and one taken out takes its topics with it', async () => {
  const { story, probe, state, restart } = await firstPoll({ accounts: [ME, NEIGHBOUR] });
  expect(state.energy_total).toBeCloseTo(booked(story.simulator).kwh, 3);
  expect(probe.json(NEIGHBOUR_STATE)?.energy_total).toBeCloseTo(booked(story.simulator, 700_001).kwh, 3);
  expect(story.simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 2 });
  const health = await probe.until(HEALTH, ({ state, logins_today }) => state === 'ok' && logins_today === 2);
  expect(Object.keys(health.auth as object).sort()).toEqual(['home', 'home2']);
  for (const account of ['home', 'home2']) {
    expect(probe.json(`heat2mqtt/account/${account}/state`)).toMatchObject({ auth_state: 'ok' });
    expect(probe.json(`homeassistant/device/heat2mqtt_account_${account}/config`)).toBeDefined();
  }

  const named = 'Flat "3" {{ states }} 🔥';
  const topic = `homeassistant/device/heat2mqtt_meter_${METER}/config`;
  const before = probe.json(topic);
  // Nothing else of them changes.
  const second = await restart({ meters: { [METER]: { name: named }, 70555002: { name: 'Nobody' } } });
  const document = await probe.until(topic, ({ device }) => Object(device).name === named);
  expect(document).toEqual({ ...before, device: { ...Object(before?.device), name: named } });
  expect(discoveryComplaints([probe.last(topic)].flatMap((one) => one ?? []))).toEqual([]);
  const { meters } = await probe.until('heat2mqtt/bridge/info', ({ meters }) =>
    JSON.stringify(meters).includes('Flat'),
  );
  expect(meters).toMatchObject([
    { meter: METER, name: named },
    { meter: '70555001', name: null },
  ]);
  const strays = [{ meters: ['70555002'], known: [METER, '70555001'] }];
  expect(story.logged(STRAYS)).toMatchObject(strays);
  await story.nextPoll(24 * HOUR_MS);
  expect(story.logged(STRAYS)).toMatchObject(strays);
  const called = story.logged('new day').map(({ meter, called }) => `${meter} ${called}`);
  expect(new Set(called)).toEqual(new Set([`${METER} ${named}`, '70555001 undefined']));

  await story.stop(second);
  const { username, password } = ME;
  probe.forget();
  await story.start({ accounts: [{ id: 'home', username, password }] });
  await probe.untilCleared([
    'heat2mqtt/account/home2/state',
    NEIGHBOUR_STATE,
    'homeassistant/device/heat2mqtt_account_home2/config',
    'homeassistant/device/heat2mqtt_meter_70555001/config',
  ]);
  expect(probe.json(STATE)).toBeDefined();
});

test('one refused account does not stop the other', async () => {
  const { story, probe } = await firstPoll({
    accounts: [ME, NEIGHBOUR],
    prepare: ({ simulator }) => simulator.changePassword(NEIGHBOUR.username, 'another one'),
  });
  expect(probe.json(STATE)).toBeDefined();
  const auth = { home: { state: 'ok' }, home2: { state: 'bad_credentials_or_locked' } };
  expect(probe.json(HEALTH)).toMatchObject({ state: 'degraded', auth });
  await story.nextPoll();
  expect(story.simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 1 });
  expect(story.log.filter(({ msg, account }) => msg === 'polled' && account === 'home')).toHaveLength(2);
});

test('of two meters of one identifier the second carries its property in its name; several of one property are one series', async () => {
  const services = ['b/2', 'a 1'].map((identifier, seed) => ({ identifier, meter: quiet({ seed }) }));
  const homes = [home(METER, quiet(), 1), home(METER, quiet({ seed: 3 }), 2), { id: 3, services }];
  const { story, probe, restart, state } = await firstPoll({ accounts: [person('me', homes)] });
  const stateOf = (name: string) => probe.until(`heat2mqtt/meter/${name}/state`);
  const second = await stateOf(`${METER}-2`);
  expect(state.energy_total).toBeCloseTo(booked(story.simulator, 1).kwh, 3);
  expect(second.energy_total).toBeCloseTo(booked(story.simulator, 2).kwh, 3);
  // They are named after the lowest, and have no one register.
  const third = await stateOf('a_1');
  expect(third).toMatchObject({ meter_identifiers: ['a 1', 'b/2'], meter_reading: null });
  expect(third.energy_total).toBeCloseTo(booked(story.simulator, 3).kwh, 3);
  expect(asked(story, 'usage-events')).toBe(2);
  await restart();
  expect((await stateOf(`${METER}-2`)).energy_total).toBe(second.energy_total);
});

test('trouble with one property does not keep the others from being read', async () => {
  const isFirst = ({ text }: { text: string }) => /"query":"1"/.test(text);
  const { probe } = await firstPoll({
    accounts: [person('me', [home(METER, quiet(), 1), home('70418236', quiet({ seed: 3 }), 2)])],
    prepare: ({ simulator }) =>
      void simulator.switches.fault('/api/v1/reports', FAULTS.forbidden, { when: isFirst }),
  });
  await probe.until('heat2mqtt/meter/70418236/state');
  expect(probe.last(STATE)).toBeUndefined();
  await probe.until(HEALTH, ({ state }) => state === 'degraded');
});
