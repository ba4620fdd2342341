// What a process that was killed leaves behind, and what one has complained of.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';

/** Every document is whole, whenever the process died. */
export async function expectWhole(state: string): Promise<void> {
  const files = await readdir(state, { recursive: true });
  expect(files.filter((name) => name.endsWith('.damaged'))).toEqual([]);
  for (const file of files.filter((name) => name.endsWith('.json'))) {
    const text = await readFile(join(state, file), 'utf8');
    expect(() => JSON.parse(text), `${file}: ${text.slice(0, 100)}`).not.toThrow();
  }
}

/** Warnings and worse in a log. The kill may have cut the last line. */
export const warningsIn = (output: string): string[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line))
    .filter(({ level }) => ['warn', 'error', 'fatal'].includes(level))
    .map(({ msg }) => msg);
