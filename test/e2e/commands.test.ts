// The other commands of the built program: what they print, and the exit code that tells what came of it.
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { METER, PROPERTY, USAGE } from '../support/homes.ts';
import { ROOT } from '../support/sources.ts';
import { waitFor } from '../support/waitFor.ts';
import { freePort } from './mosquitto.ts';
import { ME, openHome, openHomeWithBroker, outcome, run } from './program.ts';

test('exit code and output of a command that prints, of one that does not understand, and of one that is not configured', async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(await outcome(['--version'])).toEqual({ code: 0, output: `${version}\n`, errors: '' });
  const help = await outcome(['--help']);
  expect([help.code, help.errors]).toEqual([0, '']);
  for (const command of ['run', 'check', 'usage', 'healthcheck', 'demo', 'config'])
    expect(help.output).toContain(command);
  expect(await outcome(['brew'])).toMatchObject({ code: 2, output: '' });

  const home = await openHome();
  const mistakes = { mqtt: { base_topic: 'a/#', keepalive: 3 }, usage: { schedule: '61 * * * *' } };
  const { code, output, errors } = await outcome(['run', '--config', await home.configure(mistakes)]);
  expect([code, output]).toEqual([3, '']);
  const places = ['mqtt.base_topic', 'mqtt.keepalive', 'usage.schedule'];
  const lines = errors.trimEnd().split('\n');
  expect(lines.map((line) => line.split(':')[0]).sort()).toEqual(places);
  expect(home.simulator.requests).toEqual([]);
  await expect(stat(join(home.folder, 'state'))).rejects.toThrow('ENOENT');
});

test('check --live --json: one login for two checks, all told, the worst as exit code', async () => {
  const home = await openHomeWithBroker();
  const config = await home.configure();
  const check = async () => {
    const { code, output } = await outcome(['check', '--live', '--json', '--config', config]);
    return { code, output, ...(JSON.parse(output) as { ok: boolean; checks: { code?: string }[] }) };
  };
  const first = await check();
  expect(first).toMatchObject({ code: 0, ok: true, output: expect.stringContaining('signed in, ') });
  expect(first.output).not.toContain(ME.password);
  const again = await check();
  expect(again.output).toContain('the stored session is good (the password was not tried), ');
  expect(home.simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });

  await outcome(['logout', '--config', config]);
  home.simulator.changePassword(ME.username, 'another one');
  await home.broker.stop();
  const { code, ok, checks } = await check();
  expect([code, ok]).toEqual([4, false]);
  const codes = ['bad_credentials_or_locked', 'broker_unreachable'];
  expect(checks.flatMap((one) => one.code ?? []).sort()).toEqual(codes);
});

test('healthcheck: 0 beside a healthy daemon, 1 without one', async () => {
  const home = await openHomeWithBroker();
  const config = await home.configure();
  expect((await outcome(['healthcheck', '--config', config])).code).toBe(1);
  const program = home.start(config);
  await program.says('"polled"');
  expect(await outcome(['healthcheck', '--config', config])).toEqual({
    code: 0,
    output: 'healthy\n',
    errors: '',
  });
  const ready = async () => (await fetch(`http://127.0.0.1:${home.httpPort}/readyz`)).status === 200;
  await waitFor('readiness', ready);
  expect(await (await fetch(`http://127.0.0.1:${home.httpPort}/metrics`)).text()).toContain(
    'heat2mqtt_polls_total 1',
  );
});

test('usage beside a running daemon borrows token and meters, and disturbs nothing', async () => {
  const home = await openHome();
  const config = await home.configure({ mqtt: { embedded: { port: await freePort(), host: '127.0.0.1' } } });
  const program = home.stack.use(run(['--config', config]));
  await program.says('"polled"');
  const { counters } = home.simulator;
  const before = { ...counters.requests };
  const from = `${new Date().getFullYear() - 1}-11-01`;
  const args = ['usage', '--interval', 'month', '--from', from, '--config', config, '--format'];

  const table = await outcome([...args, 'table']);
  expect([table.code, table.errors]).toEqual([0, '']);
  expect(table.output).toMatch(
    /Tariff \(derived\): 0\.124 EUR\/kWh \+ 0\.686 EUR\/day, explains (\d+) of \1 days/,
  );
  expect(counters.requests[USAGE]).toBe((before[USAGE] ?? 0) + 2);
  // Extras are asked for by the daemon in its own time.
  const discovery = Object.keys(counters.requests).filter((route) =>
    /customers(\/:id)?(\/groups)?$/.test(route),
  );
  for (const route of discovery) expect(counters.requests[route]).toBe(before[route]);
  expect(counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
  expect(counters.refreshGrants.asked).toBe(0);

  home.simulator.renumberProperty(PROPERTY, 512_777);
  const json = await outcome([...args, 'json']);
  expect([json.code, JSON.parse(json.output)[0]]).toMatchObject([0, { meter: METER, start: from }]);
  expect(await outcome(['healthcheck', '--config', config])).toMatchObject({ code: 0 });
  expect(program.output).not.toContain('"level":50');
});
