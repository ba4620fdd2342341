// The built program on the processor of a Raspberry Pi: an arm64 Node, emulated where this machine has another processor.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../e2e/mosquitto.ts';
import { ENTRY } from '../e2e/program.ts';
import { startChild } from '../support/child.ts';
import { HEALTH } from '../support/homes.ts';
import { startProbe } from '../support/probe.ts';
import { ROOT } from '../support/sources.ts';
import { openStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const node = execFileSync(join(ROOT, 'scripts/arm64.sh'), { encoding: 'utf8' }).trim();
const emulator = process.arch === 'arm64' ? [] : ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'];
const [command = '', ...before] = [...emulator, node];
const start = (...args: string[]) => startChild(command, [...before, ...args]);

test('is an arm64 Node, on which the program tells its version', async () => {
  const arch = start('--print', 'process.arch');
  expect(await arch.exited, arch.errors).toBe(0);
  expect(arch.output).toBe('arm64\n');
  const version = start(ENTRY, '--version');
  expect(await version.exited, version.errors).toBe(0);
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(version.output).toBe(`${manifest.version}\n`);
});

test('the whole demo: provider, broker and daemon, ended by Ctrl-C', async () => {
  const stack = openStack();
  const port = await freePort();
  const demo = stack.use(start(ENTRY, 'demo', '--port', String(port)));
  await demo.says(/ kWh, .*This month so far/);
  const probe = stack.use(await startProbe(`mqtt://127.0.0.1:${port}`));
  await probe.until(HEALTH, ({ state }) => state === 'ok');
  const meter = await waitFor('states', () =>
    probe.heard.find(({ topic }) => /\/meter\/[^/]+\/state$/.test(topic)),
  );
  expect(JSON.parse(meter.payload).energy_total).toBeGreaterThan(1_000);
  expect((await demo.end('SIGINT')).code).toBe(0);
});
