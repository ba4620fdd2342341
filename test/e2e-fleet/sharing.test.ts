// What accounts of a fleet share: a meter, the turn while there is a backlog, and the public lists.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FAULTS } from '../support/faults.ts';
import { HEALTH, ME, METER, PROPERTY, STATE, USAGE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { isRead, openFlat, rests } from './flat.ts';

test('of two accounts with one meter the one that has its ledger reads it until it cannot; the other says so', async () => {
  const flat = await openFlat();
  const { command, postgres, simulator } = flat;
  const probe = await flat.listen();
  const isDuplicate = ({ last_error, failures, wanted }: Record<string, unknown>) =>
    last_error === 'duplicate_meter' && failures === 0 && wanted === 0;
  /** Polled once more. */
  async function polled(id: string, is = isRead): Promise<void> {
    await command('accounts', 'resume', id);
    await flat.untilRow(id, 'at rest', (row) => rests(row) && is(row));
  }
  const isReadBy = async (id: string) =>
    expect(await postgres.query('SELECT account FROM heat2mqtt.series')).toEqual([{ account: id }]);

  await flat.import('b');
  flat.process();
  const { energy_total, origin } = await probe.until(STATE);
  await flat.untilRow('b', 'at rest', rests);
  const asked = simulator.counters.requests[USAGE];
  await flat.import('a');
  await flat.untilRow('a', 'named', isDuplicate);
  await isReadBy('b');
  expect(simulator.counters.requests[USAGE]).toBe(asked);
  const health = await probe.until(HEALTH, (told) => JSON.stringify(told).includes('duplicate_meter'));
  expect(health.reasons).toEqual([
    expect.objectContaining({
      code: 'duplicate_meter',
      message: '1 account: another account has the same meter, and reads it.',
    }),
  ]);
  expect(health.fleet).toMatchObject({ failing: 0 });
  const { output } = await command('accounts', 'list', '--failing', '--format', 'json');
  expect(JSON.parse(output)).toMatchObject([{ id: 'a', advice: expect.stringContaining('read once, by b') }]);

  const failsSince = (id: string, hours: number) =>
    postgres.query(
      `UPDATE heat2mqtt.account SET failures = 3, last_error = 'provider_down', failing_since = now() - make_interval(hours => $2)
      WHERE id = $1`,
      [id, hours],
    );
  await failsSince('b', 23);
  await polled('a', isDuplicate);
  await isReadBy('b');
  await failsSince('b', 25);
  await polled('a');
  await isReadBy('a');
  await polled('b', isDuplicate);
  await isReadBy('a');
  // Its user is needed: not by one whose own is.
  await postgres.query('UPDATE heat2mqtt.account SET needs_user = true');
  await polled('b', isDuplicate);
  await isReadBy('a');
  await postgres.query(`UPDATE heat2mqtt.account SET needs_user = true WHERE id = 'a'`);
  await polled('b');
  await isReadBy('b');
  expect(JSON.parse(String(probe.last(STATE)?.payload))).toMatchObject({ energy_total, origin });
  expect(await flat.days()).toBe(simulator.truth(PROPERTY).size);
  // Its topics are no longer those of the other one.
  await command('accounts', 'remove', 'a', '--yes');
  await probe.untilCleared(['heat2mqtt/account/a/state']);
  expect(probe.last(STATE)?.payload.toString()).not.toBe('');
});

test('a household moves in whose second account has the ledger of both: it keeps it, and no history is read again', async () => {
  const flat = await openFlat();
  const { command, simulator, folder, postgres } = flat;
  const probe = await flat.listen();
  await writeFile(join(folder, 'password'), ME.password);
  const account = (id: string) => ({ id, username: ME.username, password_file: join(folder, 'password') });
  const [first, second] = [account('first'), account('second')];
  for (const accounts of [[second], [first, second]]) {
    await flat.configure({ accounts, fleet: undefined });
    const daemon = flat.process();
    await daemon.says(`"account":"${accounts[0]?.id}","newestDay":`);
    const isToldTwice = accounts.length === 2;
    await probe.until(HEALTH, (health) => !isToldTwice || JSON.stringify(health).includes('duplicate_meter'));
    await daemon.end('SIGTERM');
  }
  const asked = simulator.requests.length;
  await flat.configure({ accounts: [first, second] });
  const moved = await command('accounts', 'import', '--from-state', join(folder, 'state'));
  expect(moved.output).toMatch(/^moved 2, known 0\n/);
  await flat.configure();
  flat.process();
  for (const id of ['first', 'second'])
    await flat.untilRow(id, 'at rest', (row) => rests(row) && isRead(row));
  expect(await postgres.query('SELECT account FROM heat2mqtt.series')).toEqual([{ account: 'second' }]);
  const routes = simulator.requests.slice(asked).map(({ route }) => route);
  expect(routes.filter((route) => route === USAGE)).toHaveLength(1);
  expect(await flat.days()).toBe(simulator.truth(PROPERTY).size);
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
