// The image as runc runs it: its own user, a read-only root, no capabilities, /data from this machine.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startChild } from '../support/child.ts';
import type { Stack } from '../support/stack.ts';

const execute = promisify(execFile);
const { HEAT2MQTT_IMAGE: IMAGE = '' } = process.env;

/** What the Dockerfile says of the image, as far as it is needed to run it. */
interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
}

export type Kind = 'image' | 'app';

export async function imageConfig(kind: Kind = 'image'): Promise<ImageConfig> {
  return JSON.parse(await readFile(join(IMAGE, `${kind}.json`), 'utf8')).Docker.config;
}

export async function imageRoot(): Promise<string> {
  return (await readFile(join(IMAGE, 'root'), 'utf8')).trim();
}

export interface ContainerOptions {
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files by their path in the container, readable for its user only. */
  readonly files?: Readonly<Record<string, string>>;
  /** The image itself when left out. */
  readonly kind?: Kind;
  readonly capabilities?: readonly string[];
}

export async function startContainer(stack: Stack, options: ContainerOptions = {}) {
  const { kind, env = {}, files = {}, capabilities = [] } = options;
  const { Entrypoint, Cmd, Env, User, WorkingDir } = await imageConfig(kind);
  const { command = Cmd } = options;
  const user = Number(User.split(':')[0]);
  const folder = await mkdtemp(join(tmpdir(), 'heat2mqtt-container-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const id = `heat2mqtt-${randomBytes(4).toString('hex')}`;
  const runc = ['--root', join(folder, 'runc'), '--rootless', 'true'];
  const data = join(folder, 'data');
  await mkdir(data);
  await chmod(data, 0o700);
  const mounts: object[] = [bind(data, '/data', 'rw')];
  for (const [n, [path, text]] of Object.entries(files).entries()) {
    const source = join(folder, `file-${n}`);
    await writeFile(source, text, { mode: 0o600 });
    await chown(source, user, user);
    // What lies in /data is put there, as a file system of its own could not be replaced.
    if (path.startsWith('/data/')) await writeFile(join(data, path.slice(6)), text, { mode: 0o600 });
    else mounts.push(bind(source, path, 'ro'));
  }
  await chown(data, user, user);
  const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const spec = {
    ociVersion: '1.0.2',
    root: { path: await imageRoot(), readonly: true },
    process: {
      user: { uid: user, gid: user },
      args: [...Entrypoint, ...command],
      env: [...Env, ...given],
      cwd: WorkingDir,
      noNewPrivileges: true,
      capabilities: Object.fromEntries(
        ['bounding', 'effective', 'permitted'].map((set) => [set, capabilities]),
      ),
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      // So that the places of secrets are not made in the image.
      { destination: '/run', type: 'tmpfs', source: 'tmpfs' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
      ...mounts,
    ],
    linux: { namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })) },
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify(spec));

  const child = startChild('runc', [...runc, 'run', '--bundle', folder, id]);
  const kill = async (signal: string) => void (await execute('runc', [...runc, 'kill', id, signal]));
  stack.defer(async () => {
    await kill('KILL').catch(() => undefined);
    await child.exited;
  });
  return {
    get output() {
      return child.output + child.errors;
    },
    /** /data, seen from here. */
    data,
    exited: child.exited,
    kill,
    /** Runs another command beside it, and gives its exit code and what it says. */
    async also(words: readonly string[]) {
      const environment = [...Env, ...given].flatMap((pair) => ['--env', pair]);
      const place = ['--cwd', WorkingDir, '--user', `${user}:${user}`, ...environment];
      const other = startChild('runc', [...runc, 'exec', ...place, id, ...words]);
      return { code: await other.exited, output: other.output + other.errors };
    },
    /** The process's own lines of /proc/PID/status. */
    async status() {
      const { stdout } = await execute('runc', [...runc, 'state', id]);
      return readFile(`/proc/${JSON.parse(stdout).pid}/status`, 'utf8');
    },
  };
}

const bind = (source: string, destination: string, mode: 'ro' | 'rw') => {
  return { destination, type: 'bind', source, options: ['bind', mode] };
};
