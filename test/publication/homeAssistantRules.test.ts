// The validator of the specs has teeth: each broken document gets its complaint, a sound one none.
import { expect, test } from 'vitest';
import { discoveryComplaints, documentComplaints } from '../support/homeAssistantRules.ts';

type Fields = Record<string, unknown>;

const TOPIC = 'homeassistant/device/heat_meter/config';
const SOUND: Readonly<Record<string, Fields | string>> = {
  device: { identifiers: ['heat_meter'], name: 'Heat meter' },
  origin: { name: 'heat2mqtt' },
  availability_topic: 'heat/bridge/state',
  state_topic: 'heat/state',
  components: {
    total: {
      platform: 'sensor',
      name: 'Energy total',
      unique_id: 'heat_meter_total',
      default_entity_id: 'sensor.heat_meter_total',
      value_template: '{{ value_json.total }}',
      device_class: 'energy',
      state_class: 'total',
      unit_of_measurement: 'kWh',
      suggested_display_precision: 1,
    },
  },
};
const { total } = SOUND.components as Record<string, Fields>;

/** Of the sound document with these keys changed, one level deep; `undefined` takes a key away. */
function judge(changes: Fields, topic = TOPIC): string[] {
  const changed = Object.entries(changes).map(([key, value]) =>
    typeof SOUND[key] === 'object' ? [key, { ...SOUND[key], ...(value as Fields) }] : [key, value],
  );
  return documentComplaints(topic, JSON.stringify({ ...SOUND, ...Object.fromEntries(changed) }));
}
const judgeTotal = (more: Fields) => judge({ components: { total: { ...total, ...more } } });

test('a sound document passes, and so does a component reduced to its platform', () => {
  expect(judge({})).toEqual([]);
  expect(judge({ components: { gone: { platform: 'binary_sensor' } } })).toEqual([]);
});

test.each<[string, Fields, string]>([
  ['an unknown key', { icon: 'mdi:fire' }, 'document: unknown key icon'],
  ['no identifiers', { device: { identifiers: [] } }, 'device without identifiers'],
  ['no origin name', { origin: { name: undefined } }, 'origin without a name'],
  ['no components', { components: { total: undefined } }, 'no components'],
  ['two availabilities', { availability: [] }, 'two kinds of availability'],
])('a document with %s is refused', (_name, changes, complaint) => {
  expect(judge(changes)).toContain(complaint);
  expect(judge({}, 'homeassistant/device/Wärme/config')).toEqual(['topic homeassistant/device/Wärme/config']);
});

test.each<[string, Fields, string]>([
  ['no unique id', { unique_id: undefined }, 'no unique_id'],
  ['a typo', { unit_of_measurment: 'kWh' }, 'body: unknown key unit_of_measurment'],
  ['a repeated device name', { name: 'Heat meter energy' }, 'name repeats the device'],
  ['a wildcard topic', { state_topic: 'heat/+/state' }, 'no state_topic'],
  ['an impossible state class', { state_class: 'measurement' }, 'state_class measurement of energy'],
  ['a unit of another class', { unit_of_measurement: 'KWH' }, 'unit KWH of energy'],
  ['a unit on a date', { device_class: 'date', state_class: undefined }, 'unit kWh of date'],
  ['an enum without options', { device_class: 'enum' }, 'options and enum go together'],
  ['an id of another platform', { default_entity_id: 'button.x' }, 'default_entity_id button.x'],
  [
    'a blocked attribute',
    { json_attributes_topic: 'heat/state', json_attributes_template: "{{ {'state': 1} | tojson }}" },
    'attribute state is blocked',
  ],
])('a component with %s is refused', (_name, more, complaint) => {
  expect(judgeTotal(more)).toContain(`total: ${complaint}`);
});

test('ids and names are unique, over a whole house', () => {
  const payload = JSON.stringify(SOUND);
  const other = { topic: 'homeassistant/device/other/config', payload };
  expect(discoveryComplaints([{ topic: TOPIC, payload }, other])).toEqual([
    'unique id sensor heat_meter_total twice',
    'entity id sensor.heat_meter_total twice',
  ]);
  const again = { ...total, unique_id: 'b', default_entity_id: 'sensor.b' };
  expect(judge({ components: { again } })).toEqual(['name Energy total twice']);
});
