// The systemd unit: no complaint from systemd, the exposure that its page tells, and a program that says what Type=notify waits for.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { ROOT } from '../support/sources.ts';
import type { Stack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { openHomeWithBroker } from './program.ts';

const execute = promisify(execFile);
const UNIT = join(ROOT, 'systemd/heat2mqtt.service');

test('systemd has nothing to complain of', async () => {
  const { stdout, stderr } = await execute('systemd-analyze', ['verify', UNIT]);
  expect(stdout + stderr).toBe('');
});

test('the exposure is what its page says', async () => {
  const { stdout } = await execute('systemd-analyze', ['security', '--offline=true', UNIT]);
  const level = /exposure level for heat2mqtt\.service: ([\d.]+)/.exec(stdout)?.[1];
  expect(level).toBeDefined();
  expect(await readFile(join(ROOT, 'docs/systemd.md'), 'utf8')).toContain(`exposure of ${level}`);
});

test('exit codes that a restart cannot cure end it', async () => {
  const unit = await readFile(UNIT, 'utf8');
  expect(unit).toMatch(/^Restart=on-failure$/m);
  expect(unit).toMatch(/^RestartPreventExitStatus=2 3$/m);
});

/** A datagram socket as systemd's: Node has none, Perl is in every Debian. Gives what was said. */
function listenAs(stack: Stack, path: string): () => string[] {
  const program = `use Socket; socket(my $s, PF_UNIX, SOCK_DGRAM, 0); bind($s, pack_sockaddr_un($ARGV[0])); $| = 1;
    print "listening\\n"; while (defined recv($s, my $words, 4096, 0)) { print "$words\\n" }`;
  const child = stack.use(startChild('perl', ['-e', program, path]));
  return () => child.output.trim().split('\n');
}

test('the program says that it is ready, alive and stopping', async () => {
  const home = await openHomeWithBroker();
  const config = await home.configure();
  const socket = join(home.folder, 'notify');
  const heard = listenAs(home.stack, socket);
  await waitFor('the socket', () => heard().includes('listening'));
  const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '600000' };
  const program = home.start(config, env);
  await waitFor('three signs of life', () => heard().filter((words) => words === 'WATCHDOG=1').length >= 3);
  expect((await program.end('SIGTERM')).code).toBe(0);
  await waitFor('the end', () => heard().includes('STOPPING=1'));
  const words = heard().filter((line) => line.includes('=') && !line.startsWith('BARRIER'));
  expect(words[0]).toBe('READY=1');
  expect(words.at(-1)).toBe('STOPPING=1');
});
