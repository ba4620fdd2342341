// A Debian with a systemd of its own, on the network of this machine: the file system that stands in for the base image, booted.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Stack } from '../support/stack.ts';

const execute = promisify(execFile);
const LONGEST_BOOT_MS = 60_000;
const LONGEST_END_MS = 20_000;
const SHELL = { HOME: '/root', PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

export type Machine = NonNullable<Awaited<ReturnType<typeof bootMachine>>>;

/** Undefined where a systemd cannot be booted in namespaces. */
export async function bootMachine(stack: Stack) {
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-machine-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const root = join(folder, 'root');
  await execute('cp', ['-a', join(process.env.HEAT2MQTT_IMAGE ?? '', 'base'), root]);
  const name = `heat2mqtt-${randomBytes(4).toString('hex')}`;
  const options = ['--quiet', '--register=no', '--keep-unit', '--console=pipe', `--machine=${name}`];
  const nspawn = spawn('systemd-nspawn', [...options, '--directory', root, '--boot'], { stdio: 'ignore' });
  const gone = new Promise<void>((resolve) => nspawn.once('close', () => resolve()));
  nspawn.once('error', () => undefined);
  stack.defer(async () => {
    // Its own systemd takes this for the order to end; what has not ended then is killed with its first process.
    nspawn.kill('SIGTERM');
    await Promise.race([
      gone,
      setTimeout(LONGEST_END_MS, undefined, { ref: false }).then(() => nspawn.kill('SIGKILL')),
    ]);
  });

  /** Runs it in root's shell there, and gives what it prints. Rejects when it fails. */
  async function shell(script: string): Promise<string> {
    const children = await readFile(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`, 'utf8');
    const into = ['--target', children.trim(), '--all', 'sh', '-ec', `cd /root; ${script}`];
    const { stdout } = await execute('nsenter', into, { env: SHELL }).catch(({ stdout, stderr }) => {
      throw new Error(`${script}\n${stdout}${stderr}`);
    });
    return stdout.trim();
  }
  async function isUp(): Promise<boolean> {
    // Something superfluous may fail in a machine without devices: "degraded".
    const state = await shell('systemctl is-system-running || true').catch(() => 'nothing');
    return /^(running|degraded)$/.test(state);
  }
  for (let waited = 0; waited < LONGEST_BOOT_MS; waited += 500) {
    if (await isUp()) {
      /** As systemd shows it of the unit. */
      const property = (of: string) => shell(`systemctl show heat2mqtt --value --property=${of}`);
      return { root, shell, property };
    }
    await setTimeout(500);
  }
  return undefined;
}
