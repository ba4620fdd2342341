// The example blueprints and the dashboard in a real Home Assistant: they are accepted, and tell what they promise.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Fields, isFields } from '../support/fields.ts';
import { METER } from '../support/homes.ts';
import { ROOT } from '../support/sources.ts';
import { waitFor } from '../support/waitFor.ts';
import type { Api } from './api.ts';
import { complaints, stateOf, untilShown } from './entities.ts';
import { daysAgo } from './series.ts';
import { openStory } from './story.ts';

const LATE = `binary_sensor.heat2mqtt_${METER}_data_late`;
const STATE = `heat2mqtt/meter/${METER}/state`;
const METER_EVENT = `heat2mqtt/meter/${METER}/event`;
const read = (file: string) => readFileSync(join(ROOT, 'examples/home-assistant', file), 'utf8');
/** Each blueprint with what it is given. */
const INPUTS = {
  'data-late.yaml': { data_late: LATE },
  'new-bill.yaml': {},
  'unusual-use.yaml': {},
  'heat-while-away.yaml': { most: 6 },
};
const automation = ([file, input]: [string, Fields]) => ({
  id: file,
  alias: file,
  // MQTT is set up after Home Assistant has started, which would be too late for a trigger of it.
  initial_state: file === 'data-late.yaml',
  use_blueprint: { path: `heat2mqtt/${file}`, input },
});

test('late readings, a new bill, unusual use and heat in an empty home are told, and the dashboard has all its entities', async () => {
  const { start, enter, probe, homeAssistant } = await openStory({
    files: Object.fromEntries(
      Object.keys(INPUTS).map((file) => [`blueprints/automation/heat2mqtt/${file}`, read(file)]),
    ),
    sections: {
      persistent_notification: null,
      automation: Object.entries(INPUTS).map(automation),
    },
  });
  await start();
  const api = await enter();
  await untilShown(probe, api);
  await waitFor('a meter in time', async () => (await stateOf(api, LATE)) === 'off');

  const state = await probe.until(STATE, () => true);
  await probe.publish(STATE, JSON.stringify({ ...state, data_late: true }));
  await told(api, `Heat meter ${METER}: the provider has had no new reading for a while.`);
  await probe.publish(STATE, JSON.stringify({ ...state, data_late: false }));
  await told(api, `Heat meter ${METER}: the readings are coming again.`);

  await api.post('/api/services/automation/turn_on', { entity_id: 'automation.new_bill_yaml' });
  const invoice = { id: '1', status: 'invoice', due: '2026-12-04', amount: 87.5, amount_due: 87.5 };
  const bill = { schema: 1, event_type: 'bill', at: '2026-11-20T06:23:00+00:00', currency: 'EUR', invoice };
  // An event does not wait for a listener, and nobody can see when Home Assistant has become one.
  const again = () => probe.publish('heat2mqtt/account/home/event', JSON.stringify(bill));
  await told(api, 'A new bill for heat of 87.50 EUR, to be paid by 2026-12-04.', again);

  const use = { day: '2026-11-19', energy_kwh: 41.2, expected: 28.4, low: 21.9, high: 35.8, by: 'weather' };
  const unusual = { schema: 1, event_type: 'unusual_use', at: bill.at, ...use };
  await api.post('/api/services/automation/turn_on', { entity_id: 'automation.unusual_use_yaml' });
  const expected = '21.9 to 35.8 kWh were to be expected of the day.';
  await told(api, `41.2 kWh of heat on 2026-11-19 are more than usual: ${expected}`, () =>
    probe.publish(METER_EVENT, JSON.stringify({ ...unusual, direction: 'high', reason: 'day' })),
  );
  await told(api, `41.2 kWh of heat on 2026-11-19 and the days before are together less than usual`, () =>
    probe.publish(METER_EVENT, JSON.stringify({ ...unusual, direction: 'low', reason: 'drift' })),
  );

  // The owner, who is in no zone, has been away since Home Assistant started: of whole days since tomorrow.
  await api.post('/api/services/automation/turn_on', { entity_id: 'automation.heat_while_away_yaml' });
  const newDay = async (days: number, energy_kwh: number) => {
    const read = { at: bill.at, day: daysAgo(-days), energy_kwh, cost_eur: 1 };
    await probe.publish(METER_EVENT, JSON.stringify({ schema: 1, event_type: 'new_day', ...read }));
  };
  const away = async () => {
    await newDay(1, 5.9);
    await newDay(0, 7.1);
    await newDay(1, 7.2);
  };
  await told(api, `7.2 kWh of heat on ${daysAgo(-1)}, and no one was at home.`, away);
  const notes = await api.ask('persistent_notification/get');
  expect(JSON.stringify(notes)).not.toMatch(/(5\.9|7\.1) kWh/);

  const shown = new Set((await states(api)).map(({ entity_id }) => entity_id));
  const named =
    JSON.stringify(parse(read('dashboard.yaml'))).match(/\b(binary_sensor|sensor|button)\.\w+/g) ?? [];
  expect(named.filter((id) => !shown.has(id))).toEqual([]);
  expect(complaints(homeAssistant.records())).toEqual([]);
});

async function told(api: Api, text: string, before = async () => {}): Promise<void> {
  const find = async () => {
    await before();
    const notes = await api.ask('persistent_notification/get');
    return Array.isArray(notes) && notes.some(({ message }) => String(message).startsWith(text));
  };
  await waitFor(`the message "${text}"`, find, { timeoutMs: 30_000 });
}

const states = async (api: Api): Promise<Fields[]> => {
  const all = await api.get('/api/states');
  return Array.isArray(all) ? all.filter(isFields) : [];
};
