// What accounts of a fleet share: a meter, the turn while there is a backlog, and the public lists.
import { expect, test } from 'vitest';
import { ME } from '../e2e/program.ts';
import { FAULTS } from '../support/faults.ts';
import { STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openFlat } from './flat.ts';

test('of two accounts with one meter the lowest id that is usable reads it, and its topics stay', async () => {
  const flat = await openFlat();
  const { command, logins, postgres } = flat;
  const probe = await flat.listen();
  const readers = async () => postgres.query('SELECT account FROM heat2mqtt.series');
  const untilReadBy = (account: string) =>
    waitFor(`${account} to read it`, async () => (await readers())[0]?.account === account);
  await command('accounts', 'import', await logins(['b', ME.username, ME.password]));
  flat.process();
  const { energy_total: before } = await probe.until(STATE);
  await untilReadBy('b');
  await command('accounts', 'import', await logins(['a', ME.username, ME.password]));
  await untilReadBy('a');
  await command('accounts', 'resume', 'b');
  await waitFor('the other one to have given it up', async () => {
    const [row] = await postgres.query(
      `SELECT wanted = 0 AND claimed_until <= now() AS rests FROM heat2mqtt.account WHERE id = 'b'`,
    );
    return row?.rests === true;
  });
  expect(await readers()).toEqual([{ account: 'a' }]);
  await command('accounts', 'pause', 'a');
  await command('accounts', 'resume', 'b');
  await untilReadBy('b');
  expect(JSON.parse(String(probe.last(STATE)?.payload))).toMatchObject({ energy_total: before });
  const days = await postgres.query('SELECT count(*)::int AS days FROM heat2mqtt_views.reading');
  expect(days).toEqual([{ days: flat.simulator.truth(512_001).size }]);
  // Its topics are no longer those of the other one.
  await command('accounts', 'remove', 'a', '--yes');
  await probe.untilCleared(['heat2mqtt/account/a/state']);
  expect(probe.last(STATE)?.payload.toString()).not.toBe('');
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
  const { command, logins, postgres, simulator } = flat;
  // A second for each answer, and two polls at once: a backlog that never ends.
  await flat.configure({
    usage: { schedule: '*/10 * * * * *', allow_fast_schedule: true, concurrency: 2 },
    extras: { meter_reading: false, balance: false, invoices: false },
  });
  const old = Array.from({ length: 30 }, (_, n) => [`old-${n}`, ME.username, ME.password]);
  await command('accounts', 'import', await logins(...old));
  await postgres.query('UPDATE heat2mqtt.account SET first_history = false');
  simulator.switches.fault('/', { kind: 'late', ms: 1_000 });
  flat.process();
  await waitFor('a backlog', async () => {
    const [row] = await postgres.query(
      `SELECT count(*)::int AS overdue FROM heat2mqtt.account WHERE due_at < now() - interval '10 s'`,
    );
    return Number(row?.overdue) > 20;
  });
  await command('accounts', 'import', await logins(['new', ME.username, ME.password]));
  const began = performance.now();
  await waitFor('the new one to be read', async () => {
    const [row] = await postgres.query(`SELECT last_success_at FROM heat2mqtt.account WHERE id = 'new'`);
    return row?.last_success_at != null;
  });
  expect(performance.now() - began).toBeLessThan(60_000);
});
