// The commands that work beside a fleet; test/cli/accounts.test.ts has those that are refused.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ME } from '../e2e/program.ts';
import { METER, STATE } from '../support/homes.ts';
import { openFlat, rests } from './flat.ts';

const STATEMENT = `heat2mqtt/meter/${METER}/statement`;

test('check, report, config, healthcheck and uninstall work', async () => {
  const flat = await openFlat();
  const { command } = flat;
  const probe = await flat.listen();
  await flat.import('home');
  const worker = flat.process();
  const { statement_month: month } = await probe.until(
    STATE,
    ({ statement_month }) => statement_month !== null,
  );
  const statement = await probe.until(STATEMENT);
  expect(statement).toMatchObject({
    month,
    account: 'home',
    energy: { value: expect.any(Number), reason: null },
  });
  expect(await command('check', '--live')).toMatchObject({
    code: 0,
    output: expect.stringMatching(
      /each account later by its own share[\s\S]*database of the fleet: 1 account\(s\), 1 process\(es\)/,
    ),
  });
  const report = await command('report');
  expect(report.output).toMatch(
    /## Fleet[\s\S]*1 account\(s\): 0 paused, 0 failing[\s\S]*## Shapes[\s\S]*HTTP 200/,
  );
  expect(report.output).not.toContain(ME.username);
  expect(await command('config', 'show')).toMatchObject({ code: 0 });
  // It serves no HTTP.
  expect(await command('healthcheck')).toEqual({ code: 0, output: 'healthy\n', errors: '' });
  expect(await command('uninstall', '--yes')).toMatchObject({ code: 2 });
  await worker.end('SIGTERM');
  // The count of a command does not stand for those of the processes.
  const counts = () => flat.postgres.query('SELECT counted, counted_at FROM heat2mqtt.fleet');
  const before = await counts();
  expect(await command('report')).toMatchObject({ code: 0 });
  expect(await counts()).toEqual(before);
  expect(await command('healthcheck')).toMatchObject({ code: 1 });
  expect(await command('uninstall', '--yes')).toMatchObject({
    code: 0,
    output: expect.stringContaining('the database of fleet.database_url'),
  });
  await probe.untilCleared([STATE, STATEMENT]);
});

test('statement writes a private sheet for each meter of every account, and goes on after one that has none', async () => {
  const flat = await openFlat();
  const { command, folder } = flat;
  const probe = await flat.listen();
  await flat.import('home');
  const worker = flat.process();
  const { statement_month: month } = await probe.until(
    STATE,
    ({ statement_month }) => statement_month !== null,
  );
  await flat.untilRow('home', 'at rest', rests);
  await worker.end('SIGTERM');
  await flat.import('new');
  const sheets = join(folder, 'sheets');
  const all = await command('statement', '--all', '--output', sheets);
  const file = join(sheets, `home-${METER}-${month}.html`);
  expect(all).toMatchObject({
    code: 2,
    output: `${file}\n`,
    errors: expect.stringMatching(/^new: No whole history/),
  });
  expect((await stat(sheets)).mode & 0o777).toBe(0o700);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const published = await probe.until(STATEMENT);
  const { output } = await command('statement', '--account', 'home', '--format', 'json');
  expect(JSON.parse(output)).toMatchObject({
    month,
    account: 'home',
    energy: { value: Object(published.energy).value },
  });
  expect(await command('statement')).toMatchObject({ code: 2, errors: expect.stringContaining('--all') });
  expect(await command('statement', '--account', 'nobody')).toMatchObject({ code: 2 });
});
