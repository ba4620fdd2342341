// The house rules: who may import whom, one door for each package, no circles, small files, and time as an argument.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DOORS, FOLDERS, MAY_IMPORT } from './support/rooms.ts';
import {
  type Import,
  importsOf,
  ROOT,
  type Source,
  sourcesBelow,
  withoutComments,
} from './support/sources.ts';

const house = sourcesBelow('src');

/** The file of the commands that may import the simulator. */
const SIMULATING = 'cli/simulate.ts';

const roomOf = (path: string): string => path.split('/')[0] ?? path;

/** What is wrong, one line each; an empty list is a tidy house. */
function complaints(sources: readonly Source[], complain: (source: Source) => readonly string[]): string[] {
  return sources.flatMap((source) => complain(source).map((what) => `${source.path}: ${what}`));
}

function isAllowed(path: string, { file, typeOnly }: Import & { file: string }): boolean {
  if (roomOf(file) === roomOf(path)) return true;
  if (path === SIMULATING && roomOf(file) === 'simulator') return true;
  return (MAY_IMPORT[roomOf(path)] ?? []).some((rule) => {
    const [place = '', needsType] = rule.startsWith('type ') ? [rule.slice(5), true] : [rule, false];
    return (file === place || roomOf(file) === place) && (typeOnly || !needsType);
  });
}

function wrongRooms({ path, imports }: Source): string[] {
  return imports.flatMap(({ file, ...rest }) =>
    file === null || isAllowed(path, { file, ...rest }) ? [] : [`imports ${file}`],
  );
}

/** The place of a file in its room, counted from the bottom; `null`: the room has no order. */
function floorOf(path: string): number | null {
  const [room = '', first = ''] = path.split('/');
  const order = FOLDERS[room];
  if (order === undefined) return null;
  const at = order.indexOf(first);
  return at < 0 ? order.indexOf('*') : at;
}

function wrongFolders({ path, imports }: Source): string[] {
  const own = floorOf(path);
  if (own === null) return [];
  return imports.flatMap(({ file }) =>
    file !== null && roomOf(file) === roomOf(path) && (floorOf(file) ?? 0) > own
      ? [`imports ${file}, which lies above it`]
      : [],
  );
}

function wrongDoors({ path, imports }: Source): string[] {
  return imports
    .filter(({ file, from }) => file === null && !from.startsWith('node:'))
    .filter(({ from }) => !DOORS[from]?.test(path))
    .map(({ from }) => `opens a door to ${from}`);
}

describe('imports', () => {
  test('every room is known to the rule', () => {
    expect([...new Set(house.map(({ path }) => roomOf(path)))].sort()).toEqual(
      Object.keys(MAY_IMPORT).sort(),
    );
  });

  test('a room imports only what it may', () => {
    expect(complaints(house, wrongRooms)).toEqual([]);
  });

  test('a folder imports only what lies below it in its room', () => {
    expect(complaints(house, wrongFolders)).toEqual([]);
  });

  test('a package is imported through its one door', () => {
    expect(complaints(house, wrongDoors)).toEqual([]);
  });

  test('the daemon loads the schemas of requests, and no other schema of payloads: those are for types, tests, docs and mcp', () => {
    const PAYLOADS = /^publication\/payloads\/(?!requests\.ts)/;
    const loading = ({ path, imports }: Source) =>
      PAYLOADS.test(path) || path === 'cli/mcp/answers.ts'
        ? []
        : imports.filter(({ file, typeOnly }) => PAYLOADS.test(file ?? '') && !typeOnly);
    expect(complaints(house, (source) => loading(source).map(({ from }) => `loads ${from}`))).toEqual([]);
  });

  test('there is no circle', () => {
    expect(circles()).toEqual([]);
  });

  test.each<[(source: Source) => string[], string, string, number]>([
    [wrongRooms, 'domain/x.ts', "import { about } from '../foundation/about.ts';", 1],
    [wrongRooms, 'auth/x.ts', "import { verdict } from '../domain/health.ts';", 1],
    [wrongRooms, 'auth/x.ts', "import type { A } from '../domain/health.ts';", 0],
    [wrongRooms, 'cli/x.ts', "await import('../simulator/provider.ts')", 1],
    [wrongRooms, 'cli/simulate.ts', "import {\n  a,\n} from '../simulator/provider.ts';", 0],
    [wrongFolders, 'daemon/polling/x.ts', "import { a } from '../monitor/page.ts';", 1],
    [wrongDoors, 'mqtt/link.ts', "import { connect } from 'mqtt';", 1],
    [wrongDoors, 'daemon/x.ts', "import 'left-pad';", 1],
    [strangers, 'auth/x.ts', 'const now = Date.now();', 1],
    [strangers, 'auth/x.ts', withoutComments('a // process.env\noptions.fetch(url)'), 0],
  ])('the rule %o notices in %s: %s', (rule, path, code, found) => {
    expect(rule({ path, text: code, code, lines: 1, imports: importsOf(path, code) })).toHaveLength(found);
  });
});

function circles(): string[] {
  const arrows = new Map(house.map(({ path, imports }) => [path, imports.flatMap(({ file }) => file ?? [])]));
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]) => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
    if (done.has(path) || trail.includes(path)) return;
    for (const next of arrows.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of arrows.keys()) walk(path, []);
  return found;
}

const STRANGERS: readonly (readonly [string, RegExp])[] = [
  ['process', /(?<![.\w])process\./],
  ['Date.now', /\bDate\.now\b/],
  ['new Date()', /\bnew Date\(\)/],
  ['performance.now', /\bperformance\.now\b/],
  ['timers', /\bset(Timeout|Interval)\(/],
  ['fetch', /(?<![.\w])fetch\(/],
  ['Math.random', /\bMath\.random\b/],
];
const WORLDLY = /^(foundation\/|config\/|http\/|cli\/|daemon\/|main\.ts$|web\/page\/|simulator\/server\.ts$)/;

function strangers({ path, code }: Source): string[] {
  if (WORLDLY.test(path)) return [];
  return STRANGERS.filter(([, sign]) => sign.test(code)).map(
    ([name]) => `touches ${name}; make it an argument`,
  );
}

test('clock, timers, network and environment come in as arguments', () => {
  expect(complaints(house, strangers)).toEqual([]);
});

describe('files', () => {
  const LONGEST_CLASS_LINES = 250;
  const all = [...house, ...sourcesBelow('test')];

  // Functions are measured by biome.
  test('no class is longer than 250 lines', () => {
    const tooLong = ({ text }: Source) =>
      [...text.matchAll(/^(?:export )?class (\w+).*?^\}/gms)]
        .filter(([body]) => body.split('\n').length > LONGEST_CLASS_LINES)
        .map(([, name]) => `class ${name} is too long`);
    expect(complaints(all, tooLong)).toEqual([]);
  });

  test('each begins with a sentence on what lives there', () => {
    const headless = ({ text, path }: Source) => {
      if (path.endsWith('vitest.config.ts')) return [];
      const head = /^(?:#!.*\n)?((?:\/\/ .*\n)+)/.exec(text)?.[1]?.trim();
      return head && /^\/\/ \S/.test(head) && /[.)…]$/.test(head) ? [] : ['no sentence at the top'];
    };
    expect(complaints(all, headless)).toEqual([]);
  });

  test('none is an index, exports by default, or passes on what lives elsewhere', () => {
    const untidy = ({ path, code }: Source) => [
      ...(/(^|\/)index\.ts$/.test(path) ? ['is an index'] : []),
      ...(/^export default\b|\bas default\b/m.test(code) ? ['exports by default'] : []),
      ...(/^export\s+(type\s+)?(\*|\{[^}]*\}\s+from\b)/m.test(code) ? ['re-exports'] : []),
    ];
    expect(complaints(house, untidy)).toEqual([]);
  });

  test('the foundation is a closed list', () => {
    const stones = house.map(({ path }) => path).filter((path) => roomOf(path) === 'foundation');
    expect(stones).toEqual(
      [
        ...[
          'about',
          'authorities',
          'clock',
          'failure',
          'json',
          'limits',
          'log',
          'retry',
          'share',
          'shutdown',
        ],
        'tlsTrouble',
      ].map((name) => `foundation/${name}.ts`),
    );
  });
});

test('every file that CONTRIBUTING names exists', () => {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const named = [...text.matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, name = '']) =>
    name.replace(/^(\.\/)?src\//, ''),
  );
  const paths = [...house.map(({ path }) => path), ...sourcesBelow('test').map(({ path }) => `test/${path}`)];
  const exists = (name: string) => paths.some((path) => path === name || path.endsWith(`/${name}`));
  // A file of this name must not exist.
  expect(named.filter((name) => name !== 'index.ts' && !exists(name))).toEqual([]);
});
