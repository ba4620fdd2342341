// What accounts of a fleet share: a meter, the turn while there is a backlog, and the public lists.
import { expect, test } from 'vitest';
import { FAULTS } from '../support/faults.ts';
import { METER, PROPERTY, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { isRead, openFlat, rests } from './flat.ts';

test('of two accounts with one meter the lowest id that is usable reads it, and its topics stay', async () => {
  const flat = await openFlat();
  const { command } = flat;
  const probe = await flat.listen();
  await flat.import('b');
  flat.process();
  const { energy_total: before } = await probe.until(STATE);
  await flat.untilReadBy('b');
  await flat.import('a');
  await flat.untilReadBy('a');
  await command('accounts', 'resume', 'b');
  await flat.untilRow('b', 'at rest', rests);
  await flat.untilReadBy('a');
  await command('accounts', 'pause', 'a');
  await command('accounts', 'resume', 'b');
  await flat.untilReadBy('b');
  expect(JSON.parse(String(probe.last(STATE)?.payload))).toMatchObject({ energy_total: before });
  expect(await flat.days()).toBe(flat.simulator.truth(PROPERTY).size);
  // Its topics are no longer those of the other one.
  await command('accounts', 'remove', 'a', '--yes');
  await probe.untilCleared(['heat2mqtt/account/a/state']);
  expect(probe.last(STATE)?.payload.toString()).not.toBe('');
});

test('a meter that is exchanged keeps its series, and everything else tells of the new one', async () => {
  const flat = await openFlat();
  const { command, postgres, simulator } = flat;
  const probe = await flat.listen();
  await flat.import('home');
  flat.process();
  const { energy_total: before } = await probe.until(STATE);
  const info = () => probe.until('heat2mqtt/bridge/info', ({ meters }) => String(meters) !== '');
  expect(await info()).toMatchObject({ meters: [{ meter: METER, identifiers: [METER] }] });
  await flat.untilRow('home', 'at rest', rests);
  simulator.exchangeMeter(PROPERTY, '70999001', { at: Date.now() - 3 * 86_400_000 });
  // A week has passed since properties were looked for, and one more day is booked.
  await postgres.run(`
    UPDATE heat2mqtt.document SET json = jsonb_set(json::jsonb, '{accounts,home,discoveredAt}', '1')::json WHERE name = 'journal';
    DELETE FROM heat2mqtt.reading WHERE day = (SELECT max(day) FROM heat2mqtt.reading)`);
  await command('accounts', 'resume', 'home');
  const exchanged = await probe.until(STATE, ({ meter_identifiers: own }) => String(own) === '70999001');
  expect(exchanged.energy_total).toBe(before);
  const device = `homeassistant/device/heat2mqtt_meter_${METER}/config`;
  await probe.until(device, (found) => Object(found.device).serial_number === '70999001');
  await probe.until('heat2mqtt/bridge/info', (found) =>
    JSON.stringify(found).includes('"identifiers":["70999001"]'),
  );
  expect(await postgres.query('SELECT name FROM heat2mqtt.series')).toEqual([{ name: METER }]);
  expect(probe.heard.filter(({ payload }) => payload === '')).toEqual([]);
});

test('a list of constituencies is answered, and published for its house; where it cannot be had, no topic is touched', async () => {
  const flat = await openFlat();
  const { simulator, command } = flat;
  await flat.configure({
    constituencies: { base_url: simulator.urls.constituencies, chamber: 'dail', house_no: 34 },
  });
  await command('accounts', 'list');
  const probe = await flat.listen();
  flat.process();
  await waitFor('the bridge', () => probe.last('heat2mqtt/bridge/state')?.payload.toString() === 'online');
  const topic = 'heat2mqtt/constituencies/dail/34';
  await probe.publish('heat2mqtt/bridge/request/constituencies', '');
  const answer = await probe.until('heat2mqtt/bridge/response/constituencies');
  expect(answer).toMatchObject({ status: 'ok', data: { topic, stale: false } });
  const list = await probe.until(topic);
  expect(list).toMatchObject({ stale: false, count: (answer.data as { count: number }).count });
  probe.forget();
  simulator.switches.fault('/v1/', FAULTS.serverError);
  await probe.publish('heat2mqtt/bridge/request/constituencies', '{"force": true}');
  expect(await probe.until('heat2mqtt/bridge/response/constituencies')).toMatchObject({ status: 'error' });
  expect(probe.last(topic)).toBeUndefined();
});

test('a new account is read within a minute while others are overdue', async () => {
  const flat = await openFlat();
  const { postgres, simulator } = flat;
  // A second for each answer, and two polls at once: a backlog that never ends.
  await flat.configure({
    usage: { schedule: '*/10 * * * * *', allow_fast_schedule: true, concurrency: 2 },
    extras: { meter_reading: false, balance: false, invoices: false },
  });
  await flat.import(...Array.from({ length: 30 }, (_, n) => `old-${n}`));
  await postgres.query('UPDATE heat2mqtt.account SET first_history = false');
  simulator.switches.fault('/', { kind: 'late', ms: 1_000 });
  flat.process();
  await waitFor('a backlog', async () => {
    const late = await postgres.query(`SELECT FROM heat2mqtt.account WHERE due_at < now() - interval '10 s'`);
    return late.length > 20;
  });
  await flat.import('new');
  const began = performance.now();
  await flat.untilRow('new', 'read', isRead);
  expect(performance.now() - began).toBeLessThan(60_000);
});
