// heat2mqtt energy-dashboard at a real Home Assistant: the preferences before and after, with solar, gas and water already there.
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { outcome } from '../e2e/program.ts';
import { METER } from '../support/homes.ts';
import { complaints, untilShown } from './entities.ts';
import { isSince } from './homeAssistant.ts';
import { COST, ENERGY, gas, startWithStatistics, untilWritten } from './series.ts';
import { type House, openStory } from './story.ts';

const HAS_NAMES = isSince(inject('release'), 2026, 6);
const HEAT = HAS_NAMES ? 'Heat' : undefined;
const OTHERS = {
  energy_sources: [
    { type: 'solar', stat_energy_from: 'sensor.roof', config_entry_solar_forecast: ['a', 'b'] },
    { ...gas('sensor.boiler', null, HAS_NAMES ? 'Boiler' : undefined), number_energy_price: 0.125 },
    { ...gas('sensor.tap', null), type: 'water', entity_energy_price: 'sensor.price' },
    { type: 'battery', stat_energy_from: 'sensor.out', stat_energy_to: 'sensor.in' },
  ],
  device_consumption: [{ stat_consumption: 'sensor.oven', name: 'Oven' }],
};

async function commandOf({ folder }: House, words: string) {
  const path = join(folder, 'config.yaml');
  return outcome(['energy-dashboard', '--config', path, ...words.split(' ').filter(Boolean)]);
}

test('with solar, gas and water there only ours comes and goes; an empty dashboard is set up', async () => {
  const story = await openStory();
  await startWithStatistics(story);
  await untilWritten(story.probe);
  const api = await story.enter();
  const preferences = () => api.ask('energy/get_prefs');
  expect((await commandOf(story, '')).output).toContain('The Energy dashboard has no gas source.');
  expect(await commandOf(story, '--add --yes')).toMatchObject({ code: 0, errors: '' });
  expect(await preferences()).toMatchObject({ energy_sources: [gas(ENERGY, COST, HEAT)] });
  expect(await api.ask('energy/validate')).toMatchObject({ energy_sources: [[]] });

  await api.ask('energy/save_prefs', OTHERS);
  const before = await preferences();
  expect(await commandOf(story, '--add')).toMatchObject({ code: 2 });
  expect(await preferences()).toEqual(before);
  for (const _ of 'twice') {
    expect((await commandOf(story, '--add --yes')).code).toBe(0);
    expect(await preferences()).toEqual({
      ...Object(before),
      energy_sources: [...Object(before).energy_sources, gas(ENERGY, COST, HEAT)],
    });
  }
  expect((await commandOf(story, '')).output).toMatch(new RegExp(`${METER} +statistics$`, 'm'));
  expect((await commandOf(story, '--remove --yes')).code).toBe(0);
  expect(await preferences()).toEqual(before);
  expect(complaints(story.homeAssistant.records())).toEqual([]);
});

test('without statistics the entity is added, also under the name that somebody has given it', async () => {
  const story = await openStory();
  await story.start();
  const api = await story.enter();
  await untilShown(story.probe, api);
  const renamed = 'sensor.warm_water_and_radiators';
  await api.ask('config/entity_registry/update', {
    entity_id: `sensor.heat2mqtt_${METER}_energy_total`,
    new_entity_id: renamed,
  });
  const url = `${story.homeAssistant.url.replace('http', 'ws')}/api/websocket`;
  await story.configure({ home_assistant: { url, token: story.token } });
  expect(await commandOf(story, '--add --yes')).toMatchObject({ code: 0, errors: '' });
  expect(await api.ask('energy/get_prefs')).toMatchObject({
    energy_sources: [gas(renamed, `sensor.heat2mqtt_${METER}_cost_total`, HEAT)],
  });
  const { energy_sources: issues } = Object(await api.ask('energy/validate'));
  // The recorder writes the first statistics of an entity within five minutes; until then there are none.
  expect(issues.flat().filter(({ type }: { type: string }) => type !== 'statistics_not_defined')).toEqual([]);
});
