// heat2mqtt accounts beside a real PostgreSQL: logins come and go, and a household moves in with all it has.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ME } from '../e2e/program.ts';
import { booked, PROPERTY, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { openFlat } from './flat.ts';

type Flat = Awaited<ReturnType<typeof openFlat>>;

async function listed({ command }: Flat): Promise<Readonly<Record<string, Record<string, unknown>>>> {
  const { code, output, errors } = await command('accounts', 'list', '--format', 'json');
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  const rows: { id: string }[] = JSON.parse(output);
  return Object.fromEntries(rows.map((row) => [row.id, row]));
}

const untilState = (flat: Flat, id: string, state: string) =>
  waitFor(`${id} to be ${state}`, async () => (await listed(flat))[id]?.state === state);

test('imported, mended, paused and removed, beside a process that works', async () => {
  const flat = await openFlat();
  const { command } = flat;
  const probe = await flat.listen();

  expect(await flat.import('flat-1', ['flat-2', 'x'])).toMatchObject({
    code: 2,
    errors: expect.stringMatching(/line 3: found 2 cells.*\n1 mistake: nothing was imported\.\n$/),
  });
  expect(await listed(flat)).toEqual({});

  const refused = ['flat-2', ME.username, 'word-of-nobody'];
  expect((await flat.import('flat-1', refused)).output).toBe('imported 2, changed 0, unchanged 0\n');
  expect((await flat.import('flat-1', refused)).output).toBe('imported 0, changed 0, unchanged 2\n');
  const process = flat.process();
  await untilState(flat, 'flat-1', 'ok');
  await untilState(flat, 'flat-2', 'failing');
  const failing = (await listed(flat))['flat-2'];
  expect(failing).toMatchObject({
    last_success_at: null,
    last_error: 'bad_credentials_or_locked',
  });
  expect(failing?.failing_since).toMatch(/^\d{4}-/);
  expect((await probe.until(STATE, () => true)).energy_total).toBeCloseTo(booked(flat.simulator).kwh, 3);

  // That a broker has forgotten everything buys no further try of a refused password.
  await flat.postgres.query(
    "UPDATE heat2mqtt.account SET republish = republish + 1, due_at = now() WHERE id = 'flat-2'",
  );
  await flat.untilRow('flat-2', 'published anew', (row) => Number(row.republish) === 0);
  expect(flat.simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 1 });

  // A password that was mended is tried at once, whatever wait the refused one had earned.
  expect((await flat.import('flat-2')).output).toBe('imported 0, changed 1, unchanged 0\n');
  await untilState(flat, 'flat-2', 'ok');
  expect((await listed(flat))['flat-2']).toMatchObject({
    failing_since: null,
    last_error: 'duplicate_meter',
  });

  expect(await command('accounts', 'pause', 'flat-2', 'flat-9')).toMatchObject({ code: 2 });
  expect((await command('accounts', 'pause', 'flat-2')).output).toBe('paused 1\n');
  expect((await listed(flat))['flat-2']).toMatchObject({ state: 'paused', next_run_at: null });
  expect((await command('accounts', 'resume', 'flat-2')).output).toBe('resumed 1: polled at once\n');
  // After the removal below, its poll would rightly take the meter over.
  await flat.untilRow('flat-2', 'polled at once', (row) => Number(row.wanted) === 0);

  expect(await command('accounts', 'remove', 'flat-1')).toMatchObject({ code: 2 });
  expect(await command('accounts', 'remove', 'flat-1', '--yes')).toMatchObject({ code: 0 });
  await waitFor('its row to be gone', async () => !('flat-1' in (await listed(flat))));
  await probe.untilCleared(['heat2mqtt/account/flat-1/state', STATE]);
  expect(probe.last('heat2mqtt/account/flat-2/state')?.payload).not.toBe('');
  expect(process.output).not.toContain('word-of-nobody');
  expect(await flat.postgres.dump()).not.toContain(ME.username);
});

test('a household moves in: no login, no history read again, the same totals; twice is harmless', async () => {
  const flat = await openFlat();
  const { command, simulator, folder } = flat;
  const probe = await flat.listen();
  await writeFile(join(folder, 'password'), ME.password);
  const accounts = [{ id: 'home', username: ME.username, password_file: join(folder, 'password') }];
  await flat.configure({ accounts, fleet: undefined });
  const daemon = flat.process();
  await daemon.says('"polled"');
  const { energy_total: before } = await probe.until(STATE, () => true);
  await flat.configure({ accounts });
  const fromState = ['accounts', 'import', '--from-state', join(folder, 'state')];
  expect(await command(...fromState)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('already runs with this state directory'),
  });
  await daemon.end('SIGTERM');
  const noPlace = ['accounts', 'import', '--from-state', join(folder, 'password')];
  expect(await command(...noPlace)).toMatchObject({ code: 2, errors: expect.stringContaining('--force') });

  const asked = simulator.requests.length;
  expect((await command(...fromState, '--dry-run')).output).toBe('would be moved 1, known 0\n');
  expect((await command(...fromState)).output).toMatch(/^moved 1, known 0\n/);
  // Its history is read: it does not wait with those whose is not.
  expect(await flat.row('home')).toMatchObject({ first_history: false });
  expect((await command(...fromState)).output).toMatch(/^moved 0, known 1\n/);
  const other = [{ id: 'home', username: 'you@example.org', password: 'invented words' }];
  await flat.configure({ accounts: other });
  expect(await command(...fromState)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('accounts home: found this id in the fleet, of another login'),
  });
  expect(existsSync(join(folder, 'state/accounts/home/tokens.json'))).toBe(false);
  await flat.configure();
  probe.forget();
  flat.process();
  const { energy_total: after } = await probe.until(STATE, () => true);
  expect(after).toBe(before);
  const routes = simulator.requests.slice(asked).map(({ route }) => route);
  expect(routes.filter((route) => route.includes('token'))).toEqual([]);
  expect(routes.filter((route) => route.includes('usage'))).toHaveLength(1);
  expect(await flat.days()).toBe(simulator.truth(PROPERTY).size);
});
