// The systemd unit: no complaint from systemd, and the exposure that its page tells. test/image/unit.test.ts starts it.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from '../support/sources.ts';

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
