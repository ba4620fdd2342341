// How large the bundle is, and what npm would ship.
import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { PROGRAM } from './children.ts';
import type { Row } from './startUp.ts';

export async function benchSize(folder: string): Promise<Row[]> {
  const dist = dirname(PROGRAM);
  const names = await readdir(dist, { recursive: true });
  const sizes = names.filter((name) => name.endsWith('.js')).map((name) => stat(join(dist, name)));
  const bundle = (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
  const { stdout } = await promisify(execFile)('npm', [
    'pack',
    '--json',
    '--ignore-scripts',
    '--pack-destination',
    folder,
  ]);
  const [packed] = JSON.parse(stdout) as { size: number }[];
  const row = (what: string, bytes: number, limit: string): Row => {
    return { what, ours: (bytes / 1000).toFixed(0), floor: '–', ratio: '–', limit };
  };
  return [row('bundle, kB', bundle, '1000 kB'), row('npm pack, kB', packed?.size ?? 0, '600 kB')];
}
