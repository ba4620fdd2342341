// A daemon whose log is read through a pipe: the reader goes away, and another one comes.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { booked, STATE } from '../support/homes.ts';
import { waitFor } from '../support/waitFor.ts';
import { ENTRY, openHomeWithBroker } from './program.ts';

async function openPiped() {
  const home = await openHomeWithBroker();
  const pipe = join(home.folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const config = await home.configure();
  const inShell = (shell: string, ...args: readonly string[]) =>
    home.stack.use(startChild('sh', ['-c', shell, pipe, ...args]));
  return {
    ...home,
    /** Both outputs into the pipe, so that neither has a reader once it is gone. */
    start: (command: string) =>
      inShell('exec "$@" > "$0" 2>&1', process.execPath, ENTRY, command, '--config', config),
    /** Says `open` once it reads. */
    readBy: (reader: string) => inShell(`exec < "$0"; echo open >&2; exec ${reader}`),
  };
}

test('run goes on when the reader of its log leaves in the middle of a login, and is heard by the next one', async () => {
  const { simulator, start, readBy, listen } = await openPiped();
  const probe = await listen();
  const program = start('run');
  expect(await readBy('head -n 1').exited).toBe(0);
  expect(simulator.counters.passwordGrants.ok).toBe(0);
  await probe.until(STATE, ({ energy_total }) => Number(energy_total) > 0);
  expect(probe.json(STATE)?.energy_total).toBeCloseTo(booked(simulator).kwh, 3);
  const next = readBy('cat');
  await waitFor('the next reader', () => next.errors.includes('open'));
  expect((await program.end('SIGTERM')).code).toBe(0);
  await next.says('heat2mqtt has stopped');
  expect(simulator.counters.passwordGrants).toEqual({ asked: 1, ok: 1 });
});

test('a command whose reader has seen enough ends well', async () => {
  const { start, readBy } = await openPiped();
  const program = start('check');
  expect(await readBy('head -c 1').exited).toBe(0);
  expect(await program.exited).toBe(0);
});
