// The bundle stays small, loads for the daemon only what the daemon needs, and keeps the names of errors that people read in a log.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/sources.ts';

const DIST = join(ROOT, 'dist');
// A quarter of it is for moments: the demo, the login page, a person's login, the page, Home Assistant, the embedded broker.
const LARGEST_BYTES = 1_550_000;
/** PostgreSQL's client, and what of ours only a fleet loads. */
const LARGEST_FLEET_BYTES = 250_000;

const files = readdirSync(DIST, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
  .map((entry) => join(entry.parentPath, entry.name));

// The bundler breaks long lines within a text, too.
const text = (path: string) => readFileSync(path, 'utf8').replaceAll('\\\n', '');
const ofPart = (name: string) => files.filter((path) => path.includes(`/chunks/${name}-`));

/** The files that are loaded with these, lazy imports left out. */
function loadedWith(paths: readonly string[], known = new Set<string>()): Set<string> {
  for (const path of paths) {
    if (known.has(path)) continue;
    known.add(path);
    const imports = [...text(path).matchAll(/(?:from|import)\s*"(\.{1,2}\/[^"]+)"/g)];
    loadedWith(
      imports.map(([, name = '']) => join(path, '..', name)),
      known,
    );
  }
  return known;
}

// Suddenly 350 kB more? zod is imported as `import * as z`: `import { z }` takes an object that has all of it. Each dynamic import is a file
// of its own, and so is every set of modules that two of them share: lazy is for what is large and seldom needed.
test('all of it is below 1.55 MB, and what only a fleet loads below 0.25 MB more', () => {
  const sizeOf = (paths: Iterable<string>) => [...paths].reduce((sum, path) => sum + statSync(path).size, 0);
  const isOfFleet = (path: string) => FLEET.some((sign) => text(path).includes(sign));
  const doors = files.filter((path) => isOfFleet(path) || [...loadedWith([path])].some(isOfFleet));
  const household = files.filter((path) => !doors.includes(path));
  expect(sizeOf(household)).toBeLessThan(LARGEST_BYTES);
  expect(sizeOf(doors)).toBeLessThan(LARGEST_FLEET_BYTES);
});

/** A text that nothing but pg has. */
const FLEET = ['sslnegotiation'];

/** What only some commands and moments need, by a text that nothing else has. */
const LAZY = {
  'openid-client': 'openid-client/v',
  aedes: 'mqemitter',
  'pino-pretty': 'customPrettifiers',
  htmlparser2: 'altGlyph',
  'tough-cookie': 'Cookie has domain set to a public suffix',
  'the page': 'origin-agent-cluster',
  pg: 'sslnegotiation',
  'the simulator': '/protocol/openid-connect',
};

test.each(Object.entries(LAZY))('the daemon starts without %s', (_, sign) => {
  const loaded = loadedWith([join(DIST, 'heat2mqtt.js'), ...ofPart('run')]);
  const carriers = files.filter((path) => text(path).includes(sign));
  expect(carriers).not.toEqual([]);
  expect(carriers.filter((path) => loaded.has(path))).toEqual([]);
});

test('version and help load no package', () => {
  const bytes = [...loadedWith([join(DIST, 'heat2mqtt.js')])].reduce(
    (sum, path) => sum + statSync(path).size,
    0,
  );
  expect(bytes).toBeLessThan(20_000);
});

test.each(['LoginRefused', 'UnexpectedReply', 'ConfigInvalid'])(
  'an error keeps the name that stands in a log: %s',
  (name) => {
    expect(files.map(text).join('\n').replaceAll('\\\n', '')).toContain(`"${name}"`);
  },
);
