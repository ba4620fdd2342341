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

test.each([
  'homeassistant/device/heat/meter/two/config',
  'homeassistant/device/Wärme/config',
  'homeassistant/device/heat',
  'elsewhere/device/heat/config',
])('the topic %s is refused', (topic) => {
  expect(judge({}, topic)).toEqual([`topic ${topic}`]);
});

test.each(['nonsense', '[]'])('the payload %s is refused', (payload) => {
  expect(documentComplaints(TOPIC, payload)).toEqual(['no JSON object']);
});

test.each<[string, Fields, string]>([
  ['an unknown key', { icon: 'mdi:fire' }, 'document: unknown key icon'],
  ['an unknown device key', { device: { maker: 'x' } }, 'device: unknown key maker'],
  ['an unknown origin key', { origin: { url: 'x' } }, 'origin: unknown key url'],
  ['no identifiers', { device: { identifiers: [] } }, 'device without identifiers'],
  ['no device name', { device: { name: '' } }, 'device without a name'],
  ['a link of no kind', { device: { configuration_url: 'ftp://x' } }, 'configuration_url'],
  ['no origin name', { origin: { name: undefined } }, 'origin without a name'],
  ['no components', { components: { total: undefined } }, 'no components'],
  ['two availabilities', { availability: [] }, 'two kinds of availability'],
  ['an odd qos', { qos: 3 }, 'qos'],
])('%s is refused', (_name, changes, complaint) => {
  expect(judge(changes)).toContain(complaint);
});

test.each<[string, Fields, string]>([
  ['a platform there is not', { platform: 'meter' }, 'platform meter'],
  ['no unique id', { unique_id: undefined }, 'no unique_id'],
  ['a typo', { unit_of_measurment: 'kWh' }, 'body: unknown key unit_of_measurment'],
  ['the removed object_id', { object_id: 'x' }, 'body: unknown key object_id'],
  ['a repeated device name', { name: 'Heat meter energy' }, 'name repeats the device'],
  ['no name', { name: undefined }, 'no name'],
  ['a wildcard topic', { state_topic: 'heat/+/state' }, 'no state_topic'],
  ['a class there is not', { device_class: 'heat' }, 'device_class heat'],
  ['an impossible state class', { state_class: 'measurement' }, 'state_class measurement of energy'],
  [
    'money that only rises',
    { device_class: 'monetary', unit_of_measurement: 'EUR', state_class: 'total_increasing' },
    'state_class total_increasing of monetary',
  ],
  ['a unit of another class', { unit_of_measurement: 'KWH' }, 'unit KWH of energy'],
  ['no unit', { unit_of_measurement: undefined }, 'no unit'],
  ['a unit on a date', { device_class: 'date', state_class: undefined }, 'unit kWh of date'],
  ['an enum without options', { device_class: 'enum' }, 'options and enum go together'],
  ['options without enum', { options: ['a'] }, 'options and enum go together'],
  ['the same option twice', { device_class: 'enum', options: ['a', 'a'] }, 'options'],
  ['a configuring sensor', { entity_category: 'config' }, 'entity_category config'],
  ['an odd icon', { icon: 'fire' }, 'icon fire'],
  ['an id of another platform', { default_entity_id: 'button.x' }, 'default_entity_id button.x'],
  ['an id with capitals', { default_entity_id: 'sensor.Heat' }, 'default_entity_id sensor.Heat'],
  ['half a digit', { suggested_display_precision: 0.5 }, 'suggested_display_precision'],
  [
    'a blocked attribute',
    { json_attributes_topic: 'heat/state', json_attributes_template: "{{ {'state': 1} | tojson }}" },
    'attribute state is blocked',
  ],
  ['attributes from nowhere', { json_attributes_template: '{{ 1 }}' }, 'attributes without a topic'],
])('%s is refused', (_name, more, complaint) => {
  expect(judgeTotal(more)).toContain(`total: ${complaint}`);
});

test.each<[string, Fields, string]>([
  ['a button without a command', { platform: 'button' }, 'no command_topic'],
  [
    'a retained command',
    { platform: 'button', command_topic: 'heat/go', retain: true },
    'a retained command',
  ],
  ['an event without types', { platform: 'event' }, 'event_types'],
])('%s is refused', (_name, body, complaint) => {
  const names = { name: 'Go', unique_id: 'go', default_entity_id: `${body.platform}.go` };
  expect(judge({ components: { go: { ...names, ...body } } })).toEqual([`go: ${complaint}`]);
});

test('ids and names are unique, over a whole house', () => {
  const payload = JSON.stringify(SOUND);
  const other = { topic: 'homeassistant/device/other/config', payload };
  expect(discoveryComplaints([{ topic: TOPIC, payload }])).toEqual([]);
  expect(discoveryComplaints([{ topic: TOPIC, payload }, other])).toEqual([
    'unique id sensor heat_meter_total twice',
    'entity id sensor.heat_meter_total twice',
  ]);
  const again = { ...total, unique_id: 'b', default_entity_id: 'sensor.b' };
  expect(judge({ components: { again } })).toEqual(['name Energy total twice']);
});
