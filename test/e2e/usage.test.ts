// heat2mqtt usage of the built program: the provider's numbers, and a daemon beside it that does not notice.
import { expect, test } from 'vitest';
import { METER, PROPERTY, USAGE } from '../support/homes.ts';
import { freePort } from './mosquitto.ts';
import { openHome, outcome, run } from './program.ts';

test('beside a running daemon it borrows token and meters, and disturbs nothing', async () => {
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
