// What is added to the Energy preferences and taken out again, and what is refused.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Preferences } from '../../src/homeassistant/commands.ts';
import { gasSourcesOf, type HeatMeter, plan } from '../../src/homeassistant/energySources.ts';

const meter = (name: string, over: Partial<HeatMeter> = {}): HeatMeter => ({
  meter: name,
  friendlyName: null,
  ids: new Map([
    [`heat2mqtt:${name}_energy`, 'statistics'],
    [`sensor.${name}_energy_total`, 'entity'],
    [`sensor.${name}_meter_reading`, null],
  ]),
  pair: { energy: `heat2mqtt:${name}_energy`, cost: `heat2mqtt:${name}_cost` },
  ...over,
});
const A = meter('a');
const B = meter('b', { friendlyName: 'Flat 3' });
const preferences = (energy_sources: Preferences['energy_sources'], more = {}): Preferences => ({
  energy_sources,
  device_consumption: [],
  ...more,
});
const gas = (stat_energy_from: string) => ({ type: 'gas', stat_energy_from });
const add = (before: Preferences, meters = [A]) => plan('add', before, meters, true);

test('names a source Heat when the meter is the only one, and as configured when there are several', () => {
  expect(add(preferences([])).after).toEqual([
    {
      type: 'gas',
      stat_energy_from: 'heat2mqtt:a_energy',
      stat_cost: 'heat2mqtt:a_cost',
      entity_energy_price: null,
      number_energy_price: null,
      name: 'Heat',
    },
  ]);
  expect(add(preferences([]), [A, B]).changed).toEqual([
    expect.objectContaining({ name: 'Heat a', meter: 'a', way: 'statistics' }),
    expect.objectContaining({ name: 'Heat Flat 3', meter: 'b' }),
  ]);
  expect(plan('add', preferences([]), [A], false).after[0]).not.toHaveProperty('name');
});

const [OWN, ENTITY, REGISTER] = ['heat2mqtt:a_energy', 'sensor.a_energy_total', 'sensor.a_meter_reading'];
const device = (stat_consumption: string) => preferences([], { device_consumption: [{ stat_consumption }] });
test.each<[string, string, Preferences]>([
  [ENTITY, 'a gas source', preferences([gas(ENTITY)])],
  [REGISTER, 'a gas source', preferences([gas(REGISTER)])],
  [ENTITY, 'a gas source', preferences([gas(OWN), gas(ENTITY)])],
  [ENTITY, 'a grid source', preferences([{ type: 'grid', flow_from: [{ stat_energy_from: ENTITY }] }])],
  [ENTITY, 'an individual device', device(ENTITY)],
  [OWN, 'an individual device', device(OWN)],
])('refuses to add a meter when its heat would count twice: %s is %s', (id, where, before) => {
  expect(add(before)).toEqual({
    changed: [],
    after: before.energy_sources,
    refusals: [`a is there already: ${id} is ${where}, and its heat would count twice.`],
  });
});

test('adds the other meters when Home Assistant does not know one, or one is refused', () => {
  expect(add(preferences([gas(OWN)]))).toMatchObject({ changed: [], refusals: [] });
  expect(add(preferences([]), [meter('a', { pair: null }), B])).toMatchObject({
    changed: [{ meter: 'b' }],
    refusals: ['Home Assistant does not know a yet: neither statistics nor entities.'],
  });
  expect(add(preferences([gas(ENTITY)]), [A, B]).changed).toMatchObject([{ meter: 'b' }]);
});

test('recognises a meter when its statistics or its entity are a source', () => {
  const sources = [
    gas('sensor.b_energy_total'),
    gas('sensor.boiler'),
    { type: 'water' },
    gas('heat2mqtt:a_energy'),
  ];
  expect(gasSourcesOf(sources, [A, B])).toEqual([
    { name: null, energy: 'sensor.b_energy_total', cost: null, meter: 'b', way: 'entity' },
    { name: null, energy: 'sensor.boiler', cost: null, meter: null, way: null },
    { name: null, energy: 'heat2mqtt:a_energy', cost: null, meter: 'a', way: 'statistics' },
  ]);
  expect(plan('remove', preferences(sources), [A, B], true).after).toEqual([sources[1], sources[2]]);
});

test('whatever others have there: added and removed again it is as before, and only our sources differ meanwhile', () => {
  const source = fc.dictionary(fc.string(), fc.jsonValue()).map((fields) => ({ ...fields, type: 'solar' }));
  fc.assert(
    fc.property(fc.array(fc.oneof(source, fc.constant(gas('sensor.boiler')))), (sources) => {
      const before = preferences(sources);
      const { after, changed } = add(before, [A, B]);
      expect(after.slice(0, sources.length)).toEqual(sources);
      expect(changed).toHaveLength(2);
      expect(plan('remove', { ...before, energy_sources: after }, [A, B], true).after).toEqual(sources);
    }),
  );
});
