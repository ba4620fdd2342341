// The systemd unit under a real systemd, installed as docs/systemd.md tells, word by word.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ME, openHomeWithBroker } from '../e2e/program.ts';
import { STATE } from '../support/homes.ts';
import { ROOT } from '../support/sources.ts';
import { waitFor } from '../support/waitFor.ts';
import { bootMachine, type Machine } from './machine.ts';

const execute = promisify(execFile);
const PATIENCE = { timeoutMs: 30_000 };

/** How the page installs the program, and its commands from where the service gets a user of its own; without sudo: we are root there. */
async function steps(): Promise<string[]> {
  const page = await readFile(join(ROOT, 'docs/systemd.md'), 'utf8');
  const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(({ index, 1: block = '' }) =>
    block
      .trim()
      .split('\n')
      .map((line) => ({ index, line: line.replaceAll('sudo ', '') })),
  );
  const ownUser = page.indexOf('## A user of its own');
  const isTyped = ({ index, line }: { index: number; line: string }) =>
    line.startsWith('npm ') || index > ownUser;
  return commands.filter(isTyped).map(({ line }) => line);
}

/** Gives what each step prints; `written` is what setup has left in the folder. */
async function follow(machine: Machine, written: Readonly<Record<string, string>>): Promise<string[]> {
  const printed: string[] = [];
  for (const [name, text] of Object.entries(written)) await writeFile(join(machine.root, 'root', name), text);
  for (const step of await steps()) {
    if (step === 'npm ci && npm pack') {
      const place = ['--pack-destination', join(machine.root, 'root')];
      await execute('npm', ['pack', '--silent', '--ignore-scripts', ...place], { cwd: ROOT });
    } else {
      printed.push(await machine.shell(step.replace('npm install', 'npm install --offline')));
    }
  }
  return printed;
}

test('installed word by word it starts, has no rights, is watched, and starts again when that can help', async (context) => {
  const home = await openHomeWithBroker();
  const probe = await home.listen();
  const machine = await bootMachine(home.stack);
  if (!machine) return context.skip('!! LEFT OUT: a systemd cannot be booted in namespaces here');
  const { issuer, api } = home.simulator.urls;
  const configuration = JSON.stringify({
    provider: { issuer, api_url: api, client_id: 'self-care' },
    accounts: [{ username: ME.username }],
    mqtt: { url: home.broker.url },
    http: { listen: `127.0.0.1:${home.httpPort}` },
  });
  const printed = await follow(machine, {
    'config.yaml': configuration,
    'heat-password': `${ME.password}\n`,
  });
  expect(printed.at(-2)).toContain('Active: active (running)');
  expect(printed.at(-1)).toContain('Signed in');
  // One by the check, whose session the service takes over, and one by `login`.
  expect(home.simulator.counters.passwordGrants).toEqual({ asked: 2, ok: 2 });
  // Root typed that, and the daemon's user has to read it.
  const owners = await machine.shell(
    'stat -c %U /var/lib/heat2mqtt/. /var/lib/heat2mqtt/accounts/home/tokens.json',
  );
  expect(new Set(owners.trim().split('\n')).size).toBe(1);
  await probe.until(STATE, () => true);

  const pid = () => machine.property('MainPID');
  const status = await machine.shell(`cat /proc/${await pid()}/status`);
  for (const set of ['Prm', 'Eff', 'Bnd', 'Amb'])
    expect(status).toMatch(new RegExp(`^Cap${set}:\\s+0+$`, 'm'));
  expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
  expect(status).toMatch(/^Seccomp:\s+2$/m);
  expect(status).not.toMatch(/^Uid:\s+0/m);

  const faster = '[Service]\nRestartSec=1\nWatchdogSec=5\n';
  await machine.shell(`mkdir -p /etc/systemd/system/heat2mqtt.service.d; printf '${faster.replaceAll('\n', '\\n')}' \
    >/etc/systemd/system/heat2mqtt.service.d/faster.conf; systemctl daemon-reload; systemctl restart heat2mqtt`);
  const until = (property: string, value: string) =>
    waitFor(`${property}=${value}`, async () => (await machine.property(property)) === value, PATIENCE);
  await machine.shell(`kill -KILL ${await pid()}`);
  await until('NRestarts', '1');
  await until('ActiveState', 'active');
  await machine.shell(`kill -STOP ${await pid()}`);
  await until('NRestarts', '2');
  await until('ActiveState', 'active');
  expect(await machine.shell('journalctl --boot --unit heat2mqtt --output cat')).toContain(
    'Watchdog timeout',
  );

  await machine.shell('systemctl stop heat2mqtt');
  expect(await machine.property('Result')).toBe('success');
  await waitFor('offline', () => probe.last('heat2mqtt/bridge/state')?.payload === 'offline');
  const log = await machine.shell('journalctl --boot --unit heat2mqtt --output cat');
  expect(log).not.toContain('systemd cannot be told');
  expect(log).not.toContain(ME.password);

  await machine.shell(
    'echo "mqtt: { urll: x }" >/etc/heat2mqtt/config.yaml; systemctl start heat2mqtt || true',
  );
  await until('ActiveState', 'failed');
  expect([await machine.property('ExecMainStatus'), await machine.property('NRestarts')]).toEqual(['3', '0']);
}, 240_000);
