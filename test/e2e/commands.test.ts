// The other commands of the built program: what they print, and the exit code that tells what came of it.
import { readFileSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { METER, PROPERTY, USAGE } from '../support/homes.ts';
import { ROOT } from '../support/sources.ts';
import { waitFor } from '../support/waitFor.ts';
import { freePort } from './mosquitto.ts';
import { ME, openHome, openHomeWithBroker, outcome, run } from './program.ts';

const TEN_MISTAKES = `version: 1
provider:
  issuer: ftp://id.example.org
  api_url: http://api.example.org/api/v1
  client_id: ""
  timeout_seconds: soon
accounts:
  - username: me@example.org
    password: hunter2-of-the-heat
    pasword_file: /run/secrets/heat
usage:
  schedule: "61 * * * *"
  timezone: Europe/Atlantis
  reread_days: 0
mqtt:
  base_topic: a/#
  keepalive: 3
`;

test('ten mistakes: ten lines, exit code 3, and nothing is started', async () => {
  const home = await openHome();
  const path = join(home.folder, 'wrong.yaml');
  await writeFile(path, `${TEN_MISTAKES}state_dir: ${join(home.folder, 'state')}\n`);
  const { code, output, errors } = await outcome(['run', '--config', path]);
  expect(code).toBe(3);
  expect(output).toBe('');
  const lines = errors.trimEnd().split('\n');
  expect(lines.map((line) => line.split(':')[0]).sort()).toEqual([
    'accounts.0.pasword_file',
    'mqtt.base_topic',
    'mqtt.keepalive',
    'provider.api_url',
    'provider.client_id',
    'provider.issuer',
    'provider.timeout_seconds',
    'usage.reread_days',
    'usage.schedule',
    'usage.timezone',
  ]);
  for (const line of lines) expect(line).toMatch(/^[\w.]+: found .+; allowed: .+/);
  expect(errors).not.toContain('hunter2');
  expect(home.simulator.requests).toEqual([]);
  await expect(stat(join(home.folder, 'state'))).rejects.toThrow('ENOENT');
});

test('--version, --help, and what is neither', async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(await outcome(['--version'])).toEqual({ code: 0, output: `${version}\n`, errors: '' });
  const help = await outcome(['--help']);
  expect([help.code, help.errors]).toEqual([0, '']);
  for (const command of ['run', 'check', 'usage', 'healthcheck', 'demo', 'config'])
    expect(help.output).toContain(command);
  for (const args of [
    ['brew'],
    ['run', '--fast'],
    ['usage', '--interval', 'hour'],
    ['demo', '--port', 'x'],
  ]) {
    const { code, output, errors } = await outcome(args);
    expect([args, code, output]).toEqual([args, 2, '']);
    expect(errors.trimEnd().split('\n').length).toBeLessThan(4);
  }
});

test('check --json: offline and live, all told, the worst as exit code', async () => {
  const home = await openHomeWithBroker();
  const config = await home.configure();
  const offline = await outcome(['check', '--json', '--config', config]);
  expect(offline.code).toBe(0);
  expect(JSON.parse(offline.output)).toMatchObject({
    ok: true,
    checks: [{ check: 'configuration' }, {}, {}],
  });
  expect(home.simulator.requests).toEqual([]);

  const live = await outcome(['check', '--live', '--json', '--config', config]);
  expect(live.code).toBe(0);
  expect(home.simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
  expect(live.output).toContain('signed in, ');
  expect(live.output).not.toContain(ME.password);
  const again = await outcome(['check', '--live', '--json', '--config', config]);
  expect(again.output).toContain('the stored session is good (the password was not tried), ');
  expect(home.simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });

  await outcome(['logout', '--config', config]);
  home.simulator.changePassword(ME.username, 'another one');
  await home.broker.stop();
  const failing = await outcome(['check', '--live', '--json', '--config', config]);
  expect(failing.code).toBe(4);
  const { ok, checks } = JSON.parse(failing.output) as {
    ok: boolean;
    checks: { ok: boolean; code?: string }[];
  };
  expect(ok).toBe(false);
  expect(checks.flatMap(({ code }) => code ?? []).sort()).toEqual([
    'bad_credentials_or_locked',
    'broker_unreachable',
  ]);
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

test('config show masks what is secret, config example loads', async () => {
  const home = await openHome();
  const shown = await outcome(['config', 'show', '--config', await home.configure({})], {
    env: { HEAT2MQTT_MQTT_URL: 'mqtt://elsewhere:1883' },
  });
  expect(shown.code).toBe(0);
  expect(shown.output).toContain('mqtt://elsewhere:1883');
  expect(shown.output).not.toContain(ME.password);
  const example = await outcome(['config', 'example']);
  expect(example.output).toBe(readFileSync(join(ROOT, 'config.example.yaml'), 'utf8'));
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
