// The validator of the specs has teeth: each broken document gets its complaint, a sound one none.
import { expect, test } from 'vitest';
import { discoveryComplaints, documentComplaints } from '../support/homeAssistantRules.ts';

type Fields = Record<string, unknown>;

const TOPIC = 'homeassistant/device/heat_meter/config';
const TOTAL: Fields = {
  platform: 'sensor',
  name: 'Energy total',
  unique_id: 'heat_meter_total',
  default_entity_id: 'sensor.heat_meter_total',
  value_template: '{{ value_json.total }}',
  device_class: 'energy',
  state_class: 'total',
  unit_of_measurement: 'kWh',
};
const SOUND: Fields = {
  device: { identifiers: ['heat_meter'], name: 'Heat meter' },
  origin: { name: 'heat2mqtt' },
  availability_topic: 'heat/bridge/state',
  state_topic: 'heat/state',
  components: { total: TOTAL },
};
const judge = (changes: Fields) => documentComplaints(TOPIC, JSON.stringify({ ...SOUND, ...changes }));
const judgeTotal = (changes: Fields) => judge({ components: { total: { ...TOTAL, ...changes } } });

test('a sound document passes, and so does a component reduced to its platform', () => {
  expect(judge({})).toEqual([]);
  expect(judge({ components: { gone: { platform: 'binary_sensor' } } })).toEqual([]);
});

test.each<[string, readonly string[]]>([
  ['document: unknown key icon', judge({ icon: 'mdi:fire' })],
  ['device without identifiers', judge({ device: { identifiers: [], name: 'Heat meter' } })],
  ['two kinds of availability', judge({ availability: [] })],
  ['total: no unique_id', judgeTotal({ unique_id: undefined })],
  ['total: body: unknown key unit_of_measurment', judgeTotal({ unit_of_measurment: 'kWh' })],
  ['total: name repeats the device', judgeTotal({ name: 'Heat meter energy' })],
  ['total: no state_topic', judgeTotal({ state_topic: 'heat/+/state' })],
  ['total: state_class measurement of energy', judgeTotal({ state_class: 'measurement' })],
  ['total: unit KWH of energy', judgeTotal({ unit_of_measurement: 'KWH' })],
  ['total: options and enum go together', judgeTotal({ device_class: 'enum' })],
  ['total: default_entity_id button.x', judgeTotal({ default_entity_id: 'button.x' })],
])('%s', (complaint, complaints) => {
  expect(complaints).toContain(complaint);
});

test('ids and names are unique, over a whole house', () => {
  const payload = JSON.stringify(SOUND);
  const other = { topic: 'homeassistant/device/other/config', payload };
  expect(discoveryComplaints([{ topic: TOPIC, payload }, other])).toEqual([
    'unique id sensor heat_meter_total twice',
    'entity id sensor.heat_meter_total twice',
  ]);
  const again = { ...TOTAL, unique_id: 'b', default_entity_id: 'sensor.b' };
  expect(judge({ components: { total: TOTAL, again } })).toEqual(['name Energy total twice']);
});
