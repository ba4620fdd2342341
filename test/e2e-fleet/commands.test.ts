// The commands of a household beside a fleet: they share its sessions under claims of their own, or are refused.
import { expect, test } from 'vitest';
import { ME } from '../e2e/program.ts';
import { booked, METER, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openFlat } from './flat.ts';

async function openReadFlat() {
  const flat = await openFlat();
  await flat.command('accounts', 'import', await flat.logins(['home', ME.username, ME.password]));
  const process = flat.process();
  await waitFor('the first poll', async () => {
    const [row] = await flat.postgres.query('SELECT last_success_at FROM heat2mqtt_views.account_state');
    return row?.last_success_at != null;
  });
  return { ...flat, worker: process };
}

test('usage, invoices, export, report and check answer from the database and the session of the fleet', async () => {
  const { command, simulator } = await openReadFlat();
  const exported = await command('export', '--format', 'json');
  const days: { energy_kwh: number; meter: string }[] = JSON.parse(exported.output);
  expect(days.reduce((sum, day) => sum + day.energy_kwh, 0)).toBeCloseTo(booked(simulator).kwh, 3);
  expect(new Set(days.map(({ meter }) => meter))).toEqual(new Set([METER]));
  expect((await command('usage', '--format', 'csv')).output).toContain('energy_kwh');
  expect(await command('invoices', '--format', 'json')).toMatchObject({ code: 0 });
  expect(await command('check', '--live')).toMatchObject({
    code: 0,
    output: expect.stringMatching(
      /database of the fleet: 1 account\(s\), 1 process\(es\)[\s\S]*stored session is good/,
    ),
  });
  const report = await command('report');
  expect(report.output).toMatch(
    /## Fleet[\s\S]*1 account\(s\): 0 paused, 0 failing[\s\S]*## Account home[\s\S]*last good poll/,
  );
  expect(report.output).not.toContain(ME.username);
  expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
});

test('a command refreshes under a claim: it waits for the account, and the fleet goes on with its tokens', async () => {
  const flat = await openReadFlat();
  const { command, simulator, postgres } = flat;
  simulator.switches.token.accessSeconds = 1;
  await command('logout');
  expect(await command('login')).toMatchObject({
    code: 0,
    output: expect.stringContaining('The fleet goes on'),
  });
  const logins = simulator.counters.passwordGrants.asked;
  const fence = async () => Number((await postgres.query('SELECT fence FROM heat2mqtt.account'))[0]?.fence);
  // And the end of its access token: a command with one that is good asks for no claim.
  await waitFor('the poll that the login has asked for', async () => {
    const [row] = await postgres.query(
      `SELECT claimed_until <= now() AND due_at > now() AND last_poll_at < now() - interval '2 s' AS rests
      FROM heat2mqtt.account`,
    );
    return row?.rests === true;
  });

  const before = await fence();
  await postgres.query(
    "UPDATE heat2mqtt.account SET claimed_by = gen_random_uuid(), fence = fence + 1, claimed_until = now() + interval '4 s'",
  );
  const began = performance.now();
  expect(await command('usage')).toMatchObject({ code: 0 });
  expect(performance.now() - began).toBeGreaterThan(3_000);
  expect(await fence()).toBeGreaterThan(before + 1);
  await Promise.all([command('usage'), command('usage'), command('usage')]);
  await postgres.query('UPDATE heat2mqtt.account SET poll_at = now(), due_at = now()');
  await command('accounts', 'pause', 'home');
  await command('accounts', 'pause', 'home', '--resume');
  await waitFor('a poll with them', async () => {
    const [row] = await postgres.query(
      "SELECT last_poll_at > now() - interval '20 s' AS polled, failures FROM heat2mqtt.account",
    );
    return row?.polled === true && row.failures === 0;
  });
  expect(simulator.counters.passwordGrants.asked).toBe(logins);
});

test('with several accounts one has to be named; what is for a household is refused; uninstall waits for the last process', async () => {
  const flat = await openReadFlat();
  const { command, worker, folder } = flat;
  const probe = await flat.listen();
  await command('accounts', 'import', await flat.logins(['second', 'you@example.org', 'invented words']));
  expect(await command('usage')).toMatchObject({
    code: 2,
    errors: expect.stringContaining('one of the 2 accounts of the fleet'),
  });
  expect(await command('usage', '--account', 'third')).toMatchObject({ code: 2 });
  expect(await command('usage', '--account', 'home')).toMatchObject({ code: 0 });
  expect(await command('report')).toMatchObject({ code: 0, output: expect.stringContaining('2 account(s)') });
  expect(await command('config', 'show')).toMatchObject({ code: 0 });
  for (const words of [['backup', `${folder}/x.backup`], ['energy-dashboard']])
    expect(await command(...words)).toMatchObject({
      code: 2,
      errors: expect.stringContaining('is for a household'),
    });
  expect(await command('uninstall', '--yes')).toMatchObject({ code: 2 });
  await worker.end('SIGTERM');
  expect(await command('uninstall', '--yes')).toMatchObject({
    code: 0,
    output: expect.stringContaining('the database of fleet.database_url'),
  });
  await probe.untilCleared([STATE]);
});
