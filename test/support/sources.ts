// The source files of the program, with what each imports, for tests that look at the code itself.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export interface Import {
  /** As written: `../domain/reading.ts`, `node:fs`, `mqtt`. */
  readonly from: string;
  /** The file below src, or `null` for a package. */
  readonly file: string | null;
  readonly typeOnly: boolean;
}

export interface Source {
  /** Below the directory that was asked for: `daemon/poll.ts`. */
  readonly path: string;
  readonly text: string;
  /** Without comments. */
  readonly code: string;
  readonly lines: number;
  readonly imports: readonly Import[];
}

export const ROOT = new URL('../../', import.meta.url).pathname;

export function sourcesBelow(directory: 'src' | 'test'): Source[] {
  const top = join(ROOT, directory);
  return readdirSync(top, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
    .map((path) => {
      const text = readFileSync(join(top, path), 'utf8');
      const code = withoutComments(text);
      return { path, text, code, lines: text.trimEnd().split('\n').length, imports: importsOf(path, code) };
    });
}

export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

const STATIC = /^(?:import|export)\s+(?:(type)\s+)?(?:([^'";]*?)\s+from\s+)?'([^']+)'/gms;
const LAZY = /\bimport\(\s*'([^']+)'\s*\)/g;

export function importsOf(path: string, code: string): Import[] {
  const imports: Import[] = [];
  for (const [, type, names = '', from = ''] of code.matchAll(STATIC)) {
    imports.push({
      from,
      file: resolved(path, from),
      typeOnly: type === 'type' || onlyTypes(names),
    });
  }
  for (const [, from = ''] of code.matchAll(LAZY)) {
    imports.push({ from, file: resolved(path, from), typeOnly: false });
  }
  return imports;
}

/** `{ type A, type B }` */
function onlyTypes(names: string): boolean {
  const inBraces = /^\{([\s\S]*)\}$/.exec(names.trim())?.[1];
  const each = inBraces?.split(',').map((name) => name.trim());
  return each?.every((name) => name === '' || name.startsWith('type ')) ?? false;
}

const resolved = (path: string, from: string): string | null =>
  from.startsWith('.') ? normalize(join(dirname(path), from)) : null;
