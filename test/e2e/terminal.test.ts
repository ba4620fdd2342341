// A terminal that does not tell its width: a serial console, or one that was opened by a program.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { ENTRY } from './program.ts';

test('setup writes whole lines when the terminal has a width of 0', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'heat2mqtt-terminal-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  // What is opened by script(1) without a terminal of its own has 0 columns.
  const command = `stty size; exec '${process.execPath}' '${ENTRY}' setup`;
  const program = startChild('script', ['-qec', command, '/dev/null'], { cwd });
  await program.exited;
  expect(program.output).toMatch(/^0 0\r\n/);
  expect(program.output).toContain('This writes config.yaml. Each answer is tried at once.');
});
