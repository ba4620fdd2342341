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

test('a single meter is Heat, several have their names; without names there are none', () => {
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

test('what is there already stays; what would count twice is refused with its place', () => {
  expect(add(preferences([gas('heat2mqtt:a_energy')]))).toMatchObject({ changed: [], refusals: [] });
  const refused = (before: Preferences) => {
    const { changed, after, refusals } = add(before);
    expect([changed, after]).toEqual([[], before.energy_sources]);
    return refusals;
  };
  const twice = (id: string, where: string) => [
    `a is there already: ${id} is ${where}, and its heat would count twice.`,
  ];
  const [entity, register] = ['sensor.a_energy_total', 'sensor.a_meter_reading'];
  expect(refused(preferences([gas(entity)]))).toEqual(twice(entity, 'a gas source'));
  expect(refused(preferences([gas(register)]))).toEqual(twice(register, 'a gas source'));
  expect(refused(preferences([{ type: 'grid', flow_from: [{ stat_energy_from: entity }] }]))).toEqual(
    twice(entity, 'a grid source'),
  );
  expect(refused(preferences([], { device_consumption: [{ stat_consumption: entity }] }))).toEqual(
    twice(entity, 'an individual device'),
  );
  const own = 'heat2mqtt:a_energy';
  expect(refused(preferences([], { device_consumption: [{ stat_consumption: own }] }))).toEqual(
    twice(own, 'an individual device'),
  );
  expect(refused(preferences([gas(own), gas(entity)]))).toEqual(twice(entity, 'a gas source'));
  expect(add(preferences([]), [meter('a', { pair: null })]).refusals).toEqual([
    'Home Assistant does not know a yet: neither statistics nor entities.',
  ]);
  // One that is refused keeps no other from being added.
  expect(add(preferences([gas(entity)]), [A, B]).changed).toMatchObject([{ meter: 'b' }]);
});

test('a meter is recognised by its statistics and by its entity, others are left alone', () => {
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
