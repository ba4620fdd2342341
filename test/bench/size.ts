// How large the bundle is, and what npm would ship.
import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { PROGRAM } from './children.ts';
import type { Row } from './home.ts';

export async function benchSize(): Promise<Row[]> {
  const dist = dirname(PROGRAM);
  const names = await readdir(dist, { recursive: true });
  const sizes = names.filter((name) => name.endsWith('.js')).map((name) => stat(join(dist, name)));
  const bundle = (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
  const { stdout } = await promisify(execFile)('npm', ['pack', '--json', '--ignore-scripts', '--dry-run']);
  const [packed] = JSON.parse(stdout) as { size: number }[];
  const kb = (bytes: number) => (bytes / 1000).toFixed(0);
  return [
    { what: 'bundle, kB', ours: kb(bundle), limit: '1150 kB' },
    { what: 'npm pack, kB', ours: kb(packed?.size ?? 0), limit: '600 kB' },
  ];
}
