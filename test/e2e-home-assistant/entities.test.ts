// What a person sees in Home Assistant: every entity of the tables, with class, unit, value and device; and buttons that work.
import { readFile } from 'node:fs/promises';
import { expect, inject, test } from 'vitest';
import { about } from '../../src/foundation/about.ts';
import { HEALTH, METER } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import {
  announced,
  announcedLooks,
  complaints,
  deviceOf,
  devices,
  isEnabled,
  looks,
  registered,
  stateOf,
  untilShown,
} from './entities.ts';
import { openStory } from './story.ts';

// outdoorTemperatures.test.ts has the sensor that these come from.
const OF_OUTDOOR_SENSOR = [
  'weather_adjusted_change',
  'degree_days_month',
  'energy_month_heating',
  'energy_month_hot_water',
];
const GIVEN_OUT = new URL('../fixtures/discovery/ids.json', import.meta.url);

test('every entity that was ever given out is there, as its document and its topic say', async () => {
  const { start, enter, probe, homeAssistant } = await openStory();
  const name = 'Flat "3" {{ states }} 🔥';
  await start({ meters: { [METER]: { name } } });
  const api = await enter();
  expect(api.version).toBe(inject('release'));

  const given: Record<string, string[]> = JSON.parse(await readFile(GIVEN_OUT, 'utf8'));
  // "key platform unique_id entity_id"; the others tell topics and devices.
  const lines = Object.values(given)
    .flat()
    .map((line) => line.split(' '))
    .filter(([key = '', ...words]) => words.length === 3 && !OF_OUTDOOR_SENSOR.includes(key))
    .map(([, ...words]) => words.join(' '));
  await waitFor('the entities', async () => (await registered(api)).length >= lines.length, {
    diagnose: () => complaints(homeAssistant.records()),
  });
  expect(await registered(api)).toEqual(lines.sort());

  expect(announced(probe)).toHaveLength(lines.length);
  expect(await untilShown(probe, api)).toHaveLength(announced(probe).filter(isEnabled).length);
  expect(await looks(api)).toEqual(announcedLooks(probe));
  // In words, with the code beside them.
  expect(await api.get('/api/states/sensor.heat2mqtt_home_auth_state')).toMatchObject({
    state: 'Signed in',
    attributes: { code: 'ok', options: expect.arrayContaining(['Password refused']) },
  });
  expect(await api.get(`/api/states/sensor.heat2mqtt_${METER}_standing_charge`)).toMatchObject({
    attributes: { derived: true },
  });
  const { missing_day_list } = await probe.until(`heat2mqtt/meter/${METER}/state`, () => true);
  expect(await api.get(`/api/states/sensor.heat2mqtt_${METER}_missing_days`)).toMatchObject({
    attributes: { missing_day_list },
  });
  expect(await stateOf(api, 'sensor.heat2mqtt_last_error')).toBe('none');
  expect(await deviceOf(api, `heat2mqtt_meter_${METER}`)).toMatchObject({
    name,
    manufacturer: 'heat2mqtt',
    model: 'Heat meter',
    serial_number: METER,
  });
  expect(await deviceOf(api, 'heat2mqtt_bridge')).toMatchObject({
    name: 'heat2mqtt',
    configuration_url: about.url,
  });
  expect(await devices(api)).toEqual({
    heat2mqtt_bridge: null,
    heat2mqtt_account_home: 'heat2mqtt_bridge',
    [`heat2mqtt_meter_${METER}`]: 'heat2mqtt_bridge',
  });
  expect(complaints(homeAssistant.records())).toEqual([]);
});

test('the buttons ask: for a poll, and for the constituencies', async () => {
  const { start, enter, probe, simulator } = await openStory();
  await start();
  const api = await enter();
  await untilShown(probe, api);
  const press = (id: string) => api.post('/api/services/button/press', { entity_id: id });
  const asked = simulator.requests.length;
  await press('button.heat2mqtt_poll_now');
  expect(await probe.until('heat2mqtt/bridge/response/refresh', () => true)).toMatchObject({ status: 'ok' });
  expect(simulator.requests.length).toBeGreaterThan(asked);

  await press('button.heat2mqtt_refresh_constituencies');
  const answer = await probe.until('heat2mqtt/bridge/response/constituencies', () => true);
  expect(answer).toMatchObject({ status: 'ok' });
  const { count } = await probe.until('heat2mqtt/bridge/constituencies', (list) => list.count !== null);
  await waitFor(
    'the count',
    async () => (await stateOf(api, 'sensor.heat2mqtt_constituencies')) === `${count}`,
  );
  expect(await api.get('/api/states/sensor.heat2mqtt_constituencies')).toMatchObject({
    attributes: { names: expect.any(Array), note: null },
  });
  expect(await probe.until(HEALTH, () => true)).toMatchObject({ state: 'ok' });
});
