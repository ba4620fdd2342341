// Tables, states and discovery agree: every template finds its keys where it looks for them.
import { expect, test } from 'vitest';
import { SCHEMAS } from '../../scripts/docs/schemas.ts';
import type { Message } from '../../src/mqtt/message.ts';
import { ACCOUNT_ROWS } from '../../src/publication/entities/accountEntities.ts';
import { EVENT_ROWS } from '../../src/publication/entities/bridgeEntities.ts';
import { keysOf, stateFrom } from '../../src/publication/entities/entityRow.ts';
import { METER_ROWS } from '../../src/publication/entities/meterEntities.ts';
import type { AccountView, MeterView } from '../../src/publication/views.ts';
import { type Fields, isFields } from '../support/fields.ts';
import {
  ACCOUNT,
  bodyOf,
  discoveryBelow,
  discoveryOf,
  EMPTY,
  FULL,
  statesOf,
} from '../support/inventedHome.ts';

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

const SPANS = ['day', 'week', 'month', 'year', 'lastMonth', 'monthLastYear', 'total'] as const;
/** A meter of which each figure is another one. */
const DISTINCT: MeterView = {
  ...FULL,
  totals: {
    ...FULL.totals,
    ...Object.fromEntries(
      SPANS.map((span, n) => [span, { energy: (n + 1) * 1_000_000, cost: (n + 11) * 1_000_000 }]),
    ),
  },
  monthForecast: {
    energy: { amount: 31_000_000, low: 30_000_000, high: 33_000_000 },
    cost: { amount: 41_000_000, low: 40_000_000, high: 43_000_000 },
  },
  heatParts: {
    heating: { energy: 51, low: 50, high: 53 },
    hotWater: { energy: 61, low: 60, high: 63 },
  },
  tenancy: { ...FULL.ledger, origin: '2025-02-01' },
  readingCloses: 'previous_day',
};

test('each key of a meter has its own figure', () => {
  const state = stateFrom(keysOf(METER_ROWS), DISTINCT);
  const names = ['day', 'week', 'month', 'year', 'last_month', 'month_last_year', 'total'];
  expect(names.map((name) => state[`energy_${name}`])).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(names.map((name) => state[`cost_${name}`])).toEqual([11, 12, 13, 14, 15, 16, 17]);
  const band = (key: string) => [state[key], state[`${key}_low`], state[`${key}_high`]];
  expect(band('energy_month_forecast')).toEqual([31, 30, 33]);
  expect(band('cost_month_forecast')).toEqual([41, 40, 43]);
  expect(band('energy_month_heating')).toEqual([51, 50, 53]);
  expect(band('energy_month_hot_water')).toEqual([61, 60, 63]);
  expect(state).toMatchObject({ origin: '2025-01-01', history_since: '2025-02-01' });
  // Read an hour before midnight, it stands for the day before.
  expect(state).toMatchObject({
    meter_reading_at: '2025-06-29T23:00:00+01:00',
    meter_reading_day: '2025-06-28',
  });
});

test('the credit of an account is told as it is; where nothing is to be paid nothing is overdue', () => {
  const told = (more: Partial<AccountView>) =>
    stateFrom(keysOf(ACCOUNT_ROWS), { ...ACCOUNT, today: '2025-07-01', ...more });
  expect(told({ balance: { amount: 48_120_000 }, credit: { amount: 3_500_000 } })).toMatchObject({
    ...{ balance_due: 48.12, credit_balance: 3.5 },
    ...{ invoice_overdue: true, invoice_payment: 'overdue' },
  });
  expect(told({ balance: { amount: 0 } })).toMatchObject({ invoice_overdue: false, overdue_invoices: [] });
});

test('what was expected is of the latest day or nothing, and unusual is what is', () => {
  const kwh = { energy: 5_000_000, expected: 6_000_000, low: 4_000_000, high: 8_000_000 };
  const newest = { day: FULL.totals.newestDay ?? '', ...kwh, by: 'season' } as const;
  const use = { newest, unusual: null };
  const told = (more: Partial<MeterView>) => {
    const { unusual_use, energy_day_expected: expected } = stateFrom(keysOf(METER_ROWS), {
      ...FULL,
      ...more,
    });
    return [unusual_use, typeof expected];
  };
  expect(told({ use })).toEqual([false, 'number']);
  const unusual = { since: '2025-06-28', direction: 'high', reason: 'day' } as const;
  expect(told({ use: { ...use, unusual } })).toEqual([true, 'number']);
  expect(told({ use: { ...use, newest: { ...use.newest, day: '2025-06-01' } } })).toEqual([false, 'object']);
  expect(told({ use: null })).toEqual([null, 'object']);
});

test('a meter without outdoor temperatures has no entities of them', () => {
  const keysWith = (more: Partial<MeterView>) =>
    Object.keys(Object(bodyOf(discoveryOf(options, { ...FULL, ...more })[2]).components));
  const without = keysWith({ house: null });
  expect(keysWith({}).filter((key) => !without.includes(key))).toEqual([
    'weather_adjusted_change',
    'energy_month_heating',
    'energy_month_hot_water',
    'degree_days_month',
  ]);
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
