// Tables, states and discovery agree: every template finds its keys where it looks for them.
import { expect, test } from 'vitest';
import { SCHEMAS } from '../../scripts/docs/schemas.ts';
import type { Message } from '../../src/mqtt/message.ts';
import { attributesBody } from '../../src/publication/discovery.ts';
import { ACCOUNT_ROWS } from '../../src/publication/entities/accountEntities.ts';
import { EVENT_ROWS } from '../../src/publication/entities/bridgeEntities.ts';
import { type EntityRow, keysOf } from '../../src/publication/entities/entityRow.ts';
import { METER_ROWS } from '../../src/publication/entities/meterEntities.ts';
import { type Fields, isFields } from '../support/fields.ts';
import { bodyOf, discoveryBelow, discoveryOf, EMPTY, FULL, statesOf } from '../support/inventedHome.ts';

const options = discoveryBelow('heat2mqtt');
// About what a phone shows in one line.
const LONGEST_NAME = 23;
const tables = [
  ['meter', METER_ROWS],
  ['account', ACCOUNT_ROWS],
] as const;

/** Each template of a document with the topic that it reads. */
function templatesOf(document: Fields): { where: string; topic: string; template: string }[] {
  const components = isFields(document.components) ? document.components : {};
  return Object.entries(components).flatMap(([key, body]) => {
    if (!isFields(body)) return [];
    const pairs = [
      [body.value_template, body.state_topic ?? document.state_topic],
      [body.json_attributes_template, body.json_attributes_topic],
    ];
    return pairs.flatMap(([template, topic]) =>
      template === undefined ? [] : [{ where: key, topic: String(topic), template: String(template) }],
    );
  });
}

const keysIn = (template: string): string[] =>
  [...template.matchAll(/value_json\.(\w+)/g)].map(([, key]) => String(key));

test.each([
  ['full', FULL],
  ['without a single reading', EMPTY],
])('every template of a meter %s reads a key that is in the payload of its topic', (_name, meter) => {
  const states = new Map(statesOf(options.topics, meter).map((message) => [message.topic, message]));
  const templates = discoveryOf(options, meter).flatMap((message: Message) => templatesOf(bodyOf(message)));
  expect(templates.length).toBeGreaterThan(20);
  for (const { where, topic, template } of templates) {
    const keys = keysIn(template);
    const lost = keys.filter((key) => !Object.hasOwn(bodyOf(states.get(topic)) ?? {}, key));
    expect(lost, `${where} of ${topic}`).toEqual([]);
    if (keys.length === 0) expect(template).toBe("{{ {'derived': true} | tojson }}");
  }
});

test('attributes: one with the entity as its beginning, one with a key of its own, and those of another entity', () => {
  const attributes = [
    { key: 'from', help: 'A day.', read: () => 1 },
    { as: 'low', help: 'An end.', read: () => 1 },
  ];
  const bill = { key: 'bill', name: 'Bill', help: 'A bill.', platform: 'sensor', read: () => 1 } as const;
  const rows: EntityRow<never>[] = [
    { ...bill, attributes },
    { ...bill, key: 'rest', alsoShows: 'bill' },
  ];
  for (const row of rows)
    expect(attributesBody(row, rows, 'heat/state')).toEqual({
      json_attributes_topic: 'heat/state',
      json_attributes_template: "{{ {'from': value_json.from, 'low': value_json.bill_low} | tojson }}",
    });
});

test.each(['en', 'ga', 'de'] as const)(
  'names in %s: each once on its device, and short enough for a phone',
  (language) => {
    for (const message of discoveryOf({ ...options, language })) {
      const bodies = Object.values(Object(bodyOf(message).components)).filter(isFields);
      const names = bodies.map(({ name }) => name);
      expect(names.filter((name) => typeof name !== 'string' || name.length > LONGEST_NAME)).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
    }
  },
);

test('a language changes names and options, and nothing that others build on', () => {
  const frozen = (language: 'en' | 'de') =>
    discoveryOf({ ...options, language }).map((message) => {
      const { device, components, ...rest } = bodyOf(message);
      const bodies = Object.entries(Object(components)).map(([key, body]) => {
        const { name, options: words, value_template: template, ...others } = Object(body);
        return [key, others, words ? words.length : template];
      });
      return [message.topic, { ...Object(device), name: '', model: '' }, rest, bodies];
    });
  expect(frozen('de')).toEqual(frozen('en'));
  const account = bodyOf(discoveryOf({ ...options, language: 'de' })[1]);
  expect(Object(account.components).auth_state).toMatchObject({
    name: 'Anmeldung',
    options: expect.arrayContaining(['Angemeldet']),
    value_template: expect.stringContaining('"ok":"Angemeldet"'),
    default_entity_id: 'sensor.heat2mqtt_home_auth_state',
  });
});

test.each(Object.entries(EVENT_ROWS))(
  'the entity of %s takes every type that passes there',
  (topic, { types }) => {
    const schema = JSON.stringify(SCHEMAS.get(topic));
    const passing = [...schema.matchAll(/"event_type":\{[^}]*?"(?:const":("\w+")|enum":\[([^\]]+)\])/g)];
    expect(passing.flatMap(([, one, several]) => JSON.parse(`[${one ?? several}]`))).toEqual(types);
  },
);

test.each(tables)(
  'the table of the %s has each key once, in snake case, with help in whole sentences',
  (_name, rows) => {
    const keys = keysOf<never>(rows);
    expect(new Set(keys.map(({ key }) => key)).size).toBe(keys.length);
    expect(keys.filter(({ key }) => !/^[a-z]+(_[a-z]+)*$/.test(key))).toEqual([]);
    expect(keys.filter(({ help }) => !/^[A-Z].*\.$/.test(help))).toEqual([]);
  },
);
