// "Moving to another Pi", as docs/backup.md tells it: packed, unpacked elsewhere, and gone on with as if nothing had happened.
import { execFile } from 'node:child_process';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { docCommands } from '../support/docCommands.ts';
import { STATE } from '../support/homes.ts';
import { ME, openHomeWithBroker, outcome, run } from './program.ts';

const shell = promisify(execFile);
const PACK = docCommands().find(({ command }) => command.startsWith('tar '))?.command ?? '';

test('the new Pi neither logs in nor reads history again, and says the same', async () => {
  const { stack, folder, simulator, broker, configure, listen } = await openHomeWithBroker();
  const probe = await listen();
  await copyFile(join(folder, 'password'), join(folder, 'heat-password'));
  const accounts = [{ username: ME.username, password_file: './heat-password' }];
  await configure({ accounts, mqtt: { url: broker.url }, state_dir: './state' });
  const old = stack.use(run(['run'], { cwd: folder }));
  await old.says('"polled"');
  await probe.until(STATE, () => true);
  await old.end('SIGTERM');
  const state = probe.json(STATE);

  await shell('bash', ['-euc', PACK], { cwd: folder });
  const elsewhere = join(folder, 'new-pi');
  await mkdir(elsewhere);
  await shell('tar', ['-C', elsewhere, '-xzf', 'heat2mqtt-moved.tar.gz'], { cwd: folder });
  probe.forget();
  const asked = simulator.requests.length;
  expect((await outcome(['check'], { cwd: elsewhere })).code).toBe(0);
  const moved = stack.use(run(['run'], { cwd: elsewhere }));
  expect(await probe.until(STATE, () => true)).toEqual(state);
  await moved.says(/poll .*at start|at start.*poll|none at start/);
  expect(simulator.requests.slice(asked).map(({ route }) => route)).toEqual([]);
});
