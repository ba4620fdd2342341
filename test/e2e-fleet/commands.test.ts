// The commands that work beside a fleet; test/cli/accounts.test.ts has those that are refused.
import { expect, test } from 'vitest';
import { ME } from '../e2e/program.ts';
import { METER, STATE } from '../support/homes.ts';
import { openFlat } from './flat.ts';

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
    output: expect.stringMatching(/database of the fleet: 1 account\(s\), 1 process\(es\)/),
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
  expect(await command('healthcheck')).toMatchObject({ code: 1 });
  expect(await command('uninstall', '--yes')).toMatchObject({
    code: 0,
    output: expect.stringContaining('the database of fleet.database_url'),
  });
  await probe.untilCleared([STATE, STATEMENT]);
});
